package app

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

// Parts are the concrete things that the engine knows by contract only.
type Parts struct {
	Kinds     *step.Registry
	Functions map[string]function.Function
	Runtimes  *executor.Registry
}

// Concretes makes them. It is called once a command.
func (a *App) Concretes() (*Parts, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the running program: %w", err)
	}
	catalog, err := a.Catalog()
	if err != nil {
		return nil, err
	}
	sources, err := a.sources()
	if err != nil {
		return nil, err
	}
	adopt, err := a.Network.adopted()
	if err != nil {
		return nil, err
	}
	folder, err := a.CacheFolder()
	if err != nil {
		return nil, err
	}
	forbidden, err := a.forbidden()
	if err != nil {
		return nil, err
	}
	containers := containerd.New(containerd.Options{Self: self})
	isolated, err := a.sandboxed(self)
	if err != nil {
		return nil, err
	}
	runtimes, err := a.runtimes(process.Runtime(self), isolated, containers.Runtime())
	if err != nil {
		return nil, err
	}
	return &Parts{
		Kinds: step.NewRegistry(all.Kinds(all.Deps{
			Deps: agentrun.Deps{
				Catalog:   catalog,
				Grader:    NewGrader(executor.Enclosed{Sandbox: isolated, Otherwise: process.New(self)}, self),
				Runtimes:  runtimes,
				Auto:      a.Env(agentrun.AutoVariable),
				Fork:      a.Fork,
				Self:      self,
				Forbidden: forbidden,
				Leavable:  &a.Interrupts.attempts,
				Free:      sched.FreeDisk,
			},
			Sources:  source.NewRegistry(sources...),
			Adopt:    adopt,
			Mirror:   a.mirror(),
			Offline:  a.Network.Offline,
			Builds:   containers.Machine(),
			Private:  []string{folder},
			Commands: process.New(self),
		})...),
		Functions: map[string]function.Function{"competitions": competitionsFunc(catalog)}, Runtimes: runtimes,
	}, nil
}

// sandboxed returns the runtime "sandbox", with self as its program. Whether it can be
// used here is found out once, when it is first asked.
func (a *App) sandboxed(self string) (rt executor.Runtime, err error) {
	folder, err := a.CacheFolder()
	if err != nil {
		return rt, err
	}
	m, err := a.Machine()
	if err != nil {
		return rt, err
	}
	options := sandbox.Options{Self: self, Dir: filepath.Join(folder, "sandbox")}
	if dir, err := filepath.Abs(a.folder); err == nil && a.folder != "" {
		options.Private = []string{dir}
	}
	rt = sandbox.New(options).Runtime()
	rt.Available = sync.OnceValue(m.SandboxHere)
	return rt, nil
}

// runtimes lists what runs agents.
func (a *App) runtimes(process, sandbox, container executor.Runtime) (*executor.Registry, error) {
	m, err := a.Machine()
	if err != nil {
		return nil, err
	}
	container.Available = sync.OnceValue(m.ContainerdHere)
	list := executor.NewRegistry(process, sandbox, container)
	if name := a.Env(agentrun.AutoVariable); name != "" {
		if _, err := list.Get(name); err != nil {
			return nil, Usagef("%s: %w", agentrun.AutoVariable, err)
		}
	}
	return list, nil
}

// Programs runs metrics that are programs, outside pipelines.
func (a *App) Programs() executor.Executor {
	self, err := os.Executable()
	if err != nil {
		self = "" // the running program, as Linux names it
	}
	isolated, _ := a.sandboxed(self) // without a folder for it there is none
	return executor.Enclosed{Sandbox: isolated, Otherwise: process.New(self)}
}

// Packages places the environment of a metric that is a program, outside pipelines. It
// says on standard error what it does.
func (a *App) Packages(ctx context.Context, r pyenv.Requirements, dir string) (venv string, release func() error, err error) {
	isolated, err := a.sandboxed("")
	if err != nil {
		return "", nil, err
	}
	store, err := a.OpenCache()
	if err != nil {
		return "", nil, err
	}
	b := python.Builder{
		Store: store, WorkDir: dir, Offline: a.Network.Offline, Sandbox: isolated, Locks: true,
		Say: func(line string) { fmt.Fprintln(a.Stderr, "packages of the metric: "+line) },
	}
	venv, done, err := b.Place(ctx, r)
	if err != nil {
		return "", nil, errors.Join(err, store.Close())
	}
	return venv, func() error { return errors.Join(done(), store.Close()) }, nil
}

// Grader reads submissions outside pipelines.
func (a *App) Grader() *confined.Grader { return NewGrader(a.Programs(), "").WithPackages(a.Packages) }

// NewGrader returns what reads submissions, with ex for metrics that are
// programs. self is this program.
func NewGrader(ex executor.Executor, self string) *confined.Grader {
	machine := sched.Machine()
	return confined.New(metric.All(), ex, self, confined.Machine{CPUs: machine.CPUs, Memory: machine.MemoryBytes})
}
