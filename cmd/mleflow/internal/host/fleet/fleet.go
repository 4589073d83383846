package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/engine/work"
	"github.com/mleflow/mleflow/plugins/cluster"
)

// Options configure a fleet.
type Options struct {
	// Cache is the cache of this machine with the remote one behind it.
	Cache *remote.Tier
	// Address is the address of the remote cache, for workers.
	Address string
	// Version is that of the program.
	Version string
	// Folders are what workers need besides the arguments of a step; their content
	// is in the cache.
	Folders []work.Folder
	// Interrupted decides whether so many jobs are to be cancelled when the run is
	// interrupted; otherwise they go on. It is called at most once.
	Interrupted func(jobs int) (cancel bool)
	// Warn tells people of something that does not stop the run.
	Warn func(text string)
}

// Fleet runs steps on the backends of a cluster file. It implements
// engine.Elsewhere.
type Fleet struct {
	opts   Options
	yards  []*yard
	byName map[string]*yard
	// pushes limits how many orders are placed at a time, polls how many are asked
	// after.
	pushes, polls chan struct{}

	decide   sync.Once
	cancelIt bool
}

var _ engine.Elsewhere = (*Fleet)(nil)

// New returns a fleet. It sends no request until it has to.
func New(f *File, opts Options) *Fleet {
	fleet := &Fleet{opts: opts, byName: map[string]*yard{}, pushes: make(chan struct{}, 8), polls: make(chan struct{}, 16)}
	for _, b := range f.Backends {
		y := newYard(b, opts.Warn)
		fleet.yards = append(fleet.yards, y)
		fleet.byName[b.Name] = y
	}
	return fleet
}

// Close stops watching. Jobs go on.
func (f *Fleet) Close() {
	for _, y := range f.yards {
		y.close()
	}
}

// Place implements engine.Elsewhere.
func (f *Fleet) Place(kind, on string) (*engine.Place, error) {
	if on != "" {
		y := f.byName[on]
		if y == nil {
			var names []string
			for _, y := range f.yards {
				names = append(names, y.Name)
			}
			return nil, fmt.Errorf("on = %q names no backend of the cluster file.%s Write %q for this machine, or one of: %s",
				on, diag.DidYouMean(on, names), engine.Here, strings.Join(names, ", "))
		}
		return y.place, nil
	}
	for _, y := range f.yards {
		if slices.Contains(y.Runs, kind) {
			return y.place, nil
		}
	}
	return nil, nil
}

// Unfit implements engine.Elsewhere.
func (f *Fleet) Unfit(ctx context.Context, place string, l step.Limits) string {
	y := f.byName[place]
	nodes, err := y.nodes(ctx)
	if err != nil || len(nodes) == 0 {
		return "" // not known
	}
	needs, longest := needsOf(l), time.Duration(0)
	for _, n := range nodes {
		if !n.Has.Hold(needs) {
			continue
		}
		if n.MaxTime == 0 || l.Timeout == 0 || l.Timeout+y.overhead() <= n.MaxTime {
			return ""
		}
		longest = max(longest, n.MaxTime)
	}
	if longest > 0 {
		return fmt.Sprintf("its job needs %s (timeout %s, spare %s, grace %s), and a job of the backend %q may run for %s; lower the timeout of the step, or spare or grace in the cluster file, or use a partition with a longer limit",
			short(l.Timeout+y.overhead()), short(l.Timeout), short(y.Spare), short(y.Grace), place, short(longest))
	}
	return fmt.Sprintf("it needs %s, and none of the %d nodes of the backend %q has that; the largest has %s", shown(needs), len(nodes), place, shown(largest(nodes)))
}

// overhead is what a job may take beyond the timeout of its step.
func (b *Backend) overhead() time.Duration { return b.Spare + b.Grace }

// short writes a duration without the units that are zero.
func short(d time.Duration) string { return conditions.Limit(d.Round(time.Second)) }

func needsOf(l step.Limits) cluster.Needs {
	return cluster.Needs{CPUs: l.CPUs, MemoryBytes: l.MemoryBytes, DiskBytes: l.DiskBytes, GPUs: l.GPUs}
}

// largest has the most of each that a node has.
func largest(nodes []cluster.Node) (most cluster.Needs) {
	for _, n := range nodes {
		most.CPUs, most.GPUs = max(most.CPUs, n.Has.CPUs), max(most.GPUs, n.Has.GPUs)
		most.MemoryBytes, most.DiskBytes = max(most.MemoryBytes, n.Has.MemoryBytes), max(most.DiskBytes, n.Has.DiskBytes)
	}
	return most
}

func shown(n cluster.Needs) string {
	parts := []string{fmt.Sprintf("%g CPUs", n.CPUs)}
	if n.MemoryBytes > 0 {
		parts = append(parts, fmt.Sprintf("%.4g GiB of memory", float64(n.MemoryBytes)/(1<<30)))
	}
	if n.DiskBytes > 0 {
		parts = append(parts, fmt.Sprintf("%.4g GiB of disk", float64(n.DiskBytes)/(1<<30)))
	}
	if n.GPUs > 0 {
		parts = append(parts, fmt.Sprintf("%d GPUs", n.GPUs))
	}
	return strings.Join(parts, ", ")
}

// Jobs is how many wait or run.
func (f *Fleet) Jobs() (n int) {
	for _, y := range f.yards {
		n += len(y.active())
	}
	return n
}

// interrupted decides once what becomes of the jobs, and cancels them if they
// are not to be left.
func (f *Fleet) interrupted() (cancelled bool) {
	f.decide.Do(func() {
		jobs := f.Jobs()
		if jobs == 0 || f.opts.Interrupted == nil || !f.opts.Interrupted(jobs) {
			return
		}
		f.cancelIt = true
		ctx, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		for _, y := range f.yards {
			if err := y.Cancel(ctx, y.active()...); err != nil {
				f.opts.Warn(fmt.Sprintf("backend %s: jobs could not be cancelled: %v", y.Name, err))
			}
		}
	})
	return f.cancelIt
}

// errMachines marks failures of the machines, as opposed to those of a step.
var errMachines = errors.New("the machines failed, not the step")
