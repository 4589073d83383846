package sandbox

import (
	"strconv"
	"time"

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
	// Masked are the guest's paths that it must not see, ReadOnly those that it must
	// not change.
	Masked   []hostText
	ReadOnly []string
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
	Services    []servicePlan

	Command []string
	Env     []hostText
	Dir     string
	// Capabilities are the numbers of the command's capabilities.
	Capabilities []int
	// Seccomp and Unknown are the filters of system calls; see compile and
	// unknownCalls.
	Seccomp, Unknown []instruction
	Limits           limitPlan
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

type servicePlan struct {
	Name string
	Port int
	Env  string
}

type limitPlan struct {
	Timeout, Grace         time.Duration
	MemoryBytes, FileBytes int64
	Processes              int
	LogBytes               int64
	CPUs                   []int
}

// instruction is one instruction of the kernel's filter language.
type instruction struct {
	Code   uint16
	Jt, Jf uint8
	K      uint32
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
