package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/dag"
	"github.com/mleflow/mleflow/engine/internal/minheap"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
)

// estimate returns the disk space that an instance needs if it runs. s is nil
// while its arguments are unknown. A step that does not estimate its needs adds
// almost nothing to the cache but may use all of resources.disk.
func estimate(s step.Step, inst *config.Instance) step.Estimate {
	est := step.Estimate{Known: s != nil}
	if e, ok := s.(step.Estimator); ok {
		est = e.Estimate()
	}
	if disk := inst.Limits.DiskBytes; disk > est.PeakBytes {
		est.PeakBytes = disk
		if est.Basis != "" {
			est.Basis += ", "
		}
		est.Basis += "resources.disk"
	}
	return est
}

// forecast adds up the needs of the uncached steps. It also sets each step's
// estimate in the plan.
func (e *Engine) forecast(ctx context.Context, pl *planned, parallelism int) *plan.Forecast {
	f := &plan.Forecast{Space: plan.Space{FreeBytes: -1, FreeFiles: -1}}
	if e.opts.Space != nil {
		if space, err := e.opts.Space(ctx); err == nil {
			f.Space = space
		}
	}
	m := model{}
	var needs []float64
	index := make([]int, len(pl.nodes))
	for i, n := range pl.nodes {
		s, est := n.plan, n.estimate
		index[i] = -1
		if s.Action == plan.Cached || s.Action == plan.Unneeded {
			continue
		}
		index[i] = len(m)
		f.Steps++
		if !est.Known {
			f.Unknown++
		}
		if est.Known && est.Bytes() > 0 || est.PeakBytes > 0 {
			s.Estimate = &plan.Estimate{CacheBytes: est.CacheBytes, PeakBytes: est.PeakBytes, Files: est.Files, Basis: est.Basis, Unknown: !est.Known}
			needs = append(needs, n.Limits.CPUs)
		}
		m = append(m, modelled{s, est, n.Step.Kind.Results, nil})
		for _, a := range s.After { // predecessors outside the model are ignored
			if index[a] >= 0 {
				m[len(m)-1].after = append(m[len(m)-1].after, index[a])
			}
		}
		f.Files += est.Files
	}
	f.Parallel = parallelSteps(needs, e.opts.Capacity, parallelism)
	m.fill(f)
	f.AvailableBytes = availableSpace(f.Space)
	judge(f)
	return f
}

// parallelSteps returns how many of the steps that need space can run at once.
func parallelSteps(cpus []float64, c sched.Capacity, parallelism int) int {
	n := len(cpus)
	if parallelism > 0 {
		n = min(n, parallelism)
	}
	if c.CPUs <= 0 {
		return n
	}
	slices.Sort(cpus)
	sum := 0.0
	for i, need := range cpus[:n] {
		if sum += need; sum > c.CPUs {
			return max(1, i)
		}
	}
	return n
}

// availableSpace returns the number of bytes that can be added: the rest of the
// disk or of the quota, whichever is less, or -1 if neither is known.
func availableSpace(s plan.Space) int64 {
	left := s.FreeBytes
	if s.QuotaBytes > 0 {
		if q := max(0, s.QuotaBytes-s.UsedBytes); left < 0 || q < left {
			left = q
		}
	}
	return left
}

// spaceEvicting returns the space that is available if the whole cache is
// evicted.
func spaceEvicting(s plan.Space) int64 {
	left := int64(-1)
	if s.FreeBytes >= 0 {
		left = s.FreeBytes + s.UsedBytes
	}
	if s.QuotaBytes > 0 && (left < 0 || s.QuotaBytes < left) {
		left = s.QuotaBytes
	}
	return left
}

// judge compares the needed space with the available space.
func judge(f *plan.Forecast) {
	switch evicting := spaceEvicting(f.Space); {
	case f.Space.FreeFiles >= 0 && f.Files > f.Space.FreeFiles:
		f.Verdict = plan.TooLarge
		f.Warning = fmt.Sprintf("%d files will be added, but the file system can hold only %d more; use another disk, or one formatted with more inodes", f.Files, f.Space.FreeFiles)
	case f.AvailableBytes < 0:
		f.Verdict = plan.Unlimited
	case f.PeakBytes <= f.AvailableBytes:
		f.Verdict = plan.Fits
	case f.NeedBytes <= f.AvailableBytes:
		f.Verdict = plan.Waits
		f.Warning = "steps will wait for each other's disk space"
	case f.NeedBytes <= evicting:
		f.Verdict = plan.Evicts
		f.Warning = "older results must be evicted from the cache; pinned results and those in use stay, so there may still be too little space"
	default:
		f.Verdict = plan.TooLarge
		f.Warning = tooLarge(f, evicting)
	}
}

// tooLarge describes the missing space and the remedies.
func tooLarge(f *plan.Forecast, evicting int64) string {
	text := fmt.Sprintf("%s too little, even with an empty cache: ", sched.Bytes(f.NeedBytes-evicting))
	if f.Space.QuotaBytes > 0 && evicting == f.Space.QuotaBytes {
		return text + "raise MLEFLOW_CACHE_QUOTA, or run fewer steps at a time with -target"
	}
	return text + "put the cache on a larger disk with --cache-dir, or run fewer steps at a time with -target"
}

// model is a graph of steps with their use of space.
type model []modelled

type modelled struct {
	*plan.Step
	step.Estimate
	prompt bool // see sched.Task
	after  []int
}

func (m model) graph() (*dag.Graph, error) {
	return dag.FromAfter(lists.Of(m, func(one modelled) []int { return one.after }))
}

// fill computes the sums and bounds of a forecast.
func (m model) fill(f *plan.Forecast) {
	graph, err := m.graph()
	if err != nil {
		return // plans have no cycles
	}
	for i := range m {
		f.CacheBytes += m[i].CacheBytes
	}
	var at int
	if f.PeakBytes, at = m.bound(graph, f.CacheBytes, f.Parallel); at >= 0 {
		f.PeakStep = m[at].Name
	}
	if f.NeedBytes, at = m.bound(graph, f.CacheBytes, 1); at >= 0 {
		f.NeedStep = m[at].Name
	}
	f.Order = m.order(graph)
}

// bound returns a number of bytes that is never exceeded, for any order and any
// durations, if at most parallel steps run at a time. It also returns the step
// that holds most of it beyond the cache, or -1.
//
// While a set R of steps runs, nothing that depends on one of them has added to
// the cache. So the cache holds at most the total minus the dependents of r,
// the member of R with the most after it; the other members have no more after
// them than r. The dependents of a step need at least their heaviest chain, and
// that is subtracted. The bound is exact for independent steps and, one at a
// time, for chains.
func (m model) bound(graph *dag.Graph, total int64, parallel int) (int64, int) {
	later := graph.Longest(func(i int) int64 { return m[i].CacheBytes })
	order := make([]int, 0, len(m))
	for i := range m {
		later[i] -= m[i].CacheBytes
		if m[i].PeakBytes > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(later[a], later[b]) })
	most, at := total, -1
	var others int64 // sum of the parallel-1 largest peaks so far
	top := minheap.New(cmp.Less[int64])
	widest := -1
	for _, i := range order {
		held := total - later[i] + m[i].PeakBytes + others
		if widest < 0 || m[i].PeakBytes > m[widest].PeakBytes {
			widest = i
		}
		if held > most {
			most, at = held, widest
		}
		others += m[i].PeakBytes
		if top.Push(m[i].PeakBytes); top.Len() >= max(1, parallel) {
			others -= top.Pop()
		}
	}
	return most, at
}

// maxOrder is the maximum number of steps in the order of a forecast.
const maxOrder = 1000

// order simulates the steps one at a time, starting with the longest chain as
// the scheduler does. It returns the steps that need space, with the space held
// while each runs.
func (m model) order(graph *dag.Graph) (list []plan.Held) {
	chain := graph.Longest(func(i int) int64 { return max(m[i].ExpectedMillis, 1)*1e6 + 1 }) // as in the scheduler: nanoseconds, plus one per step
	for i := range m {
		if m[i].prompt {
			chain[i] = math.MaxInt64
		}
	}
	var held int64
	graph.Walk(func(a, b int) bool { return chain[a] > chain[b] || chain[a] == chain[b] && a < b }, func(i int) bool {
		held += m[i].CacheBytes
		if m[i].CacheBytes+m[i].PeakBytes > 0 {
			list = append(list, plan.Held{Name: m[i].Name, Bytes: held + m[i].PeakBytes})
		}
		return len(list) < maxOrder
	})
	return list
}

// copies adds up the copies of a plan's uncached steps. A shared copy counts
// once, or not at all if it already exists. nil means that there are none.
func (e *Engine) copies(pl *planned) *plan.Copies {
	var sum plan.Copies
	shared, unknown := map[digest.ContentID]bool{}, map[string]bool{}
	for _, n := range pl.nodes {
		if n.plan.Action == plan.Cached {
			continue
		}
		for _, c := range n.copies {
			files, bytes := c.Ref.Files, c.Ref.Size
			switch {
			case c.Ref.IsZero():
				if !c.Shared || !unknown[c.Name] {
					sum.Unknown++
					sum.Why = c.Why
				}
				unknown[c.Name] = true
			case c.Shared && shared[c.Ref.ID]:
				files, bytes = 0, 0
			case c.Shared:
				shared[c.Ref.ID] = true
				files, bytes = e.opts.Cache.ShareCost(c.Ref)
			}
			if files > 0 {
				sum.Copies++
				sum.Why = c.Why
			}
			sum.Files += files
			sum.Bytes += bytes
		}
	}
	if sum == (plan.Copies{}) {
		return nil
	}
	return &sum
}
