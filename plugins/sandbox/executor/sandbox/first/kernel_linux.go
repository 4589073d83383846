package first

import (
	"os"
	"syscall"
	"unsafe"
)

// Constants that package syscall lacks. Package golang.org/x/sys/unix has them, but it
// is initialised after most of the program.
const (
	openPathOnly = 0x200000 // O_PATH
	atFDCWD      = -100
	atRecursive  = 0x8000

	attrReadOnly = 0x1
	attrNoSUID   = 0x2
	attrNoDev    = 0x4
	attrNoExec   = 0x8

	prSetDumpable    = 4
	prSetKeepCaps    = 8
	prSetSeccomp     = 22
	prCapBSetRead    = 23
	prCapBSetDrop    = 24
	prSetNoNewPrivs  = 38
	prCapAmbient     = 47
	ambientRaise     = 2
	ambientClearAll  = 4
	seccompFilter    = 2
	rlimitNProc      = 6
	lastCapability   = 63 // that the kernel's sets have space for
	capabilityFormat = 0x20080522

	// of Landlock
	rulesetVersion   = 1
	rulePathBeneath  = 1
	accessMakeDevice = 1<<6 | 1<<11 // character and block devices
	accessRefer      = 1 << 13
	scopeAll         = 1<<0 | 1<<1 // abstract sockets and signals

	// From 424 on, system calls have the same numbers on all architectures.
	sysMountSetattr          = 442
	sysLandlockCreateRuleset = 444
	sysLandlockAddRule       = 445
	sysLandlockRestrictSelf  = 446
)

// failure returns the error of a system call, or nil.
func failure(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// prctl changes this thread or process.
func prctl(option int, arg, second uintptr) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, uintptr(option), arg, second, 0, 0, 0)
	return failure(errno)
}

// mountSetattr sets attributes of the mount at a path.
func mountSetattr(at string, flags uint, attributes uint64) error {
	text, err := syscall.BytePtrFromString(at)
	if err != nil {
		return err
	}
	cwd, attr := atFDCWD, [4]uint64{attributes} // attr_set, attr_clr, propagation, userns_fd
	_, _, errno := syscall.Syscall6(sysMountSetattr, uintptr(cwd), uintptr(unsafe.Pointer(text)), uintptr(flags), uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	return failure(errno)
}

func symlinkAt(target string, dir *os.File, name string) error {
	to, err := syscall.BytePtrFromString(target)
	if err != nil {
		return err
	}
	at, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall(syscall.SYS_SYMLINKAT, uintptr(unsafe.Pointer(to)), dir.Fd(), uintptr(unsafe.Pointer(at)))
	return failure(errno)
}

// setCapabilities gives this thread exactly these capabilities, in all its sets.
func setCapabilities(list []int) error {
	header := struct {
		version uint32
		pid     int32
	}{version: capabilityFormat}
	var data [2]struct{ effective, permitted, inheritable uint32 }
	for _, n := range list {
		set, bit := &data[n/32], uint32(1)<<(n%32)
		set.effective |= bit
		set.permitted |= bit
		set.inheritable |= bit
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data)), 0)
	return failure(errno)
}

// setProcessors keeps this thread to the processors.
func setProcessors(list []int) error {
	var set [128]byte // of 1,024 processors
	for _, n := range list {
		set[n/8] |= 1 << (n % 8)
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	return failure(errno)
}

// loadFilter installs a filter for the thread's system calls.
func loadFilter(filter []byte) error {
	if len(filter) == 0 {
		return nil
	}
	const size = int(unsafe.Sizeof(syscall.SockFilter{}))
	program := syscall.SockFprog{Len: uint16(len(filter) / size), Filter: (*syscall.SockFilter)(unsafe.Pointer(&filter[0]))}
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetSeccomp, seccompFilter, uintptr(unsafe.Pointer(&program)))
	return failure(errno)
}

// listenAt listens on a TCP port of the loopback interface. If port is 0, it is a free one.
func listenAt(port int) (file *os.File, at int, err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, 0, os.NewSyscallError("socket", err)
	}
	file = os.NewFile(uintptr(fd), "listener")
	if err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = syscall.Listen(fd, backlog)
	}
	if err == nil {
		var name syscall.Sockaddr
		if name, err = syscall.Getsockname(fd); err == nil {
			return file, name.(*syscall.SockaddrInet4).Port, nil
		}
	}
	file.Close()
	return nil, 0, os.NewSyscallError("listen", err)
}

// backlog is the number of connections that wait to be accepted, unless the machine's is lower.
const backlog = 4096
