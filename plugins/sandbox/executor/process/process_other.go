//go:build !linux

package process

import (
	"context"
	"errors"
	"io"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

var errPlatform = errors.New("the process runtime needs Linux")

// Executor always fails, because the package's guarantees depend on Linux.
type Executor struct{}

// New returns an Executor that always fails.
func New(string) *Executor { return &Executor{} }

// Runtime returns the runtime "process", which always fails.
func Runtime(self string) executor.Runtime {
	return executor.Runtime{Name: "process", Doc: "Needs Linux.", Executor: New(self)}
}

// Run implements executor.Executor.
func (*Executor) Run(context.Context, executor.Spec, io.Writer) (executor.Exit, error) {
	return executor.Exit{}, errPlatform
}
