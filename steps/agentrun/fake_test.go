package agentrun_test

import (
	"context"
	"io"

	"github.com/mleflow/mleflow/plugins/executor"
)

// failing is a machine that fails.
type failing struct{ err error }

func (f failing) Run(context.Context, executor.Spec, io.Writer) (executor.Exit, error) {
	return executor.Exit{}, f.err
}

// recording keeps the spec it is given.
type recording struct{ seen chan<- executor.Spec }

func (r recording) Run(_ context.Context, spec executor.Spec, _ io.Writer) (executor.Exit, error) {
	r.seen <- spec
	return executor.Exit{Reason: executor.Exited}, nil
}
