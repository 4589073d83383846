package sandbox

import (
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sigaction is the kernel's struct sigaction: the handler, the flags, the address to
// which a handler returns, and the signals blocked meanwhile.
type sigaction [4]uint64

// handler is the address of a handler that does nothing.
var handler uint64

// withstandSignals ensures that no signal from the command ends this process, which may
// belong to the same user.
func withstandSignals() error {
	signal.Notify(make(chan os.Signal, 1))
	var own sigaction
	if err := own.get(unix.SIGURG); err != nil {
		return err
	}
	// Go leaves two signals to C libraries. The kernel drops them for a first process,
	// except while its main thread blocks signals, as it does to start another thread.
	// They get a handler, because the command would inherit it if they were ignored.
	own[0] = handler
	for _, sig := range []unix.Signal{32, 34} {
		if err := own.set(sig); err != nil {
			return err
		}
	}
	// If the command sends these with sigqueue, they look like faults of this process,
	// and Go would end it. Ignoring them prevents that; a real fault still ends the
	// process. Go resets them in the command.
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
