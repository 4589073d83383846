package guest

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// OpenFiles is the limit on open descriptors of a guest, unless the machine's is lower.
const OpenFiles = 1 << 16

// OpenFileLimit is the limit on open descriptors of a guest.
func OpenFileLimit() uint64 {
	var own syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &own); err == nil {
		return min(OpenFiles, own.Max)
	}
	return OpenFiles
}

// OnThread calls f on a thread that ends with it, and with all that f gives up or enters. It
// is never the first thread of the process: whoever is in that one's Landlock domain may
// signal the process.
func OnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if syscall.Gettid() == os.Getpid() {
			OnThread(f) // on another thread, as this one is held
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

// LoopbackUp brings up the loopback interface of this thread's network namespace.
func LoopbackUp() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	var request struct { // struct ifreq
		name  [16]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], "lo")
	call := func(number uintptr) error {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), number, uintptr(unsafe.Pointer(&request))); errno != 0 {
			return errno
		}
		return nil
	}
	if err := call(syscall.SIOCGIFFLAGS); err != nil || request.flags&syscall.IFF_UP != 0 {
		return err
	}
	request.flags |= syscall.IFF_UP
	return call(syscall.SIOCSIFFLAGS)
}
