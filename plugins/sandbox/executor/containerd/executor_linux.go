package containerd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/leases"
	"github.com/containerd/containerd/v2/pkg/namespaces"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// dialTimeout limits the time to connect to the daemon.
const dialTimeout = 5 * time.Second

// Executor runs commands in containers.
type Executor struct {
	opts Options

	mu     sync.Mutex
	client *client.Client
	images sync.Map // digest → *sync.Mutex: one import at a time

	programs image.Programs
}

// New returns the runtime's Executor. It connects to the daemon at first use.
func New(opts Options) *Executor {
	opts = opts.withDefaults()
	return &Executor{opts: opts, programs: image.Programs{Dir: filepath.Join(opts.StateDir, "images")}}
}

// Runtime returns the runtime "containerd".
func (e *Executor) Runtime() executor.Runtime {
	return executor.Runtime{
		Name: "containerd",
		Doc: "Runs the command in a container of its own, with nothing of the machine but what the step mounts, " +
			"no network and no privileges. Needs root, containerd and runc.",
		Isolates: true, Images: true, MapsPaths: true, Resumes: true,
		Executor: e, ResolveImage: image.Resolve, ProgramImage: e.ProgramImage, Volume: e.Volume, Sweep: e.Sweep, Left: e.left, End: e.end,
	}
}

// Close closes the connection to the daemon.
func (e *Executor) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.client == nil {
		return nil
	}
	err := e.client.Close()
	e.client = nil
	return err
}

// connect returns the client and a context in the runtime's namespace.
func (e *Executor) connect(ctx context.Context) (context.Context, *client.Client, error) {
	ctx = namespaces.WithNamespace(ctx, e.opts.Namespace)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.client != nil {
		return ctx, e.client, nil
	}
	if os.Geteuid() != 0 {
		return ctx, nil, fmt.Errorf("use containerd: it needs root, and this is user %d; run mleflow with sudo, or choose the runtime \"process\"", os.Geteuid())
	}
	if err := listening(ctx, e.opts.Socket); err != nil {
		return ctx, nil, fmt.Errorf("connect to containerd: %w%s", err, remedy(err))
	}
	c, err := client.New(e.opts.Socket, client.WithTimeout(dialTimeout), client.WithDefaultNamespace(e.opts.Namespace))
	if err != nil {
		return ctx, nil, fmt.Errorf("connect to containerd at %s: %w", e.opts.Socket, err)
	}
	if err := os.MkdirAll(e.opts.StateDir, 0o711); err != nil {
		c.Close()
		return ctx, nil, fmt.Errorf("make the runtime's folder: %w", err)
	}
	e.client = c
	return ctx, c, nil
}

// remedy returns advice on how to make a connection possible.
func remedy(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "; install it (apt-get install containerd runc) and start its service, or name its socket in CONTAINERD_ADDRESS"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "; the daemon does not run: systemctl start containerd"
	case errors.Is(err, fs.ErrPermission):
		return "; run mleflow as root"
	}
	return ""
}

// runName names a run. It is the name of the run's folder and a prefix of its
// container's name.
func runName(spec executor.Spec) string { return namePrefix + spec.RunName() }

// The parts of a run's name: a prefix and 24 digits.
const (
	namePrefix = "mleflow-"
	nameLength = len(namePrefix) + 24
)

func (e *Executor) runDir(name string) string { return filepath.Join(e.opts.StateDir, "runs", name) }

// lease protects what is created in ctx from the daemon's garbage collector until
// something refers to it, for at most leaseAge. Sweep ends the leases of dead processes
// earlier.
func (e *Executor) lease(ctx context.Context, c *client.Client) (context.Context, func(), error) {
	ctx, release, err := c.WithLease(ctx, leases.WithRandomID(), leases.WithExpiration(leaseAge),
		leases.WithLabel(labelOwner, claim.Self()))
	if err != nil {
		return ctx, nil, fmt.Errorf("lease: %w", err)
	}
	return ctx, func() { _ = release(context.WithoutCancel(ctx)) }, nil
}

// runcShim is containerd's shim for every program with runc's commands.
const runcShim = "io.containerd.runc.v2"

// ProgramImage builds an image of one static program; see executor.Runtime. It is kept
// by the digest of the program until Sweep finds it unused.
func (e *Executor) ProgramImage(ctx context.Context, program, name string) (string, error) {
	return e.programs.Build(ctx, program, name)
}

// handler returns the shim and its options for the name of a handler. A full name such
// as "io.containerd.runsc.v1" is used unchanged, and "runc" is the usual shim. Any
// other name is a program in PATH with runc's commands, such as runsc, or nvidia for
// nvidia-container-runtime.
func handler(name string) (shim string, opts any, err error) {
	switch {
	case name == "" || name == "runc":
		return runcShim, nil, nil
	case strings.Count(name, ".") >= 2:
		return name, nil, nil
	}
	program := name
	if name == "nvidia" {
		program = "nvidia-container-runtime"
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return "", nil, fmt.Errorf("find runtime handler %q: %w (install %s, or give the full name of a shim)", name, err, program)
	}
	return runcShim, &options.Options{BinaryName: path}, nil
}
