package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/zclconf/go-cty/cty/function"

	"github.com/mleflow/mleflow/competitions/grading/confined"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
	"github.com/mleflow/mleflow/plugins/sandbox/pyenv"
	"github.com/mleflow/mleflow/plugins/transfer/source"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/all"
	"github.com/mleflow/mleflow/steps/python"
)

// parts are the concrete things that the engine knows by contract only.
type parts struct {
	kinds     *step.Registry
	functions map[string]function.Function
	runtimes  *executor.Registry
}

// concretes makes them. It is called once a command.
func (a *app) concretes() (*parts, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the running program: %w", err)
	}
	catalog, err := a.catalog()
	if err != nil {
		return nil, err
	}
	sources, err := a.sources()
	if err != nil {
		return nil, err
	}
	adopt, err := a.network.adopted()
	if err != nil {
		return nil, err
	}
	folder, err := a.cacheFolder()
	if err != nil {
		return nil, err
	}
	forbidden, err := a.forbidden()
	if err != nil {
		return nil, err
	}
	containers := containerd.New(containerd.Options{Self: self})
	sandboxes := sandbox.New(sandbox.Options{Self: self, Dir: filepath.Join(folder, "sandbox")})
	runtimes, err := a.runtimes(process.Runtime(self), sandboxes.Runtime(), containers.Runtime())
	if err != nil {
		return nil, err
	}
	return &parts{
		kinds: step.NewRegistry(all.Kinds(all.Deps{
			Catalog:   catalog,
			Judge:     newJudge(process.New(self), self),
			Sources:   source.NewRegistry(sources...),
			Adopt:     adopt,
			Mirror:    a.mirror(),
			Offline:   a.network.offline,
			Runtimes:  runtimes,
			Auto:      a.env(agentrun.AutoVariable),
			Forbidden: forbidden,
			Leavable:  &a.interrupts.attempts,
			Builds:    containers.Machine(),
			Private:   []string{folder},
			Commands:  process.New(self),
			Self:      self,
		})...),
		functions: functions(catalog), runtimes: runtimes,
	}, nil
}

// runtimes lists what runs agents. Whether one can be used here is found out
// once, when it is first asked.
func (a *app) runtimes(process, sandbox, container executor.Runtime) (*executor.Registry, error) {
	m, err := a.machine()
	if err != nil {
		return nil, err
	}
	sandbox.Available, container.Available = sync.OnceValue(m.SandboxHere), sync.OnceValue(m.ContainerdHere)
	list := executor.NewRegistry(process, sandbox, container)
	if name := a.env(agentrun.AutoVariable); name != "" {
		if _, err := list.Get(name); err != nil {
			return nil, usagef("%s: %w", agentrun.AutoVariable, err)
		}
	}
	return list, nil
}

// programs runs metrics that are programs, outside pipelines.
func programs() *process.Executor {
	self, err := os.Executable()
	if err != nil {
		self = "" // the running program, as Linux names it
	}
	return process.New(self)
}

// packages places the environment of a metric that is a program, outside pipelines. It
// says on standard error what it does.
func (a *app) packages(ctx context.Context, r pyenv.Requirements, dir string) (venv string, release func() error, err error) {
	store, err := a.openCache()
	if err != nil {
		return "", nil, err
	}
	b := python.Builder{
		Store: store, WorkDir: dir, Offline: a.network.offline, Locks: true,
		Say: func(line string) { fmt.Fprintln(a.stderr, "packages of the metric: "+line) },
	}
	venv, done, err := b.Place(ctx, r)
	if err != nil {
		return "", nil, errors.Join(err, store.Close())
	}
	return venv, func() error { return errors.Join(done(), store.Close()) }, nil
}

// grader reads submissions outside pipelines.
func (a *app) grader() *confined.Judge { return newJudge(programs(), "").WithPackages(a.packages) }

// newJudge returns what reads submissions, with ex for metrics that are
// programs. self is this program.
func newJudge(ex executor.Executor, self string) *confined.Judge {
	machine := sched.Machine()
	return confined.New(metric.All(), ex, self, confined.Machine{CPUs: machine.CPUs, Memory: machine.MemoryBytes})
}
