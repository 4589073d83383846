package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxMessage limits the size of a message, maxDescriptors the number of its
// descriptors.
const (
	maxMessage     = 64 << 10
	maxDescriptors = 64
)

// conn is one end of the socket between the first process and its owner. Each message
// is a packet and may carry descriptors.
type conn struct{ file *os.File }

// socketPair returns both ends.
func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	return os.NewFile(uintptr(fds[0]), "sandbox"), os.NewFile(uintptr(fds[1]), "owner"), nil
}

func (c conn) send(m message, fds ...int) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(text) > maxMessage {
		return fmt.Errorf("a message of %d bytes is too long", len(text))
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	raw, err := c.file.SyscallConn()
	if err != nil {
		return err
	}
	var sendErr error
	err = raw.Write(func(fd uintptr) bool {
		sendErr = unix.Sendmsg(int(fd), text, rights, nil, unix.MSG_NOSIGNAL)
		return sendErr != unix.EAGAIN
	})
	return errors.Join(err, sendErr)
}

// receive returns the next message with its descriptors. The error is io.EOF if the
// other side is gone.
func (c conn) receive() (m message, files []*os.File, err error) {
	raw, err := c.file.SyscallConn()
	if err != nil {
		return m, nil, err
	}
	text, rights := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4*maxDescriptors))
	var n, oob int
	var recvErr error
	err = raw.Read(func(fd uintptr) bool {
		n, oob, _, _, recvErr = unix.Recvmsg(int(fd), text, rights, unix.MSG_CMSG_CLOEXEC)
		return recvErr != unix.EAGAIN && recvErr != unix.EINTR
	})
	if err := errors.Join(err, recvErr); err != nil {
		return m, nil, err
	}
	if files, err = received(rights[:oob]); err != nil {
		return m, nil, err
	}
	if n == 0 {
		return m, files, io.EOF
	}
	return m, files, json.Unmarshal(text[:n], &m)
}

// received returns the descriptors of a message as files.
func received(rights []byte) (files []*os.File, err error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return files, err
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}
