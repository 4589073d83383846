package supervise

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

// conn is the connection to mleflow.
type conn struct {
	// rights are the descriptors received so far.
	rights []int
}

// message is an order with the standard streams of its command, a new time limit, or a
// request to stop the command.
type message struct {
	order   *Order
	streams []int
	limit   time.Duration
}

// receive passes on messages from mleflow until the connection ends or a message is
// malformed.
func (c *conn) receive(to chan<- message) {
	defer close(to)
	for {
		m, err := c.next()
		if err != nil {
			return
		}
		to <- m
	}
}

func (c *conn) next() (message, error) {
	kind := []byte{0}
	if _, err := io.ReadFull(c, kind); err != nil || kind[0] == CancelByte {
		return message{}, err
	}
	if kind[0] == LimitByte {
		limit, err := readLimit(c)
		return message{limit: limit}, err
	}
	o, err := readOrder(c)
	m := message{order: &o, streams: c.rights}
	c.rights = nil
	if err == nil && (kind[0] != OrderByte || len(m.streams) != 3) {
		err = errMessage
	}
	return m, err
}

// Read implements io.Reader.
func (c *conn) Read(p []byte) (int, error) {
	oob := make([]byte, syscall.CmsgSpace(3*4))
	for {
		n, oobn, _, _, err := syscall.Recvmsg(FD, p, oob, syscall.MSG_CMSG_CLOEXEC)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return 0, os.NewSyscallError("recvmsg", err)
		case n == 0:
			return 0, io.EOF
		}
		list, err := syscall.ParseSocketControlMessage(oob[:oobn])
		for i := range list {
			fds, rightsErr := syscall.ParseUnixRights(&list[i])
			c.rights = append(c.rights, fds...)
			err = errors.Join(err, rightsErr)
		}
		return n, err
	}
}

// Write implements io.Writer.
func (c *conn) Write(p []byte) (int, error) {
	for done := 0; ; {
		n, err := syscall.SendmsgN(FD, p[done:], nil, nil, syscall.MSG_NOSIGNAL)
		if err != nil && err != syscall.EINTR {
			return done, os.NewSyscallError("sendmsg", err)
		}
		if done += max(n, 0); done == len(p) {
			return done, nil
		}
	}
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = syscall.Close(fd)
	}
}
