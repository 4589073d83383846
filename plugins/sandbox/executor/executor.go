package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

// Executor runs commands.
type Executor interface {
	// Run runs a command to its end and returns how it ended. Its standard
	// error, and its standard output unless spec.Stdout is set, go to logs.
	//
	// When ctx is cancelled the command is stopped like at its time limit,
	// and the error is ctx's cause. If the cause is ErrLeave and the command can
	// be resumed, it goes on instead, as if this process had died. A command
	// that cannot be started is ErrStart. Any other error is the machine's or the
	// runtime's fault.
	Run(ctx context.Context, spec Spec, logs io.Writer) (Exit, error)
}

// ErrStart says that the command could not be started as it was written: there
// is no such program, or it may not be executed.
var ErrStart = errors.New("cannot start command")

// Unstartable makes an error ErrStart, whose words it says once.
func Unstartable(err error) error {
	text, told := strings.CutPrefix(err.Error(), ErrStart.Error()+": ")
	switch {
	case errors.Is(err, ErrStart):
		return err
	case told: // it came as text
		return fmt.Errorf("%w: %s", ErrStart, text)
	}
	return fmt.Errorf("%w: %w", ErrStart, err)
}

// ErrLeave is the cause of a context that is cancelled to leave commands running
// which a later process can resume, and to stop all others.
var ErrLeave = fmt.Errorf("left running: %w", context.Canceled)

// Leaves reports whether an end of Run with this error left a command that is to
// be resumed: its folders must stay.
func (s Spec) Leaves(err error) bool { return s.Resume && errors.Is(err, ErrLeave) }

// Spec says what to run.
type Spec struct {
	// ID names the run in labels and process lists; it is unique in the
	// machine. Labels are further facts for people who list containers.
	ID     string
	Labels map[string]string
	// Image is what the guest's root file system is; runtimes without images
	// refuse a non-empty one.
	Image string
	// ImageEnv says that the environment which the image declares is given to
	// the command too; what Env names goes before it.
	ImageEnv bool
	// Command is the program and its arguments. A program without a slash is
	// looked up in the PATH of Env.
	Command []string
	// Env is the whole environment, but for ImageEnv, Prepend and Services.
	Env map[string]string
	// Prepend are search paths, such as PATH, each with the folder that is put
	// before what Env or the image says of it.
	Prepend map[string]string
	// Dir is the working directory as the guest sees it. ImageDir says that the
	// image's is taken instead where it is below.
	Dir      string
	ImageDir bool
	// Mounts are the folders and files of the host that the guest needs.
	Mounts []Mount
	// Stdin is the standard input; nil is empty. Stdout, if set, gets the standard
	// output instead of the log.
	Stdin  io.Reader
	Stdout io.Writer
	Limits Limits
	// Devices are the leased accelerators, by name.
	Devices []string
	Network Network
	// Services are what the host serves to the guest, and to nobody else where
	// the runtime isolates.
	Services []Service
	Sandbox  Sandbox
	// Resume says that the command may outlive this process, and that one
	// which a dead process left under the same ID is to be continued instead
	// of a new one: its whole output is passed on again from the beginning,
	// its services are served again, its time limit is the one it was started
	// with. Exit.Resumed tells. A command that a live process holds is an
	// error. A command that can be resumed has neither Stdin nor Stdout.
	// Runtimes that cannot resume start from scratch.
	Resume bool
	// OnStart, if it is set, is told when the command was started, by this
	// process or, if it is resumed, by an earlier one.
	OnStart func(time.Time)
	// OnMemory, if it is set, is told every few seconds how many bytes of memory
	// the command and everything it started hold. Runtimes that cannot tell do
	// not.
	OnMemory func(bytes int64)
	// Work, if it is set, counts what is read of the image where the command cannot
	// start before that.
	Work *progress.Work
}

// DefaultPath is what Environment takes for a PATH that nobody sets.
const DefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Environment is the environment of the command in an image that declares
// these variables, but for Services.
func (s Spec) Environment(image map[string]string) map[string]string {
	env := map[string]string{}
	if s.ImageEnv {
		maps.Copy(env, image)
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

// Service is a server of the host that the guest reaches.
type Service struct {
	// Name is for logs and errors.
	Name string
	// Port is where the guest reaches it on its own loopback interface. With
	// port 0, and where the guest shares the host's network, it is a free
	// port.
	Port int
	// Env, unless it is empty, names the variable that gets the address,
	// "http://127.0.0.1:PORT".
	Env string
	// Serve answers connections until the command has ended, when the
	// listener is closed and ctx cancelled; Run waits for its return. What it
	// returns after that is ignored; earlier, an error ends the run.
	Serve func(ctx context.Context, l net.Listener) error
}

// Sandbox is what isolating runtimes are asked beyond the limits. Others
// ignore it.
type Sandbox struct {
	// Handler names the runtime's own runtime: "runc" when it is empty,
	// "runsc", "nvidia" or whatever the runtime knows.
	Handler string
	// User is "UID:GID", in numbers; DefaultUser when it is empty.
	User string
	// Capabilities are those that the command has, by their names in Linux
	// such as "CAP_NET_RAW"; without any it has none.
	Capabilities []string
	// HostUsers says that the guest's users are the host's, as in containers
	// without a user namespace. Otherwise they are nobody else's.
	HostUsers bool
	// ShmBytes is the size of /dev/shm; DefaultShmBytes when it is 0.
	ShmBytes int64
}

// What isolating runtimes use where a Sandbox says nothing.
const (
	DefaultUser     = "1000:1000"
	DefaultShmBytes = 64 << 20
)

// Mount is a folder or file of the host and where the guest sees it. A runtime that
// does not map folders shows it at Host; see Runtime.Path.
type Mount struct {
	Host, Guest string
	// ReadOnly folders cannot be changed by the guest, in runtimes that
	// isolate. Others do what they can; a caller that must know checks afterwards.
	ReadOnly bool
	// CopyUp says that what the image holds at Guest is copied into the folder
	// Host before a new command starts, so that the mount does not hide it.
	// What Host holds already is kept; what is copied belongs to the command's
	// user. Runtimes without images ignore it.
	CopyUp bool
}

// Limits are the limits of a run; a zero field is no limit.
type Limits struct {
	// Timeout is the wall-clock limit. At it the command gets SIGTERM, and
	// Grace later everything it started is killed. A zero Grace is
	// DefaultGrace.
	Timeout, Grace time.Duration
	// Setup is how long the runtime may take until the command runs (image,
	// folders, network); it is not part of Timeout. Longer is an error.
	Setup time.Duration
	// MemoryBytes is the limit for everything the command started together.
	MemoryBytes int64
	CPUs        float64
	// Processes is the number of processes and threads.
	Processes int
	// FileBytes is the size of one file, DiskBytes the size of all that is
	// written outside Mounts.
	FileBytes, DiskBytes int64
	// LogBytes is how much output is passed on; the rest is dropped and
	// counted.
	LogBytes int64
}

// DefaultGrace is the time between SIGTERM and SIGKILL.
const DefaultGrace = 10 * time.Second

// Network says what the guest may reach. The zero value is nothing.
type Network struct {
	// Open is everything.
	Open bool
	// Allow are "host:port" pairs.
	Allow []string
}

// Reason is how a command ended.
type Reason string

// The ways a command ends.
const (
	// Exited: by itself, with Exit.Code.
	Exited Reason = "exited"
	// Signalled: by a signal that the runtime did not send.
	Signalled Reason = "signalled"
	// TimedOut: stopped at its time limit, whatever it returned then.
	TimedOut Reason = "timed_out"
	// OutOfMemory: killed at its memory limit.
	OutOfMemory Reason = "out_of_memory"
	// OutOfDisk: stopped by the caller, since it stored more than it may.
	OutOfDisk Reason = "out_of_disk"
)

// Exit is how a command ended and what it used.
type Exit struct {
	Reason Reason `json:"reason"`
	// Code is the exit status; 128 and the signal's number when a signal
	// ended the command.
	Code int `json:"code"`
	// Signal is the number of that signal, else 0.
	Signal int `json:"signal,omitempty"`
	// Wall is the time from start to end, CPU the processor time of the
	// command and everything it started.
	Wall time.Duration `json:"wall"`
	CPU  time.Duration `json:"cpu"`
	// PeakMemoryBytes is the most memory that the command and everything it
	// started had resident at one time, as far as the runtime can measure.
	PeakMemoryBytes int64 `json:"peak_memory_bytes"`
	// Leftover is how many processes were still alive when the command
	// itself had ended, and were killed.
	Leftover int `json:"leftover,omitempty"`
	// LogDropped is how many bytes of output exceeded Limits.LogBytes.
	LogDropped int64 `json:"log_dropped,omitempty"`
	// OOMKills is how many processes were killed at the memory limit, where
	// the runtime can tell; a command may survive the death of a child.
	OOMKills int `json:"oom_kills,omitempty"`
	// Enforced says by what the runtime kept the command to its limits and apart from
	// the machine, where it has several ways: "memory": "cgroup".
	Enforced map[string]string `json:"enforced,omitempty"`
	// Resumed says that the command was started by an earlier process.
	Resumed bool `json:"resumed,omitempty"`
	// LostServices are those, by name, that a resumed command had no more, since
	// it had taken their ports while nobody served them.
	LostServices []string `json:"lost_services,omitempty"`
}

// OK reports whether the command ended by itself with status 0.
func (e Exit) OK() bool { return e.Reason == Exited && e.Code == 0 }
