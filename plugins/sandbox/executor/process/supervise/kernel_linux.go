package supervise

import (
	"errors"
	"os"
	"strconv"
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

// CloseOnExec closes this process's descriptors, from first on, in the programs that it
// starts.
func CloseOnExec(first int) {
	const last = 1<<31 - 1
	if _, _, errno := syscall.RawSyscall(sysCloseRange, uintptr(first), last, closeRangeCloexec); errno == 0 {
		return
	}
	for fd := first; fd < 1<<16; fd++ { // before Linux 5.11
		syscall.CloseOnExec(fd)
	}
	for _, name := range namesIn("/proc/self/fd") {
		if fd, err := strconv.Atoi(name); err == nil && fd >= first {
			syscall.CloseOnExec(fd)
		}
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

// protect mounts the paths over themselves, read-only, in a mount namespace of this
// thread and its children. Only users who may mount can do that. They need it, because
// permissions do not prevent root from writing; for other users, permissions suffice.
func protect(paths []string) error {
	if len(paths) == 0 || os.Geteuid() != 0 || syscall.Unshare(syscall.CLONE_NEWNS) != nil {
		return nil
	}
	err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SLAVE, "")
	for _, path := range paths {
		if err == nil {
			err = bindReadOnly(path)
		}
	}
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		return nil // forbidden by rules other than capabilities
	}
	if err != nil {
		return os.NewSyscallError("protect what may only be read", err)
	}
	return nil
}

func bindReadOnly(path string) error {
	if err := syscall.Mount(path, path, "", syscall.MS_BIND, ""); err != nil {
		return &os.PathError{Op: "mount", Path: path, Err: err}
	}
	err := setReadOnly(path)
	if err == syscall.ENOSYS {
		err = syscall.Mount("", path, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, "")
	}
	if err != nil {
		return &os.PathError{Op: "mount read-only", Path: path, Err: err}
	}
	return nil
}
