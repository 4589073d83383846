package sandbox

import (
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sigaction is the kernel's struct sigaction: the handler, flags, where a handler returns
// to, and the signals held back meanwhile.
type sigaction [4]uint64

// handler is the address of a handler that does nothing.
var handler uint64

// withstandSignals makes nothing that the command sends to this process, which may be
// the same user's, a reason to end.
func withstandSignals() error {
	signal.Notify(make(chan os.Signal, 1))
	var own sigaction
	if err := own.get(unix.SIGURG); err != nil {
		return err
	}
	// Go leaves two signals to C libraries. The kernel drops them for a first process,
	// but not while its main thread holds signals back, as it does to start another. They
	// get a handler, since what is ignored would be so in the command.
	own[0] = handler
	for _, sig := range []unix.Signal{32, 34} {
		if err := own.set(sig); err != nil {
			return err
		}
	}
	// Sent by sigqueue, these look like faults of this process, and Go ends it. Ignored,
	// they are nothing, and a real fault still ends it. Go resets them in the command.
	ignore := sigaction{1} // SIG_IGN
	for _, sig := range []unix.Signal{unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGSYS} {
		if err := ignore.set(sig); err != nil {
			return err
		}
	}
	return nil
}

func (a *sigaction) get(sig unix.Signal) error { return sigactionCall(sig, nil, a) }

func (a *sigaction) set(sig unix.Signal) error { return sigactionCall(sig, a, nil) }

func sigactionCall(sig unix.Signal, set, get *sigaction) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 8, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("rt_sigaction", errno)
	}
	return nil
}
