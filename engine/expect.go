package engine

import (
	"time"

	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
)

// expectation predicts the end of a run from the durations of steps in this run
// and, according to the run history, in earlier ones.
//
// A step is expected to take as long as last time. A step that has not run
// before is expected to take the mean of its block, in this run if possible.
// The run takes as long as its longest chain of steps, or as long as the work
// needs on the existing resources, whichever is more.
type expectation struct {
	r *run
	// took has the mean durations by block in this run, before those from the
	// run history.
	took, before map[addr.Step]mean
	// began has the start times of running steps. ended has the steps that have
	// ended.
	began map[*node]time.Time
	ended map[*node]bool
	// reported is the time of the last emitted event. known reports whether the end
	// was known then.
	reported time.Time
	known    bool
}

// mean is a sum and the number of its terms.
type mean struct {
	sum time.Duration
	n   int
}

func (m mean) plus(d time.Duration) mean { return mean{m.sum + d, m.n + 1} }

// expectEvery is the minimum interval between two events with the expected end.
const expectEvery = time.Second

func newExpectation(r *run) *expectation {
	x := &expectation{r: r, took: map[addr.Step]mean{}, before: map[addr.Step]mean{}, began: map[*node]time.Time{}, ended: map[*node]bool{}}
	for _, n := range r.pl.nodes {
		if n.plan.Action == plan.Cached {
			x.ended[n] = true
		}
		if n.plan.ExpectedMillis > 0 {
			x.before[n.Addr.Step] = x.before[n.Addr.Step].plus(time.Duration(n.plan.ExpectedMillis) * time.Millisecond)
		}
	}
	return x
}

func (x *expectation) start(n *node, at time.Time) { x.began[n] = at }

// end records the end of a step. took is zero unless it was executed.
func (x *expectation) end(n *node, took time.Duration) {
	x.ended[n] = true
	delete(x.began, n)
	if took > 0 {
		x.took[n.Addr.Step] = x.took[n.Addr.Step].plus(took)
	}
}

// of returns the expected duration of a step. It returns false if it is
// unknown.
func (x *expectation) of(n *node) (time.Duration, bool) {
	if n.plan.ExpectedMillis > 0 {
		return time.Duration(n.plan.ExpectedMillis) * time.Millisecond, true
	}
	m := x.took[n.Addr.Step]
	if m.n == 0 {
		m = x.before[n.Addr.Step]
	}
	if m.n == 0 {
		return 0, false
	}
	return m.sum / time.Duration(m.n), true
}

// left returns the remaining time of the run and the number of steps with an
// unknown duration. ok is false if all durations are unknown.
func (x *expectation) left(at time.Time) (left time.Duration, unknown int, ok bool) {
	c := x.r.e.opts.Capacity
	chains := make([]time.Duration, len(x.r.pl.nodes))
	var longest, slots, cpus, memory, gpus float64
	for _, n := range x.r.pl.nodes {
		for _, a := range n.after {
			chains[n.at] = max(chains[n.at], chains[a.at])
		}
		if x.ended[n] {
			continue
		}
		takes, known := x.of(n)
		if !known {
			unknown++
			continue
		}
		ok = true
		if began, running := x.began[n]; running {
			takes = max(0, takes-at.Sub(began))
		}
		chains[n.at] += takes
		longest = max(longest, float64(chains[n.at]))
		if n.place != nil {
			continue // the capacity of other machines is unknown
		}
		l := n.Limits
		slots += float64(takes)
		cpus += float64(takes) * l.CPUs
		memory += float64(takes) * float64(l.MemoryBytes)
		gpus += float64(takes) * float64(l.GPUs)
	}
	longest = max(longest, per(slots, float64(x.r.opts.Parallelism)), per(cpus, c.CPUs), per(memory, float64(c.MemoryBytes)), per(gpus, float64(len(c.Devices))))
	return time.Duration(longest), unknown, ok
}

// per returns the time that an amount of work takes. Without a capacity there
// is no limit, so it returns zero.
func per(work, capacity float64) float64 {
	if capacity <= 0 {
		return 0
	}
	return work / capacity
}

// report emits the expected end unless it has just been emitted.
func (x *expectation) report() {
	at := time.Now().UTC()
	if at.Sub(x.reported) < expectEvery {
		return
	}
	x.reported = at
	left, unknown, ok := x.left(at)
	if !ok && !x.known {
		return
	}
	x.known = ok
	e := event.ExpectedEnd{At: event.At{Time: at}, Unknown: unknown}
	if ok {
		e.End = at.Add(left).Round(time.Millisecond)
	}
	x.r.sink.Emit(e)
}

// blocksOf returns the step blocks of the plan, in order.
func blocksOf(p *plan.Plan) (blocks []event.Block) {
	for n := range p.Steps {
		name := p.Steps[n].Address.Step.String()
		if last := len(blocks) - 1; last >= 0 && blocks[last].Block == name {
			blocks[last].Steps++
			continue
		}
		blocks = append(blocks, event.Block{Block: name, Steps: 1})
	}
	return blocks
}
