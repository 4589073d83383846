//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"io"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

var errPlatform = errors.New("the sandbox runtime needs Linux")

// Containers needs Linux.
type Containers any

// Executor always fails, because namespaces need Linux.
type Executor struct{}

// New returns an Executor that always fails.
func New(Options) *Executor { return &Executor{} }

// Runtime returns the runtime "sandbox", which always fails.
func (e *Executor) Runtime() executor.Runtime {
	return executor.Runtime{
		Name: "sandbox", Doc: "Needs Linux.", Isolates: true, Images: true, MapsPaths: true,
		Executor: e, ResolveImage: image.Resolve,
	}
}

// Run implements executor.Executor.
func (*Executor) Run(context.Context, executor.Spec, io.Writer) (executor.Exit, error) {
	return executor.Exit{}, errPlatform
}

// SeccompProfile always fails, because the list of system calls is specific to Linux.
func SeccompProfile() ([]byte, error) { return nil, errPlatform }

// RefusedCalls returns nil.
func RefusedCalls() []string { return nil }
