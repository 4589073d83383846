package sandbox

import (
	"encoding/json"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/first"
)

// message is a message between the first process and its owner.
type message struct {
	// Ready means that the guest's world is complete. The message carries the
	// descriptors of the services' listeners; their ports are in order.
	Ready *first.Ready `json:"ready,omitempty"`
	// Failed is the reason why the command could not be started. Start means that the
	// command itself is the cause.
	Failed string `json:"failed,omitempty"`
	Start  bool   `json:"start,omitempty"`
	// Memory is the memory that the command holds, in bytes, and CPU the processor
	// time that it has used, in nanoseconds.
	Memory int64 `json:"memory,omitempty"`
	CPU    int64 `json:"cpu,omitempty"`
	// Report is the content of the last message.
	Report *report `json:"report,omitempty"`
	// Cancel is a request of the owner to stop the command as at its time limit.
	Cancel bool `json:"cancel,omitempty"`
	// Limit replaces the command's time limit.
	Limit time.Duration `json:"limit,omitempty"`
	// Freeze stops all processes of the command at once, which Frozen answers, with Failed
	// if it could not. Thaw lets them continue.
	Freeze bool `json:"freeze,omitempty"`
	Frozen bool `json:"frozen,omitempty"`
	Thaw   bool `json:"thaw,omitempty"`
	// Keep tells the first process that the owner has recorded the run, which may now
	// continue without it.
	Keep bool `json:"keep,omitempty"`
}

// report is the report at the end of a command.
type report struct {
	Exit executor.Exit `json:"exit"`
	// Cancelled means that the owner asked for the end.
	Cancelled bool `json:"cancelled,omitempty"`
}

// maxMessage limits the size of a message, maxDescriptors the number of its
// descriptors.
const (
	maxMessage     = 64 << 10
	maxDescriptors = 64
)

// conn is one end of the socket between the first process and its owner. Each message
// is a packet and may carry descriptors.
type conn struct{ *net.UnixConn }

// close closes the socket, if there is one: the command may have ended before.
func (c conn) close() {
	if c.UnixConn != nil {
		_ = c.Close()
	}
}

func (c conn) send(m message) error {
	text, err := json.Marshal(m)
	switch {
	case c.UnixConn == nil:
		return net.ErrClosed
	case err != nil:
		return err
	}
	_, err = c.Write(text)
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
