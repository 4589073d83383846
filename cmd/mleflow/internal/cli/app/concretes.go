package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/zclconf/go-cty/cty/function"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/host/machine"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/submitted"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading/confined"
	"github.com/mleflow/mleflow/competitions/program"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/breach"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/docker"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
	"github.com/mleflow/mleflow/plugins/sandbox/pyenv"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/all"
	"github.com/mleflow/mleflow/steps/python"
)

// Parts are the concrete things that the engine knows by contract only.
type Parts struct {
	Kinds     *step.Registry
	Functions map[string]function.Function
	Runtimes  *executor.Registry
	// Benchmark is config.Options.Benchmark.
	Benchmark func(step.Benchmark) (arg string, err error)
}

// Concretes makes them. It is called once a command.
func (a *App) Concretes() (*Parts, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the running program: %w", err)
	}
	catalog, errCatalog := a.Catalog()
	sources, adopt, errSources := a.sources(a.Submitted.Allowed())
	isolated, m, errMachine := a.sandboxed(self)
	if err := cmp.Or(errCatalog, errSources, errMachine); err != nil {
		return nil, err
	}
	forbidden, err := a.forbidden(m)
	if err != nil {
		return nil, err
	}
	containers := containerd.New(containerd.Options{Self: self})
	contained, auto := containers.Runtime(), a.Env(agentrun.AutoVariable)
	contained.Available = sync.OnceValue(m.ContainerdHere)
	served := docker.New(docker.Options{Options: sandbox.Options{
		Self: self, Dir: filepath.Join(disk.SandboxDir(m.CacheDir), "docker"), Processors: filepath.Join(m.CacheDir, "sandbox", "cpus"), Private: []string{m.CacheDir},
	}}).Runtime()
	served.Available = sync.OnceValue(m.DockerHere)
	runtimes := executor.NewRegistry(process.Runtime(self), isolated, contained, served)
	if _, err := runtimes.Get(auto); auto != "" && err != nil {
		return nil, Usagef("%s: %w", agentrun.AutoVariable, err)
	}
	var otherwise, commands executor.Executor = process.New(self), process.New(self)
	private := []string{m.CacheDir}
	if a.Submitted != nil {
		private = nil // the rules let only files of the submission into images
		if !a.Submitted.HostCode {
			otherwise, commands = submitted.NoHost{}, submitted.NoHost{}
		}
	}
	programs := executor.Enclosed{Sandbox: isolated, Otherwise: otherwise}
	kinds := all.Kinds(all.Deps{
		Deps: agentrun.Deps{
			Catalog:   catalog,
			Grader:    NewGrader(programs, self),
			Runtimes:  runtimes,
			Auto:      auto,
			Fork:      a.Fork,
			Thief:     a.Thief,
			Self:      self,
			Forbidden: forbidden,
			Leavable:  &a.Interrupts.attempts,
			Free:      sched.FreeDisk,
			OOMKills:  sched.NewProbe("/").OOMKills,
			NoExec:    sync.OnceValue(m.NoExec),
		},
		Sources:  sources,
		Adopt:    adopt,
		Mirror:   a.mirror(),
		Offline:  a.Network.Offline,
		Builds:   containers,
		Private:  private,
		Commands: commands,
		Programs: programs,
	})
	if a.Submitted != nil {
		kinds = a.Submitted.Kinds(kinds)
	}
	return &Parts{
		Kinds:     step.NewRegistry(kinds...),
		Functions: competitionFunctions(catalog), Runtimes: runtimes,
		Benchmark: func(b step.Benchmark) (arg string, err error) {
			_, arg, err = board.NewBenchmark(b, catalog)
			return arg, err
		},
	}, nil
}

// sandboxed returns the runtime "sandbox", with self as its program. Whether it can be
// used on the machine, which it returns, too, is found out once, when it is first asked.
func (a *App) sandboxed(self string) (rt executor.Runtime, m machine.Machine, err error) {
	if m, err = a.Machine(); err != nil {
		return rt, m, err
	}
	options := sandbox.Options{Self: self, Dir: disk.SandboxDir(m.CacheDir), Processors: filepath.Join(m.CacheDir, "sandbox", "cpus"), Private: []string{m.CacheDir}}
	if dir, err := filepath.Abs(a.folder); err == nil && a.folder != "" {
		options.Private = append(options.Private, dir)
	}
	rt = sandbox.New(options).Runtime()
	rt.Available = sync.OnceValue(m.SandboxHere)
	return rt, m, nil
}

// Programs runs metrics that are programs, outside pipelines.
func (a *App) Programs() executor.Executor {
	self, err := os.Executable()
	if err != nil {
		self = "" // the running program, as Linux names it
	}
	isolated, _, _ := a.sandboxed(self) // without a folder for it there is none
	return executor.Enclosed{Sandbox: isolated, Otherwise: process.New(self)}
}

// ProgramMachine is what programs that come with competitions need, outside pipelines.
func (a *App) ProgramMachine() program.Machine {
	return program.Machine{Executor: a.Programs(), Packages: a.Packages}
}

// Packages places the environment of a metric that is a program, outside pipelines. It
// says on standard error what it does.
func (a *App) Packages(ctx context.Context, r pyenv.Requirements, dir string) (venv string, release func() error, err error) {
	isolated, _, err := a.sandboxed("")
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

// Machine is the one that mleflow runs on.
func (s *Store) Machine() (m machine.Machine, err error) {
	self, err := os.Executable()
	if err != nil {
		return m, fmt.Errorf("find the running program: %w", err)
	}
	folder, err := s.CacheFolder()
	home, _ := os.UserHomeDir()
	try := sync.OnceValue(func() executor.Availability { return machine.TrySandbox(self, disk.SandboxDir(folder)) })
	return machine.Machine{Root: "/", Home: home, Env: s.Env, CacheDir: folder, UID: os.Geteuid(), Sandbox: try, Refused: sandbox.RefusedCalls}, err
}

// forbidden lists what is tried from inside agents' sandboxes before they start.
// It is nil where mleflow is neither a worker nor in a container: then the
// network around it is the person's own.
func (a *App) forbidden(m machine.Machine) (func(context.Context) (*breach.Targets, func() error, error), error) {
	if a.Thief != nil || !a.IsWorker && !m.InContainer() {
		return nil, nil
	}
	loc, err := a.RemoteLocation("")
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*breach.Targets, func() error, error) {
		return breach.Around(ctx, breach.Machine{Env: os.Environ(), Remote: loc.Server()})
	}, nil
}
