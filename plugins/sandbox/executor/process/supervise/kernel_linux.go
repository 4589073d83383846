package supervise

import (
	"syscall"
	"unsafe"
)

// Constants that package syscall lacks. Package golang.org/x/sys/unix has them, but it
// is initialised after most of the program.
const (
	prSetChildSubreaper = 36
	rlimitNProc         = 6
	atFDCWD             = -100
	mountAttrReadOnly   = 1
	closeRangeCloexec   = 4
	// From 424 on, system calls have the same numbers on all architectures.
	sysPidfdSendSignal = 424
	sysPidfdOpen       = 434
	sysCloseRange      = 436
	sysMountSetattr    = 442
)

// failure returns the error of a system call, or nil.
func failure(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

func becomeSubreaper() error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
	return failure(errno)
}

func prlimit(pid, resource int, limit *syscall.Rlimit) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), uintptr(resource), uintptr(unsafe.Pointer(limit)), 0, 0, 0)
	return failure(errno)
}

func pidfdOpen(pid int) (int, error) {
	fd, _, errno := syscall.RawSyscall(sysPidfdOpen, uintptr(pid), 0, 0)
	return int(fd), failure(errno)
}

func pidfdSignal(fd int, sig syscall.Signal) {
	_, _, _ = syscall.RawSyscall6(sysPidfdSendSignal, uintptr(fd), uintptr(sig), 0, 0, 0, 0)
}

// setReadOnly makes the mount at a path read-only.
func setReadOnly(path string) error {
	text, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	at := atFDCWD
	attr := [4]uint64{mountAttrReadOnly} // attr_set, attr_clr, propagation, userns_fd
	_, _, errno := syscall.Syscall6(sysMountSetattr, uintptr(at), uintptr(unsafe.Pointer(text)), 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	return failure(errno)
}

// closeOnExec closes the descriptors from first on in the command.
func closeOnExec(first int) {
	const last = 1<<31 - 1
	if _, _, errno := syscall.RawSyscall(sysCloseRange, uintptr(first), last, closeRangeCloexec); errno == 0 {
		return
	}
	for fd := first; fd < 1<<16; fd++ { // before Linux 5.11
		syscall.CloseOnExec(fd)
	}
}

// childless reports whether this process has no children, not even zombies. A subreaper
// without children has no descendants.
func childless() bool {
	const all = 0 // P_ALL
	var info [128]byte
	_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, all, 0, uintptr(unsafe.Pointer(&info)),
		syscall.WEXITED|syscall.WNOHANG|syscall.WNOWAIT, 0, 0)
	return errno == syscall.ECHILD
}
