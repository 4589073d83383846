package agentrun_test

import (
	"context"
	"io"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
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

// machine is a runtime whose commands outlive the process that started them.
// Its command is a function.
type machine struct {
	command func(executor.Spec) error
	// die, if it is set, is called instead of waiting for the command: the process
	// that runs the step is killed.
	die func()
	// leave, if it is set, is called once the command runs: then it is left.
	leave func()

	running map[string]executor.Spec
	resumed []bool
}

func (m *machine) runtime() executor.Runtime {
	return executor.Runtime{Name: "process", Doc: "x", Isolates: true, MapsPaths: true, Resumes: true, Executor: m, Left: m.left}
}

func (m *machine) left(_ context.Context, id string) (bool, error) {
	_, ok := m.running[id]
	return ok, nil
}

func (m *machine) Run(ctx context.Context, spec executor.Spec, logs io.Writer) (executor.Exit, error) {
	found, resumed := m.running[spec.ID]
	m.resumed = append(m.resumed, resumed)
	if !resumed {
		m.running[spec.ID], found = spec, spec
	}
	_, _ = io.WriteString(logs, "started\n")
	if m.die != nil {
		m.die()
	}
	if m.leave != nil {
		m.leave()
		m.leave = nil
		return executor.Exit{}, context.Cause(ctx)
	}
	err := m.command(found)
	delete(m.running, spec.ID)
	if err != nil {
		return executor.Exit{}, err
	}
	return executor.Exit{Reason: executor.Exited, Resumed: resumed}, ctx.Err()
}

// mortal is a cache whose process may die: then what is let go of is kept, as
// it is where nobody lets go.
type mortal struct {
	cache.Cache
	dead bool
}

func (m *mortal) Keep(ctx context.Context, key string) (string, func(bool) error, error) {
	dir, release, err := m.Cache.Keep(ctx, key)
	if err != nil {
		return "", nil, err
	}
	return dir, func(keep bool) error { return release(keep || m.dead) }, nil
}

func (m *mortal) Kept(ctx context.Context) ([]cache.Kept, error) {
	return m.Cache.Kept(ctx)
}
