package sandbox

import (
	"encoding/json"
	"fmt"
	"net"
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
type conn struct{ *net.UnixConn }

// connOf returns the connection of a descriptor, which stays open.
func connOf(f *os.File) (conn, error) {
	c, err := net.FileConn(f)
	if err != nil {
		return conn{}, err
	}
	return conn{c.(*net.UnixConn)}, nil
}

// socketPair returns both ends.
func socketPair() (ours conn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ours, nil, os.NewSyscallError("socketpair", err)
	}
	theirs = os.NewFile(uintptr(fds[1]), "owner")
	own := os.NewFile(uintptr(fds[0]), "sandbox")
	defer own.Close()
	if ours, err = connOf(own); err != nil {
		theirs.Close()
	}
	return ours, theirs, err
}

func (c conn) send(m message, fds ...int) error {
	text, err := json.Marshal(m)
	switch {
	case c.UnixConn == nil:
		return net.ErrClosed
	case err != nil:
		return err
	case len(text) > maxMessage:
		return fmt.Errorf("a message of %d bytes is too long", len(text))
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	_, _, err = c.WriteMsgUnix(text, rights, nil)
	return err
}

// receive returns the next message with its descriptors. The error is io.EOF if the
// other side is gone.
func (c conn) receive() (m message, files []*os.File, err error) {
	text, rights := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4*maxDescriptors))
	n, oob, _, _, err := c.ReadMsgUnix(text, rights)
	if err != nil {
		return m, nil, err
	}
	if files, err = received(rights[:oob]); err != nil {
		return m, nil, err
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
