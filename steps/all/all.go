// Package all lists the step kinds. A kind that is not listed here does not
// exist; a test checks that it lists every folder next to it.
package all

import (
	"io"
	"os"
	"sync"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions/program"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	builder "github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/transfer/source"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/agentrun/checkpoint"
	"github.com/mleflow/mleflow/steps/aggregate"
	"github.com/mleflow/mleflow/steps/check"
	"github.com/mleflow/mleflow/steps/checksum"
	"github.com/mleflow/mleflow/steps/download"
	"github.com/mleflow/mleflow/steps/draw"
	"github.com/mleflow/mleflow/steps/exec"
	"github.com/mleflow/mleflow/steps/export"
	"github.com/mleflow/mleflow/steps/grade"
	"github.com/mleflow/mleflow/steps/holdout"
	"github.com/mleflow/mleflow/steps/image"
	"github.com/mleflow/mleflow/steps/modelblock"
	"github.com/mleflow/mleflow/steps/prepare"
	"github.com/mleflow/mleflow/steps/python"
	"github.com/mleflow/mleflow/steps/sketch"
	"github.com/mleflow/mleflow/steps/task"
)

// Deps are what the kinds need. Only the program's main packages fill it.
type Deps struct {
	// Deps are those of agent-run, of which other kinds need some. Pools is set here.
	agentrun.Deps
	Sources *source.Registry
	// Commands runs the commands of exec steps.
	Commands executor.Executor
	// Programs runs preparations that are Python.
	Programs executor.Executor
	// Builds runs the commands of image steps; nil if that is not supported.
	Builds builder.Machine
	// Private are folders that never get into an image, such as the cache.
	Private []string
	// Adopt is a data directory of the reference from which data are taken, or "". For
	// texts it may also be a checkout of the reference.
	Adopt string
	// Mirror is the URL of a mirror from which texts are taken, or "". For data, the
	// sources use it.
	Mirror string
	// Offline means that steps must not use the network.
	Offline bool
}

// Kinds returns the step kinds, sorted by name.
func Kinds(d Deps) []step.Kind {
	d.Pools = &modelblock.Pools{}
	isolated, _ := d.Runtimes.Get("sandbox") // without it, packages are installed by this user
	d.Packages = func(env *step.Env) program.Packages { return python.Packages(env, d.Offline, isolated) }
	return []step.Kind{
		agentrun.Kind(d.Deps),
		aggregate.Kind(d.Catalog),
		check.Kind(d.Catalog, d.Pools),
		checksum.Kind(d.Catalog),
		download.Kind(download.Deps{Catalog: d.Catalog, Sources: d.Sources, Adopt: d.Adopt}),
		draw.Kind(d.Catalog),
		exec.Kind(d.Commands),
		export.Kind(export.Deps{Catalog: d.Catalog, Grader: d.Grader, Program: sync.OnceValues(func() (digest.ContentID, error) { return programDigest(d.Self) })}),
		grade.Kind(grade.Deps{Catalog: d.Catalog, Grader: d.Grader, Offline: d.Offline, Sandbox: isolated}),
		holdout.Kind(d.Catalog),
		image.Kind(image.Deps{Machine: d.Builds, Private: d.Private}),
		prepare.Kind(prepare.Deps{Catalog: d.Catalog, Programs: d.Programs, Packages: d.Packages}),
		python.Kind(d.Offline, isolated, d.Private...),
		sketch.Kind(d.Catalog),
		task.Kind(task.Deps{Catalog: d.Catalog, Sources: d.Sources, Adopt: d.Adopt, Mirror: d.Mirror}),
	}
}

// programDigest returns the digest of a program; "" is the running one.
func programDigest(path string) (id digest.ContentID, err error) {
	if path == "" {
		if path, err = os.Executable(); err != nil {
			return id, err
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return id, err
	}
	defer f.Close()
	w := digest.NewWriter()
	_, err = io.Copy(w, f)
	return w.ID(), err
}

// Varying returns the kinds of records that cannot be reproduced.
func Varying() []string {
	names := []string{checkpoint.Kind}
	for _, kind := range Kinds(Deps{Deps: agentrun.Deps{Runtimes: executor.NewRegistry()}, Sources: source.NewRegistry()}) {
		if kind.Varies {
			names = append(names, kind.Name)
		}
	}
	return names
}
