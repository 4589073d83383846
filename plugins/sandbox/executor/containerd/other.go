//go:build !linux

package containerd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

// LogCommand is the sub-command of the binary that calls Log.
const LogCommand = "container-log"

var errPlatform = errors.New("the containerd runtime needs Linux")

// Executor always fails, because containers need Linux.
type Executor struct{}

// New returns an Executor that always fails.
func New(Options) *Executor { return &Executor{} }

// Runtime returns the runtime "containerd", which always fails.
func (e *Executor) Runtime() executor.Runtime {
	return executor.Runtime{
		Name: "containerd", Doc: "Needs Linux.", Isolates: true, Images: true, MapsPaths: true,
		Executor: e, ResolveImage: image.Resolve,
	}
}

// Run implements executor.Executor.
func (*Executor) Run(context.Context, executor.Spec, io.Writer) (executor.Exit, error) {
	return executor.Exit{}, errPlatform
}

// ProgramImage always fails.
func (*Executor) ProgramImage(context.Context, string, string) (string, error) {
	return "", errPlatform
}

// Reaches always fails.
func (*Executor) Reaches(context.Context, string, string, string) ([]string, error) {
	return nil, errPlatform
}

// Close does nothing.
func (*Executor) Close() error { return nil }

// ResolveImage implements image.Machine.
func (*Executor) ResolveImage(name string) (string, error) { return image.Resolve(name) }

// ExportImage implements image.Machine.
func (*Executor) ExportImage(context.Context, string, io.Writer) error { return errPlatform }

// BuildLayer implements image.Machine.
func (*Executor) BuildLayer(context.Context, image.Run, io.Writer, io.Writer) error {
	return errPlatform
}

// Log returns 2.
func Log([]string) int {
	fmt.Fprintln(os.Stderr, errPlatform)
	return 2
}
