package sandbox

import (
	"context"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/first"
)

// Containers are the containers of a server in which first processes live, where this
// package does not make namespaces for them. All containers of a run have its name.
type Containers interface {
	// Place gets what a command needs of the server: the image, which open reads if the
	// server lacks it, in a new folder.
	Place(ctx context.Context, spec executor.Spec, open func(dir string) (v1.Image, error), dir string) (Place, error)
	// Start starts a container with this program as its first process, and returns its ID.
	Start(ctx context.Context, c Container) (id string, err error)
	// Running reports whether a container runs.
	Running(ctx context.Context, id string) (bool, error)
	// Failure is the reason why a container ended without a word, "" if none is known.
	// OutOfMemory reports whether the kernel killed something in it at its memory limit.
	Failure(ctx context.Context, id string) string
	OutOfMemory(ctx context.Context, id string) bool
	// Remove kills and removes the containers of a run. Runs names the runs that have any.
	Remove(ctx context.Context, run string) error
	Runs(ctx context.Context) ([]string, error)
}

// Place is what a server offers to a command.
type Place struct {
	// Image is the server's name of the image; Env and WorkingDir are its configuration.
	Image      string
	Env        []string
	WorkingDir string
	// Volumes are the paths that the image declares as volumes.
	Volumes []string
	// User is the command's user in the container, and Host the user of the machine who
	// acts as that; nil means that its files are the caller's already.
	User first.IDs
	Host *first.IDs
	// Memory, CPUs and Processes report which limits the server enforces.
	Memory, CPUs, Processes bool
	// Devices reports whether the server reads the descriptions of devices itself.
	Devices bool
	// Held names the mechanisms of the isolation.
	Held map[string]string
}

// Container is a container to be started.
type Container struct {
	Place
	// Run is the run's name, and Dir its folder.
	Run, Dir string
	Spec     executor.Spec
	Plan     *first.Plan
	// Self is the program, and Door the socket that it finds at the path in its variable
	// first.Variable.
	Self, Door string
}
