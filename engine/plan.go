package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/internal/parallel"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// PlanOptions choose what to plan.
type PlanOptions struct {
	// Targets limit the plan to these addresses (an instance, or a block for
	// all of its instances) and what they depend on; none is everything.
	Targets []addr.Instance
	// Force lists addresses that run even if their result is in the cache.
	Force []addr.Instance
	// Parallelism is the greatest number of steps running at a time that the
	// forecast reckons with; 0 is as many as the resources allow.
	Parallelism int
	// Preflight, when set, has every step that will run and fetches something
	// asked whether it can, and is told. This uses the network.
	Preflight event.Sink
	// askRemote says that results may come from the remote.
	askRemote bool
}

// planned is a plan with what apply needs besides.
type planned struct {
	plan.Plan
	// instance maps a plan step to its instance, and at the other way round
	// (-1 for one that is not selected).
	instance []int
	at       []int
	// decisions are nil for deferred steps.
	decisions []*decision
	// same is the plan step whose action is the same and runs first, or -1.
	same   []int
	forced map[int]bool
	memory memory
	// estimates are the rooms that steps need which are not cached.
	estimates []step.Estimate
}

// Plan says what Apply would do. It touches neither the network, unless a
// preflight is asked for, nor anything that runs steps, and writes nothing.
func (e *Engine) Plan(ctx context.Context, p *Program, opts PlanOptions) (*plan.Plan, diag.List) {
	opts.askRemote = opts.Preflight != nil && e.opts.Remote != nil
	pl, diags := e.plan(ctx, p, opts)
	if pl == nil {
		return nil, diags
	}
	if opts.Preflight != nil && !diags.HasErrors() {
		newRun(e, p, pl, ApplyOptions{Sink: opts.Preflight}).preflight(ctx)
	}
	pl.Forecast = e.forecast(ctx, p, pl, opts.Parallelism)
	return &pl.Plan, diags
}

func (e *Engine) plan(ctx context.Context, p *Program, opts PlanOptions) (*planned, diag.List) {
	selected, diags := selection(p, opts.Targets)
	force, more := addresses(p, opts.Force, "-force")
	if diags = append(diags, more...); diags.HasErrors() {
		return nil, diags
	}
	memory, err := e.memory(p)
	if err != nil {
		return nil, append(diags, diag.Failure("State cannot be read", err))
	}
	pl := newPlanned(p, selected, force, memory)
	first := map[digest.ActionID]int{}
	for from := 0; from < len(pl.Steps); {
		if err := ctx.Err(); err != nil {
			return nil, append(diags, diag.Failure("Interrupted", err))
		}
		to := from + 1
		for to < len(pl.Steps) && pl.Steps[to].Address.Step == pl.Steps[from].Address.Step {
			to++
		}
		diags = append(diags, e.planBlock(ctx, p, pl, from, to, first, opts.askRemote)...)
		from = to
	}
	return pl, diags
}

// planBlock plans the instances of one block, which do not depend on each
// other: those that can be decided are, on all cores, then what they mean for
// the plan is worked out in order.
func (e *Engine) planBlock(ctx context.Context, p *Program, pl *planned, from, to int, first map[digest.ActionID]int, ask bool) (diags diag.List) {
	found := make([]diag.List, to-from)
	parallel.For(to-from, func(i int) { found[i] = e.decideStep(ctx, p, pl, from+i) })
	if ask {
		e.askRemote(ctx, p, pl, from, to)
	}
	for n := from; n < to; n++ {
		if more := found[n-from]; more.HasErrors() {
			if len(diags) <= 20 {
				diags = append(diags, more...)
			}
			continue
		}
		e.planStep(ctx, p, pl, n, first)
	}
	return diags
}

// decideStep decides a step if everything it depends on is known.
func (e *Engine) decideStep(ctx context.Context, p *Program, pl *planned, n int) (diags diag.List) {
	s, i := &pl.Steps[n], pl.instance[n]
	defer func() {
		p.Expect(i, pl.estimates[n].CacheBytes)
		s.Conditions = p.Conditions(i)
	}()
	s.Reasons = pl.undecided(s)
	if len(s.Reasons) == 0 {
		fresh := pl.forced[i] || p.Instances[i].Step.Kind.Volatile
		pl.decisions[n], diags = e.decide(ctx, p, i, fresh)
		if d := pl.decisions[n]; d != nil {
			pl.estimates[n] = d.estimate
		}
		return diags
	}
	var made step.Step
	if p.Known(i) {
		var args step.Args
		made, args, diags = construct(p, i) // so that a mistake is found now
		p.SetConditions(i, step.Conditions(args, made))
	} else {
		p.SetConditions(i, p.Consumed(i))
	}
	pl.estimates[n] = estimate(made, p.Instances[i])
	return diags
}

func newPlanned(p *Program, selected []bool, force map[int]bool, m memory) *planned {
	pl := &planned{forced: force, memory: m, at: make([]int, len(p.Instances))}
	pl.Pipeline = p.Pipeline.Path
	for i, inst := range p.Instances {
		pl.at[i] = -1
		if !selected[i] {
			continue
		}
		pl.at[i] = len(pl.Steps)
		s := plan.Step{Address: inst.Addr, Name: inst.Addr.String(), Kind: inst.Step.Kind.Name}
		if len(inst.Deps) > 0 {
			s.After = make([]int, len(inst.Deps))
			for d, dep := range inst.Deps {
				s.After[d] = pl.at[dep]
			}
		}
		pl.Steps = append(pl.Steps, s)
		pl.instance = append(pl.instance, i)
	}
	pl.decisions = make([]*decision, len(pl.Steps))
	pl.same = make([]int, len(pl.Steps))
	pl.estimates = make([]step.Estimate, len(pl.Steps))
	return pl
}

// planStep works out what the decision on a step means for the plan.
func (e *Engine) planStep(ctx context.Context, p *Program, pl *planned, n int, first map[digest.ActionID]int) {
	s, i, d := &pl.Steps[n], pl.instance[n], pl.decisions[n]
	pl.same[n] = -1
	last := pl.memory.last(s.Name)
	s.ExpectedMillis = last.Duration.Milliseconds()
	if d == nil {
		s.Action = plan.Deferred
		return
	}
	s.ActionID = d.id.String()
	kind := p.Instances[i].Step.Kind
	earlier, twice := first[d.id]
	switch {
	case d.record != nil:
		s.Action, s.Reasons = plan.Cached, []plan.Reason{}
		p.SetOutputs(i, d.record.Outputs)
		return
	case twice && !pl.forced[i] && !kind.Volatile:
		s.Action = plan.Cached
		s.Reasons = []plan.Reason{{Text: fmt.Sprintf("same action as %s, which runs first", pl.Steps[earlier].Name)}}
		pl.same[n] = earlier
		return
	case pl.forced[i]:
		s.Reasons = []plan.Reason{{Text: forced}}
	case kind.Volatile:
		s.Reasons = []plan.Reason{{Text: volatile}}
	default:
		s.Reasons = e.explainMiss(ctx, last.Action, d)
	}
	s.Action = plan.Run
	first[d.id] = n
}

// undecided lists why a step cannot be decided yet: what it depends on will
// run or is itself deferred. At most three are named.
func (pl *planned) undecided(s *plan.Step) []plan.Reason {
	var reasons []plan.Reason
	more := 0
	for _, a := range s.After {
		dep := &pl.Steps[a]
		if dep.Action == plan.Cached && pl.same[a] < 0 {
			continue
		}
		if len(reasons) == 3 {
			more++
			continue
		}
		text := "waits for " + dep.Name + ", which runs"
		if dep.Action == plan.Deferred {
			text = "waits for " + dep.Name + ", which is deferred"
		}
		reasons = append(reasons, plan.Reason{Text: text})
	}
	if more > 0 {
		reasons = append(reasons, plan.Reason{Text: fmt.Sprintf("waits for %d more", more)})
	}
	return reasons
}

// selection marks the targets and everything they depend on.
func selection(p *Program, targets []addr.Instance) ([]bool, diag.List) {
	selected := make([]bool, len(p.Instances))
	if len(targets) == 0 {
		for i := range selected {
			selected[i] = true
		}
		return selected, nil
	}
	roots, diags := addresses(p, targets, "-target")
	for i := range roots {
		selected[i] = true
	}
	// Instances come after what they depend on, so one pass backwards is enough.
	for i := len(selected) - 1; i >= 0; i-- {
		if selected[i] {
			for _, d := range p.Instances[i].Deps {
				selected[d] = true
			}
		}
	}
	return selected, diags
}

// addresses resolves the addresses given with a flag.
func addresses(p *Program, list []addr.Instance, flag string) (map[int]bool, diag.List) {
	found := map[int]bool{}
	var diags diag.List
	for _, a := range list {
		matches := p.Select(a)
		for _, i := range matches {
			found[i] = true
		}
		if matches == nil {
			diags = append(diags, diag.General("Unknown address", "%s %s: the pipeline has no such step.%s", flag, a, nearestAddress(p, a)))
		}
	}
	return found, diags
}

// noInstance says why an address does not name one instance.
func noInstance(p *Program, a addr.Instance) diag.List {
	all := p.Select(a)
	if len(all) == 0 {
		_, diags := addresses(p, []addr.Instance{a}, "explain")
		return diags
	}
	return diag.List{diag.General("Address of several steps", "%s has for_each and so %d instances; name one of them, such as '%s'.", a, len(all), p.Instances[all[0]].Addr)}
}

func nearestAddress(p *Program, a addr.Instance) string {
	var names, keys []string
	for _, s := range p.Pipeline.Steps {
		names = append(names, s.Addr.String())
		if a.HasKey && s.Addr == a.Step {
			names = names[:0]
			for _, i := range p.Select(addr.Single(s.Addr)) {
				names = append(names, p.Instances[i].Addr.String())
				keys = append(keys, p.Instances[i].Addr.Key)
			}
			break
		}
	}
	near := diag.Nearest(a.String(), names)
	if keys != nil { // the keys alone: the rest is the same and would make all of them near
		near = ""
		if key := diag.Nearest(a.Key, keys); key != "" {
			near = addr.Keyed(a.Step, key).String()
		}
	}
	if near != "" {
		return " Did you mean " + near + "?"
	}
	if len(names) > 5 {
		names = append(names[:5:5], "…")
	}
	return " There are: " + strings.Join(names, ", ") + "."
}
