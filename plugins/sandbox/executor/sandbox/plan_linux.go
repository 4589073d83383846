package sandbox

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// The descriptors of the first process besides the command's standard streams. The last
// three exist only for a run that can be resumed.
const (
	controlFD = 3 // a socket to the owner
	planFD    = 4 // a file with the plan
	imageFD   = 5 // the lock of the image, held while this process lives
	listenFD  = 6 // the socket on which the next owner connects
	outputFD  = 7 // the file for the output
	endFD     = 8 // the file for the report
)

// plan is the plan for the first process.
type plan struct {
	// Root is the image's root file system on the host. Base is an empty folder of the
	// host over which the first process may mount.
	Root, Base hostText
	rules
	// User is the command's user.
	User ids

	Mounts  []mountPlan
	Tmpfs   []tmpfsPlan
	Devices []devicePlan
	// Links are the links to create, by path, where nothing exists.
	Links map[string]string
	// Files are texts that are mounted over files of the image, by path.
	Files    map[string]string
	Hostname string
	// HostNetwork means that the guest shares the host's network.
	HostNetwork bool
	Services    []executor.Service

	Command []string
	Env     []hostText
	Dir     string
	// Capabilities are the numbers of the command's capabilities.
	Capabilities []int
	// Limits are those that the first process enforces, with a Grace that is not 0. CPUs are
	// the command's own processors; none means that it shares all.
	Limits executor.Limits
	CPUs   []int
	// View is the guest's view of the machine.
	View executor.Machine
	// Held names the mechanism that enforces each limit.
	Held map[string]string
	// Resume means that the command continues without its owner.
	Resume bool
	// TellUse means that the owner wants reports of what is in use.
	TellUse bool
}

// hostText is a string that need not be UTF-8, as JSON requires: a path of the host, or
// a variable.
type hostText string

// MarshalText implements encoding.TextMarshaler.
func (r hostText) MarshalText() ([]byte, error) {
	return strconv.AppendQuoteToASCII(nil, string(r)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *hostText) UnmarshalText(text []byte) error {
	s, err := strconv.Unquote(string(text))
	*r = hostText(s)
	return err
}

type mountPlan struct {
	Host     hostText
	Guest    string
	ReadOnly bool
}

// tmpfsPlan is a file system in memory.
type tmpfsPlan struct {
	Guest   string
	Bytes   int64
	Options string
	NoExec  bool
}

type devicePlan struct {
	Host  hostText
	Guest string
}

// message is a message between the first process and its owner.
type message struct {
	// Ready means that the guest's world is complete. The message carries the
	// descriptors of the services' listeners; their ports are in order.
	Ready *ready `json:"ready,omitempty"`
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
	// Keep tells the first process that the owner has recorded the run, which may now
	// continue without it.
	Keep bool `json:"keep,omitempty"`
}

type ready struct {
	Started time.Time         `json:"started"`
	Ports   []int             `json:"ports"`
	Held    map[string]string `json:"held,omitempty"`
}

// report is the report at the end of a command.
type report struct {
	Exit executor.Exit `json:"exit"`
	// Cancelled means that the owner asked for the end.
	Cancelled bool `json:"cancelled,omitempty"`
}

// sources lists the files and folders of the host that the first process mounts.
func (p *plan) sources() []string {
	list := []string{string(p.Root)}
	for _, m := range p.Mounts {
		list = append(list, string(m.Host))
	}
	for _, d := range p.Devices {
		list = append(list, string(d.Host))
	}
	return list
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

// connOf returns the connection of a descriptor, which stays open.
func connOf(f *os.File) (conn, error) {
	c, err := net.FileConn(f)
	if err != nil {
		return conn{}, err
	}
	return conn{c.(*net.UnixConn)}, nil
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
