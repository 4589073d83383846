package first

import (
	"strconv"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process/supervise"
)

// Command is the argument with which a program that imports this package starts itself as
// the first process of a sandbox.
const Command = "sandbox-init"

// Variable is set in the first process's own environment, so that nobody starts one just
// by using Command.
const Variable = "MLEFLOW_SANDBOX"

// The descriptors of the first process besides the command's standard streams. The last
// three exist only for a run that can be resumed.
const (
	ControlFD = 3 // a packet socket to the owner
	PlanFD    = 4 // a file with the plan
	ImageFD   = 5 // the lock of the image, held while this process lives
	ListenFD  = 6 // the socket on which the next owner connects
	OutputFD  = 7 // the file for the output
	EndFD     = 8 // the file for the report
)

// OutputDelay is the maximum wait for output after all processes have ended.
const OutputDelay = 10 * time.Second

// Plan is the plan for the first process.
type Plan struct {
	// Container means that a container's runtime has built the guest's world. Of the
	// files, only Tmpfs are then used: they count as memory.
	Container bool
	// Root is the image's root file system on the host. Base is an empty folder of the
	// host over which the first process may mount.
	Root, Base Text
	Rules
	// User is the command's user.
	User IDs

	Mounts  []Mount
	Tmpfs   []Tmpfs
	Devices []Device
	// Links are the links to create, by path, where nothing exists.
	Links map[string]string
	// Files are texts that are mounted over files of the image, by path.
	Files    map[string]string
	Hostname string
	// HostNetwork means that the guest shares the host's network.
	HostNetwork bool
	Services    []Service

	Command []string
	Env     []Text
	Dir     string
	// Capabilities are the numbers of the command's capabilities.
	Capabilities []int
	Limits       Limits
	// CPUs are the command's own processors; none means that it shares all.
	CPUs []int
	// View is the guest's view of the machine.
	View guest.Machine
	// Held names the mechanism that enforces each limit.
	Held map[string]string
	// Resume means that the command continues without its owner.
	Resume bool
	// TellUse means that the owner wants reports of what is in use.
	TellUse bool
}

// Rules are the paths that containerd's default container hides, and its filters.
type Rules struct {
	// Masked are the guest's paths that it must not see, ReadOnly those that it must
	// not change.
	Masked   []Text
	ReadOnly []string
	// Seccomp and Unknown are filters of system calls: the kernel's instructions as they
	// are in memory.
	Seccomp, Unknown []byte
}

// Limits are those of executor.Limits that the first process enforces. Grace is not 0.
type Limits struct {
	Timeout, Grace                              time.Duration
	MemoryBytes, Processes, FileBytes, LogBytes int64
}

// IDs are a user and a group.
type IDs struct{ UID, GID int }

// Service is a service's port, or 0, and its variables, in whose values guest.Address
// stands for the address.
type Service struct {
	Name string
	Port int
	Env  map[string]string
}

// Text is a string that need not be UTF-8, as JSON requires: a path of the host, or
// a variable.
type Text string

// MarshalText implements encoding.TextMarshaler.
func (r Text) MarshalText() ([]byte, error) {
	return strconv.AppendQuoteToASCII(nil, string(r)), nil
}

// Mount is a folder or file of the host with its path in the guest.
type Mount struct {
	Host     Text
	Guest    string
	ReadOnly bool
}

// Tmpfs is a file system in memory that everybody may write to.
type Tmpfs struct {
	Guest  string
	Bytes  int64
	NoExec bool
}

// Device is a device of the host with its path in the guest.
type Device struct {
	Host  Text
	Guest string
}

// Sources lists the files and folders of the host that the first process mounts.
func (p *Plan) Sources() []string {
	list := []string{string(p.Root)}
	for _, m := range p.Mounts {
		list = append(list, string(m.Host))
	}
	for _, d := range p.Devices {
		list = append(list, string(d.Host))
	}
	return list
}

// Ready tells the owner that the guest's world is complete. The message carries the
// descriptors of the services' listeners; their ports are in order.
type Ready struct {
	Started time.Time         `json:"started"`
	Ports   []int             `json:"ports"`
	Held    map[string]string `json:"held"`
}

// Report is the report at the end of a command.
type Report struct {
	Exit Exit `json:"exit"`
	// Cancelled means that the owner asked for the end.
	Cancelled bool `json:"cancelled"`
}

// Exit has the fields of executor.Exit that the first process knows.
type Exit struct {
	Reason          supervise.Reason `json:"reason"`
	Code            int              `json:"code"`
	Signal          int              `json:"signal"`
	Wall            time.Duration    `json:"wall"`
	CPU             time.Duration    `json:"cpu"`
	PeakMemoryBytes int64            `json:"peak_memory_bytes"`
	Leftover        int              `json:"leftover"`
	LogDropped      int64            `json:"log_dropped"`
	OOMKills        int              `json:"oom_kills"`
}
