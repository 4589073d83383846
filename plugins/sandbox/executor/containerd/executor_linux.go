package containerd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

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
	made   image.Programs
}

// New returns the runtime's Executor. It connects to the daemon at first use.
func New(opts Options) *Executor { return &Executor{opts: opts.withDefaults()} }

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
