package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/zclconf/go-cty/cty/function"

	"github.com/mleflow/mleflow/competitions/grading/confined"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
	"github.com/mleflow/mleflow/plugins/transfer/source"
	"github.com/mleflow/mleflow/steps/all"
)

// parts are the concrete things that the engine knows by contract only.
type parts struct {
	kinds     *step.Registry
	functions map[string]function.Function
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
	containers := containerd.New(containerd.Options{Self: self})
	sandboxes := sandbox.New(sandbox.Options{Self: self, Dir: filepath.Join(folder, "sandbox")})
	return &parts{
		kinds: step.NewRegistry(all.Kinds(all.Deps{
			Catalog:  catalog,
			Judge:    newJudge(process.New(self), self),
			Sources:  source.NewRegistry(sources...),
			Adopt:    adopt,
			Mirror:   a.mirror(),
			Runtimes: executor.NewRegistry(process.Runtime(self), sandboxes.Runtime(), containers.Runtime()),
			Builds:   containers.Machine(),
			Private:  []string{folder},
			Commands: process.New(self),
			Self:     self,
		})...),
		functions: functions(catalog),
	}, nil
}

// programs runs metrics that are programs, outside pipelines.
func programs() *process.Executor {
	self, err := os.Executable()
	if err != nil {
		self = "" // the running program, as Linux names it
	}
	return process.New(self)
}

// newJudge returns what reads submissions, with ex for metrics that are
// programs. self is this program.
func newJudge(ex executor.Executor, self string) *confined.Judge {
	machine := sched.Machine()
	return confined.New(metric.All(), ex, self, confined.Machine{CPUs: machine.CPUs, Memory: machine.MemoryBytes})
}
