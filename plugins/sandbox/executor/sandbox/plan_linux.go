package sandbox

import (
	"strconv"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// The descriptors of the first process besides the command's standard streams.
const (
	controlFD = 3 // a socket to the owner
	planFD    = 4 // a file with the plan
	imageFD   = 5 // the lock of the image, held for as long as this process lives
	listenFD  = 6 // of a run that may be resumed: where another owner comes in,
	outputFD  = 7 // where the output goes,
	endFD     = 8 // and where the report is written down
)

// plan is what the first process is told to do.
type plan struct {
	// Root is the image's root file system on the host, Base an empty folder
	// of the host that the first process may mount over.
	Root, Base hostText
	// Masked and ReadOnly are paths of the guest that it does not see, or may not
	// change.
	Masked   []hostText
	ReadOnly []string
	// User is the command's.
	User ids

	Mounts  []mountPlan
	Tmpfs   []tmpfsPlan
	Devices []devicePlan
	// Links are made where nothing is, by their paths.
	Links map[string]string
	// Files are texts that lie over the image's, by their paths.
	Files    map[string]string
	Hostname string
	// HostNetwork says that the guest shares the host's network.
	HostNetwork bool
	Services    []servicePlan

	Command []string
	Env     []hostText
	Dir     string
	// Capabilities are the numbers of those that the command has.
	Capabilities []int
	// Seccomp and Unknown are the filters of system calls; see compile and
	// unknownCalls.
	Seccomp, Unknown []instruction
	Limits           limitPlan
	// View is what the guest sees of the machine.
	View executor.Machine
	// Held says by what each limit is held.
	Held map[string]string
	// Resume says that the command goes on without its owner.
	Resume bool
	// TellMemory says that the owner wants to know what is held.
	TellMemory bool
}

// hostText is a string that need not be UTF-8, which JSON is: a path of the host, or a
// variable.
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

// instruction is one of the kernel's filter language.
type instruction struct {
	Code   uint16
	Jt, Jf uint8
	K      uint32
}

// message is what the first process and its owner tell each other.
type message struct {
	// Ready says that the guest's world is made: the descriptors of the
	// services' listeners come along, their ports are in order.
	Ready *ready `json:"ready,omitempty"`
	// Failed is why the command could not be started; Start, that the command
	// itself is to blame.
	Failed string `json:"failed,omitempty"`
	Start  bool   `json:"start,omitempty"`
	// Memory is what the command holds.
	Memory int64 `json:"memory,omitempty"`
	// Report is the last word.
	Report *report `json:"report,omitempty"`
	// Cancel is the owner's: stop the command as at its time limit.
	Cancel bool `json:"cancel,omitempty"`
	// Keep is the owner's: the run is written down, and goes on without it.
	Keep bool `json:"keep,omitempty"`
}

type ready struct {
	Started time.Time         `json:"started"`
	Ports   []int             `json:"ports"`
	Held    map[string]string `json:"held,omitempty"`
}

// report is what is said at the end.
type report struct {
	Exit executor.Exit `json:"exit"`
	// Cancelled says that the owner asked for the end.
	Cancelled bool `json:"cancelled,omitempty"`
}
