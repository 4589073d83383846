package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
)

// Executor runs commands.
type Executor interface {
	// Run runs a command to its end and returns its Exit. The command's standard error
	// goes to logs, as does its standard output unless spec.Stdout is set.
	//
	// When ctx is cancelled, the command is stopped as at its time limit, and the error
	// is ctx's cause. If the cause is ErrLeave and the command can be resumed, it
	// continues instead, as if this process had died. If the command cannot be started,
	// the error is ErrStart. Any other error is the fault of the machine or the
	// runtime.
	Run(ctx context.Context, spec Spec, logs io.Writer) (Exit, error)
}

// ErrStart means that the command cannot be started as written: the program does not
// exist, or it is not executable.
var ErrStart = errors.New("cannot start command")

// Unstartable wraps an error in ErrStart, without repeating the text of ErrStart.
func Unstartable(err error) error {
	text, told := strings.CutPrefix(err.Error(), ErrStart.Error()+": ")
	switch {
	case errors.Is(err, ErrStart):
		return err
	case told: // the error came as text
		return fmt.Errorf("%w: %s", ErrStart, text)
	}
	return fmt.Errorf("%w: %w", ErrStart, err)
}

// ErrLeave is the cause of a cancellation that leaves running the commands that a later
// process can resume, and stops all others.
var ErrLeave = fmt.Errorf("left running: %w", context.Canceled)

// Leaves reports whether Run, returning this error, left a command that can be resumed.
// Its folders must then stay.
func (s Spec) Leaves(err error) bool { return s.Resume && errors.Is(err, ErrLeave) }

// Spec describes what to run.
type Spec struct {
	// ID names the run in labels and process lists; it is unique on the machine. Labels
	// are further facts for people who list containers.
	ID     string
	Labels map[string]string
	// Image is the guest's root file system. Runtimes without images reject any value
	// but "".
	Image string
	// ImageEnv means that the command also gets the environment that the image
	// declares. Env takes precedence.
	ImageEnv bool
	// Command is the program and its arguments. A program without a slash is
	// looked up in the PATH of Env.
	Command []string
	// Env is the complete environment, apart from ImageEnv, Prepend and Services.
	Env map[string]string
	// Prepend maps search paths, such as PATH, to the folder that is put before their
	// value in Env or the image.
	Prepend map[string]string
	// Dir is the working directory as the guest sees it. ImageDir means that the
	// image's working directory is used instead, if it is below Dir.
	Dir      string
	ImageDir bool
	// Mounts are the host's folders and files that the guest needs.
	Mounts []Mount
	// Stdin is the standard input; nil is empty. Stdout, if set, receives the standard
	// output instead of the log.
	Stdin  io.Reader
	Stdout io.Writer
	Limits Limits
	// Devices are the names of the leased accelerators.
	Devices []string
	Network Network
	// Services are the servers that the host offers to the guest, and to nobody else if
	// the runtime isolates.
	Services []Service
	Sandbox  Sandbox
	// Resume means that the command may outlive this process. It also means that a
	// command that a dead process left under the same ID is continued, instead of
	// starting a new one. Its whole output is passed on again from the beginning, its
	// services are served again, and its original time limit holds; Exit.Resumed is
	// set. It is an error if a live process holds the command. A command that can be
	// resumed has neither Stdin nor Stdout. Runtimes that cannot resume start a new
	// command.
	Resume bool
	// OnStart, if set, is called with the start of the command, even if an earlier
	// process started it.
	OnStart func(time.Time)
	// OnUse, if set, is called every few seconds with what the command and all its
	// descendants use. Runtimes that cannot measure it do not call it.
	OnUse func(Use)
	// OnFreezer, if set, is called, before OnStart, with a function that stops all
	// processes of the command at once, until thaw is called. Thaw must follow soon.
	// Runtimes that cannot do so do not call it.
	OnFreezer func(freeze func(context.Context) (thaw func(), err error))
	// OnLimit, if set, is called, before OnStart, with a function that replaces the time
	// limit, which is still counted from the start.
	OnLimit func(set func(limit time.Duration) error)
	// Work, if set, counts the bytes read of the image that must be read before the
	// command can start.
	Work *progress.Work
}

// DefaultPath is the PATH in Environment if nothing else sets it.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Environment returns the command's environment, without the variables of Services, in
// an image that declares the given variables, NAME=VALUE.
func (s Spec) Environment(image []string) map[string]string {
	env := map[string]string{}
	if s.ImageEnv {
		env = Variables(image)
	}
	maps.Copy(env, s.Env)
	for name, folder := range s.Prepend {
		rest := env[name]
		if rest == "" && name == "PATH" {
			rest = DefaultPath
		}
		env[name] = strings.TrimSuffix(folder+":"+rest, ":")
	}
	return env
}

// Variables returns variables, NAME=VALUE, by name.
func Variables(list []string) map[string]string {
	env := make(map[string]string, len(list))
	for _, v := range list {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	return env
}

// Pairs is the inverse of Variables, sorted by name.
func Pairs(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// Service is a server of the host that the guest can reach.
type Service struct {
	// Name identifies it in logs and errors.
	Name string
	// Port is the port on the guest's own loopback interface. If it is 0, or if the
	// guest shares the host's network, a free port is used.
	Port int
	// Env are variables of the command. Address in their values is replaced by the
	// service's address, "http://127.0.0.1:PORT".
	Env map[string]string
	// Serve answers connections until the command has ended. The listener is then
	// closed and ctx cancelled, and Run waits for Serve to return. An error before that
	// ends the run. A result after that is ignored.
	Serve func(ctx context.Context, l net.Listener) error `json:"-"`
}

// Address stands for a service's address in the values of its variables.
const Address = guest.Address

// Variables returns Env for a service at a port.
func (s Service) Variables(port int) map[string]string {
	vars := map[string]string{}
	for name, value := range s.Env {
		vars[name] = strings.ReplaceAll(value, Address, "http://127.0.0.1:"+strconv.Itoa(port))
	}
	return vars
}

// Sandbox holds further requirements for runtimes that isolate. Others ignore it.
type Sandbox struct {
	// Handler names the low-level runtime: "runsc", "nvidia" or any other that the
	// runtime knows; "" is "runc".
	Handler string
	// User is a numeric "UID:GID"; "" is DefaultUser.
	User string
	// Capabilities are the command's capabilities, by their Linux names such as
	// "CAP_NET_RAW". By default it has none.
	Capabilities []string
	// HostUsers means that the guest's users are the host's, as in containers without a
	// user namespace. Otherwise they belong to nobody else.
	HostUsers bool
	// ShmBytes is the size of /dev/shm; 0 is DefaultShmBytes.
	ShmBytes int64
}

// The defaults of Sandbox in runtimes that isolate.
const (
	DefaultUser     = "1000:1000"
	DefaultShmBytes = 64 << 20
)

// Mount is a folder or file of the host, with its path in the guest. In a runtime that
// does not map folders, the guest sees it at Host; see Runtime.Path.
type Mount struct {
	Host, Guest string
	// ReadOnly means that the guest cannot change the folder, in runtimes that isolate.
	// Others do what they can; a caller that must know has to check afterwards.
	ReadOnly bool
	// CopyUp means that the image's content at Guest is copied into the folder Host
	// before a new command starts, so that the mount does not hide it. Files that Host
	// already has stay. The copies belong to the command's user. Runtimes without
	// images ignore it.
	CopyUp bool
}

// Limits are the limits of a run; a zero field is no limit.
type Limits struct {
	// Timeout is the wall-clock limit. When it is reached, the command gets SIGTERM,
	// and after Grace all its processes are killed. A zero Grace is DefaultGrace.
	Timeout, Grace time.Duration
	// Setup limits the runtime's preparations before the command runs (image, folders,
	// network). They do not count towards Timeout. Exceeding it is an error.
	Setup time.Duration
	// MemoryBytes limits the memory of the command and all its descendants together.
	MemoryBytes int64
	CPUs        float64
	// Processes limits the number of processes and threads.
	Processes int
	// FileBytes limits the size of one file, DiskBytes the total size of the files
	// written outside Mounts.
	FileBytes, DiskBytes int64
	// LogBytes limits the output that is passed on; the rest is dropped and counted.
	LogBytes int64
}

// DefaultGrace is the time between SIGTERM and SIGKILL.
const DefaultGrace = 10 * time.Second

// Network defines what the guest may reach. The zero value is nothing.
type Network struct {
	// Open allows everything.
	Open bool
	// Allow lists "host:port" pairs.
	Allow []string
}

// Use is what a command and all its descendants use: the memory that they hold now, and
// the processor time that they have used so far.
type Use struct {
	MemoryBytes int64
	CPU         time.Duration
}

// Reason is the way in which a command ended.
type Reason string

// The ways a command ends.
const (
	// Exited: it ended by itself, with Exit.Code.
	Exited Reason = "exited"
	// Signalled: it was ended by a signal that the runtime did not send.
	Signalled Reason = "signalled"
	// TimedOut: it was stopped at its time limit, whatever it returned then.
	TimedOut Reason = "timed_out"
	// OutOfMemory: it was killed at its memory limit.
	OutOfMemory Reason = "out_of_memory"
	// Stopped: the caller stopped it because a person asked.
	Stopped Reason = "stopped"
	// OutOfDisk: the caller stopped it because it stored too much.
	OutOfDisk Reason = "out_of_disk"
)

// Exit describes the end of a command and its use of resources.
type Exit struct {
	Reason Reason `json:"reason"`
	// Code is the exit status, or 128 plus the signal's number if a signal ended the
	// command.
	Code int `json:"code"`
	// Signal is the number of that signal, or 0.
	Signal int `json:"signal,omitempty"`
	// Wall is the time from start to end. CPU is the processor time of the command and
	// all its descendants.
	Wall time.Duration `json:"wall"`
	CPU  time.Duration `json:"cpu"`
	// PeakMemoryBytes is the peak resident memory of the command and all its
	// descendants together, as far as the runtime can measure it.
	PeakMemoryBytes int64 `json:"peak_memory_bytes"`
	// Leftover is the number of processes that were still alive when the command had
	// ended, and were then killed.
	Leftover int `json:"leftover,omitempty"`
	// LogDropped is the number of bytes of output beyond Limits.LogBytes.
	LogDropped int64 `json:"log_dropped,omitempty"`
	// OOMKills is the number of processes killed at the memory limit, if the runtime
	// can count them. A command may survive the death of a child.
	OOMKills int `json:"oom_kills,omitempty"`
	// Enforced names the mechanisms by which the runtime enforced limits and isolation,
	// where it has several, such as "memory": "cgroup".
	Enforced map[string]string `json:"enforced,omitempty"`
	// Resumed means that an earlier process started the command.
	Resumed bool `json:"resumed,omitempty"`
	// LostServices names the services that a resumed command lost, because it had taken
	// their ports while nobody served them.
	LostServices []string `json:"lost_services,omitempty"`
}

// CountKills makes a command that SIGKILL ended one that was killed at its memory limit, if
// processes were killed there.
func (e *Exit) CountKills() {
	if e.Signal == int(syscall.SIGKILL) && e.OOMKills > 0 {
		e.Reason = OutOfMemory
	}
}

// OK reports whether the command exited by itself with status 0.
func (e Exit) OK() bool { return e.Reason == Exited && e.Code == 0 }
