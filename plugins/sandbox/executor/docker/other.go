//go:build !linux

package docker

import (
	"context"
	"errors"
	"io"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
)

var errPlatform = errors.New("the docker runtime needs Linux: containers elsewhere run in a virtual machine, which shares neither sockets nor this machine's files")

// Executor always fails, because containers need Linux.
type Executor struct{}

// New returns an Executor that always fails.
func New(Options) *Executor { return &Executor{} }

// Runtime returns the runtime "docker", which always fails.
func (e *Executor) Runtime() executor.Runtime {
	return executor.Runtime{
		Name: "docker", Doc: "Needs Linux.", Isolates: true, Images: true, MapsPaths: true,
		Executor: e, ResolveImage: image.Resolve,
	}
}

// Run implements executor.Executor.
func (*Executor) Run(context.Context, executor.Spec, io.Writer) (executor.Exit, error) {
	return executor.Exit{}, errPlatform
}

// Server is what is known of a server.
type Server struct{ Socket, By, Name string }

// Open always fails.
func Open(context.Context, string, string) (*Server, error) { return nil, errPlatform }

// Close does nothing.
func (*Server) Close() error { return nil }

// Limits returns "".
func (*Server) Limits() string { return "" }

// Users returns "".
func (*Server) Users() string { return "" }
