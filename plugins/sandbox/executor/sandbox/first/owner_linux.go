package first

import (
	"os"
	"reflect"
	"sync"
	"syscall"
	"time"
)

// message is a message to the owner; the owner's type has comments.
type message struct {
	Ready  *Ready  `json:"ready"`
	Failed string  `json:"failed"`
	Start  bool    `json:"start"`
	Memory int64   `json:"memory"`
	CPU    int64   `json:"cpu"`
	Report *Report `json:"report"`
	Frozen bool    `json:"frozen"`
}

// order is a request of the owner: to stop the command or, unless Limit is 0, to replace
// its time limit. Keep tells that the owner has recorded the run, which may now continue
// without it. gone means that the owner died and no other will come.
// Freeze stops all processes of the command at once, and Thaw lets them continue.
type order struct {
	Cancel, Keep bool
	Freeze, Thaw bool
	Limit        time.Duration
	gone         bool
}

// maxMessage limits the size of a message.
const maxMessage = 64 << 10

// tellPatience is the maximum wait for an owner that is stopped and does not read.
const tellPatience = 100 * time.Millisecond

// owner is the socket to the owner.
type owner struct {
	// mu guards fd against its replacement.
	mu sync.Mutex
	fd int
}

// send sends a message with descriptors.
func (o *owner) send(m message, fds ...int) error {
	var rights []byte
	if len(fds) > 0 {
		rights = syscall.UnixRights(fds...)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		err := syscall.Sendmsg(o.fd, encode(nil, reflect.ValueOf(m)), rights, nil, syscall.MSG_NOSIGNAL)
		if err != syscall.EINTR {
			return os.NewSyscallError("sendmsg", err)
		}
	}
}

// hurry makes send give up on an owner that does not read.
func (o *owner) hurry() {
	patience := syscall.NsecToTimeval(tellPatience.Nanoseconds())
	_ = syscall.SetsockoptTimeval(o.fd, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &patience)
}

// receive returns the next order. ok is false if the owner is gone. Only one goroutine
// receives, and it is the one that replaces the owner.
func (o *owner) receive() (order order, ok bool) {
	text := make([]byte, maxMessage)
	for {
		n, _, _, _, err := syscall.Recvmsg(o.fd, text, nil, syscall.MSG_CMSG_CLOEXEC)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return order, false
		}
		return order, decode(text[:n], &order) == nil
	}
}

// replace waits for the next owner. The descriptor of the first stays open, so that no
// other file gets its number: links in an image could name it.
func (o *owner) replace() bool {
	for {
		next, _, err := syscall.Accept4(ListenFD, syscall.SOCK_CLOEXEC)
		if err == syscall.EINTR || err == syscall.ECONNABORTED {
			continue
		}
		if err != nil {
			return false
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.fd != ControlFD {
			syscall.Close(o.fd)
		}
		o.fd = next
		o.hurry()
		return true
	}
}
