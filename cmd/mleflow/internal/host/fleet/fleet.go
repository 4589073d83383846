package fleet

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/remote"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/plan"
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
	// Key signs requests to workers; nil sends none.
	Key ed25519.PrivateKey
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
	pushes, polls *semaphore.Weighted

	// interrupted decides once what becomes of the jobs, and cancels them if they are not
	// to be left.
	interrupted func() (cancelled bool)
}

var _ engine.Elsewhere = (*Fleet)(nil)

// New returns a fleet. It sends no request until it has to.
func New(f *File, opts Options) *Fleet {
	fleet := &Fleet{opts: opts, byName: map[string]*yard{}, pushes: semaphore.NewWeighted(8), polls: semaphore.NewWeighted(16)}
	fleet.interrupted = sync.OnceValue(fleet.cancel)
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
			names := lists.Of(f.yards, func(y *yard) string { return y.Name })
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
func (f *Fleet) Unfit(ctx context.Context, place string, id digest.ActionID, l step.Limits) string {
	y := f.byName[place]
	why := y.unfit(ctx, l)
	if why == "" || id.IsZero() {
		return why
	}
	y.start(ctx)
	if s, _ := y.status(cluster.JobName(id.String())); s.State == cluster.Running {
		return ""
	}
	return why
}

// unfit explains why no node meets the needs of a step; "" if one does, or that is not known.
func (y *yard) unfit(ctx context.Context, l step.Limits) string {
	nodes, err := y.nodes(ctx)
	if err != nil || len(nodes) == 0 {
		return "" // not known
	}
	job, longest := y.ask(l), time.Duration(0)
	needs := job.Needs
	for _, n := range nodes {
		if !n.Has.Hold(needs) {
			continue
		}
		if n.MaxTime == 0 || job.Deadline == 0 || job.Deadline+job.Grace <= n.MaxTime {
			return ""
		}
		longest = max(longest, n.MaxTime)
	}
	if longest > 0 {
		return fmt.Sprintf("its job needs %s (timeout %s, spare %s, grace %s), and a job of the backend %q may run for %s; lower the timeout of the step, or spare or grace in the cluster file, or use a partition with a longer limit",
			short(job.Deadline+job.Grace), short(l.Timeout), short(y.Spare), short(y.Grace), y.Name, short(longest))
	}
	return fmt.Sprintf("it needs %s, and none of the %d nodes of the backend %q has that; the largest has %s", shown(needs), len(nodes), y.Name, shown(largest(nodes)))
}

// overhead is what a job may take beyond the timeout of its step.
func (b *Backend) overhead() time.Duration { return b.Spare + b.Grace }

// short writes a duration without the units that are zero.
func short(d time.Duration) string { return conditions.Limit(d.Round(time.Second)) }

// ask returns what the job of a step with these limits asks for.
func (b *Backend) ask(l step.Limits) cluster.Job {
	job := cluster.Job{
		Needs: cluster.Needs{CPUs: l.CPUs, MemoryBytes: l.MemoryBytes, DiskBytes: l.DiskBytes, GPUs: l.GPUs},
		Grace: b.Grace, Stay: b.Spare / 2, Retries: b.Retries, Preemptible: b.Preemptible,
	}
	if l.Timeout > 0 {
		job.Deadline = l.Timeout + b.Spare
	}
	return job.Without(b.SiteDecides...)
}

// most is how many different requests of steps Examples returns.
const most = 8

// Examples returns jobs that ask for what the steps of a plan ask for on this backend; without
// such a step, for little.
func (b *Backend) Examples(steps []plan.Step) (jobs []cluster.Job) {
	var asked []step.Limits
	for i := range steps {
		if s := &steps[i]; s.On == b.Name && len(asked) < most && !slices.Contains(asked, s.Limits) {
			asked = append(asked, s.Limits)
		}
	}
	if len(asked) == 0 {
		asked = []step.Limits{{CPUs: 1, MemoryBytes: 1 << 30, Timeout: time.Minute}}
	}
	for _, l := range asked {
		job := b.ask(l)
		job.Name, job.Args = cluster.JobName(strings.Repeat("0", 64)), []string{"version"}
		jobs = append(jobs, job)
	}
	return jobs
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

// cancel cancels the jobs unless they are to be left.
func (f *Fleet) cancel() bool {
	jobs := f.Jobs()
	if jobs == 0 || f.opts.Interrupted == nil || !f.opts.Interrupted(jobs) {
		return false
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	for _, y := range f.yards {
		if err := y.Cancel(ctx, y.active()...); err != nil {
			f.opts.Warn(fmt.Sprintf("backend %s: jobs could not be cancelled: %v", y.Name, err))
		}
	}
	return true
}

// errMachines marks failures of the machines, as opposed to those of a step.
var errMachines = errors.New("the machines failed, not the step")

// Swept is what Sweep did.
type Swept struct {
	// Cancelled and Removed count jobs, Cleared the actions whose documents in the
	// remote cache were removed.
	Cancelled int `json:"cancelled"`
	Removed   int `json:"removed"`
	Cleared   int `json:"cleared"`
	// Live is how many jobs wait or run still.
	Live int `json:"live"`
}

// Sweep removes what interrupted runs have left: jobs that have ended, and the
// documents about actions that nobody works on. With cancel, jobs that wait or
// run are cancelled first, whoever started them.
func (f *Fleet) Sweep(ctx context.Context, cancel bool) (s Swept, err error) {
	live := map[string]bool{}
	for _, y := range f.yards {
		y.start(ctx)
		if err := f.sweepYard(ctx, y, cancel, live, &s); err != nil {
			return s, fmt.Errorf("backend %s: %w", y.Name, err)
		}
	}
	ids, err := work.Known(ctx, f.opts.Cache.Desk())
	if err != nil {
		return s, err
	}
	for _, id := range ids {
		if live[cluster.JobName(id.String())] {
			continue
		}
		over := cancel
		if !over {
			if over, err = work.Over(ctx, f.opts.Cache, id); err != nil {
				return s, err
			}
		}
		if over {
			if err := work.Clear(ctx, f.opts.Cache.Desk(), id); err != nil {
				return s, err
			}
			s.Cleared++
		}
	}
	return s, nil
}

func (f *Fleet) sweepYard(ctx context.Context, y *yard, cancel bool, live map[string]bool, s *Swept) error {
	going, over := y.jobs()
	if cancel && len(going) > 0 {
		if err := y.Cancel(ctx, going...); err != nil {
			return err
		}
		late, stop := context.WithTimeout(ctx, y.Grace+30*time.Second)
		defer stop()
		for _, name := range going {
			if err := y.over(late, name); err != nil {
				return fmt.Errorf("job %s has not ended: %w", name, errors.Join(err, ctx.Err()))
			}
		}
		s.Cancelled += len(going)
		going, over = y.jobs()
	}
	for _, name := range going {
		live[name] = true
	}
	s.Live += len(going)
	s.Removed += len(over)
	if len(over) == 0 {
		return nil
	}
	return y.Remove(ctx, over...)
}

// jobs lists the jobs that are known, those that wait or run and those that have
// ended.
func (y *yard) jobs() (going, over []string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for name, s := range y.known {
		switch {
		case s.State == cluster.Gone:
		case s.State.Ended():
			over = append(over, name)
		default:
			going = append(going, name)
		}
	}
	return going, over
}
