//go:build !linux

package process

import (
	"context"
	"errors"
	"io"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

var errPlatform = errors.New("the process runtime needs Linux")

// Executor refuses: the guarantees of the package rest on Linux.
type Executor struct{}

// New returns an Executor that refuses to run.
func New(string) *Executor { return &Executor{} }

// Runtime returns the runtime "process", which refuses to run.
func Runtime(self string) executor.Runtime {
	return executor.Runtime{Name: "process", Doc: "Needs Linux.", Executor: New(self)}
}

// Run implements executor.Executor.
func (*Executor) Run(context.Context, executor.Spec, io.Writer) (executor.Exit, error) {
	return executor.Exit{}, errPlatform
}
