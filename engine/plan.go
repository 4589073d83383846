package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/cache"
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
	// Targets limits the plan to these addresses (an instance, or a block with
	// all its instances) and their dependencies. An empty list selects
	// everything.
	Targets []addr.Instance
	// Force lists addresses that run even if their result is in the cache.
	Force []addr.Instance
	// Retry, if set, chooses further steps that run again, like those in Force.
	Retry *Retry
	// Parallelism is the maximum number of concurrent steps that the forecast
	// assumes. 0 means as many as the resources allow.
	Parallelism int
	// Preflight, if set, receives the result of asking every step that will run
	// and fetches something whether it can. This uses the network.
	Preflight event.Sink
	// Rounds, if set, starts the pipeline's evaluation. A plan with targets has
	// none: what is named runs.
	Rounds func() Rounds
	// Exact plans as Apply does, which asks the remote cache, and settles what is known of
	// deferred steps, for a plan that is saved and compared.
	Exact bool
	// Done, if set, reports whether a run did a part of the same plan: what it made is
	// neither forced nor tried again.
	Done func(run string) bool
	// Repeats says what becomes of results that nothing written makes stale.
	Repeats Repeats
	// pins restrict the choices that are left to the machine.
	pins pins
	// askRemote allows results from the remote cache.
	askRemote bool
	// again has the instances that Retry chose.
	again map[int]bool
}

// Retry chooses steps to run again by the results that a plan would take from
// the cache.
type Retry struct {
	// Named are addresses that the user named.
	Named []addr.Instance
	// Choose returns the indexes of the steps to run again.
	Choose func(steps []Past) ([]int, diag.List)
}

// Past is a step of a plan with its result.
type Past struct {
	*plan.Step
	// Record is nil if there is none.
	Record *cache.Record
	// Named reports whether Retry.Named contains it.
	Named bool
}

// chosen returns the instances that Retry chooses to run again.
func (pl *planned) chosen(p *Program, r *Retry) (map[int]bool, diag.List) {
	named, diags := addresses(p, r.Named, "-retry")
	if diags.HasErrors() {
		return nil, diags
	}
	steps := make([]Past, len(pl.nodes))
	for i, n := range pl.nodes {
		steps[i] = Past{Step: n.plan, Named: named[n.index]}
		if n.decision != nil {
			steps[i].Record = n.decision.record
		}
	}
	list, diags := r.Choose(steps)
	again := make(map[int]bool, len(list))
	for _, at := range list {
		again[pl.nodes[at].index] = true
	}
	return again, diags
}

// Plan reports what Apply would do. It runs no step and writes nothing. It uses
// no network, unless a preflight is requested. A kind may look at the machine
// to settle a choice; see step.Kind.Choose.
func (e *Engine) Plan(ctx context.Context, p *Program, opts PlanOptions) (*plan.Plan, diag.List) {
	opts.askRemote = (opts.Preflight != nil || opts.Exact) && e.opts.Remote != nil
	ctx = p.within(ctx)
	pl, diags := e.plan(ctx, p, opts)
	if pl == nil {
		return nil, diags
	}
	if opts.Preflight != nil && !diags.HasErrors() {
		newRun(e, pl, ApplyOptions{Sink: opts.Preflight}).preflight(ctx)
	}
	pl.Forecast = e.forecast(ctx, pl, opts.Parallelism)
	pl.Copies = e.copies(pl)
	if !diags.HasErrors() {
		for _, n := range pl.nodes {
			if n.place != nil && !n.cached() {
				n.plan.On, n.plan.Limits, n.plan.Unfit = n.place.Name, n.Limits, e.unfit(ctx, n, digest.ActionID{})
			}
			if n.place == nil && !n.cached() {
				n.plan.Unfit = e.unfitHere(n)
			}
		}
		pl.Publish, _ = e.planPublications(ctx, pl, opts.askRemote)
	}
	return &pl.Plan, diags
}

// plan makes a plan, which has its own copy of the program: nothing that an earlier plan
// or run knew.
func (e *Engine) plan(ctx context.Context, p *Program, opts PlanOptions) (*planned, diag.List) {
	p = p.fresh()
	p.pins = opts.pins
	targets, diags := addresses(p, opts.Targets, "-target")
	selected := p.reach(func(i int) bool { return len(opts.Targets) == 0 || targets[i] })
	force, more := addresses(p, opts.Force, "-force")
	if diags = append(diags, more...); diags.HasErrors() {
		return nil, diags
	}
	memory, err := e.memory(p)
	if err != nil {
		return nil, append(diags, diag.Failure("State cannot be read", err))
	}
	pl := newPlanned(p, selected, force, memory)
	for _, n := range pl.nodes {
		n.retried = opts.again[n.index]
	}
	planner := &planner{e: e, p: p, pl: pl, askRemote: opts.askRemote, opts: opts, first: map[digest.ActionID]*node{}}
	found := planner.run(ctx, pl.nodes)
	if opts.Retry != nil && !found.HasErrors() {
		if opts.again, more = pl.chosen(p, opts.Retry); len(opts.again) > 0 && !more.HasErrors() {
			opts.Retry = nil
			return e.plan(ctx, p, opts)
		}
		found = append(found, more...)
	}
	if !found.HasErrors() && pl.spread(&opts) {
		return e.plan(ctx, p, opts)
	}
	if opts.Rounds != nil && len(opts.Targets) == 0 && !found.HasErrors() {
		found = append(found, planner.startRounds(ctx, opts.Rounds)...)
	}
	pl.SumRepeats()
	planner.renames(ctx)
	return pl, append(diags, found...)
}

// planner decides the steps of a plan.
type planner struct {
	e         *Engine
	p         *Program
	pl        *planned
	askRemote bool
	opts      PlanOptions
	// first has the first step that runs for each action.
	first map[digest.ActionID]*node
}

func (b *planner) run(ctx context.Context, nodes []*node) (diags diag.List) {
	for len(nodes) > 0 {
		if err := ctx.Err(); err != nil {
			return append(diags, diag.Failure("Interrupted", err))
		}
		to := 1
		for to < len(nodes) && nodes[to].Addr.Step == nodes[0].Addr.Step {
			to++
		}
		diags = append(diags, b.block(ctx, nodes[:to])...)
		nodes = nodes[to:]
	}
	return diags
}

// block plans the instances of one block, which do not depend on each other. It
// first decides them on all cores, and then applies the decisions to the plan
// in order.
func (b *planner) block(ctx context.Context, nodes []*node) (diags diag.List) {
	found := make([]diag.List, len(nodes))
	parallel.For(len(nodes), func(i int) { found[i] = b.decide(ctx, nodes[i]) })
	if b.askRemote {
		b.e.askRemote(ctx, b.p, nodes)
	}
	for i, n := range nodes {
		if more := found[i]; more.HasErrors() {
			if len(diags) <= 20 {
				diags = append(diags, more...)
			}
			continue
		}
		b.settle(ctx, n)
		if n.cached() {
			diags = append(diags, b.p.Postconditions(n.index)...)
		}
	}
	return diags
}

// decide decides a step if all its dependencies are known.
func (b *planner) decide(ctx context.Context, n *node) (diags diag.List) {
	p, i := b.p, n.index
	if diags := b.e.checkPlace(p, i); diags.HasErrors() {
		return diags
	}
	why, diags := p.Skip(i, false)
	if diags.HasErrors() {
		return diags
	}
	if n.skipped = why; why != "" {
		return nil
	}
	n.place = b.e.place(n.Instance)
	defer func() {
		p.Expect(i, n.estimate.CacheBytes)
		n.plan.Conditions = p.Conditions(i)
	}()
	n.plan.Reasons = undecided(n)
	if len(n.plan.Reasons) == 0 {
		b.e.forgo(ctx, p, n, b.opts.Done)
		d, diags := b.e.decide(ctx, p, i, n.fresh())
		if d != nil {
			n.decide(d)
		}
		return diags
	}
	var made constructed
	if p.Known(i) {
		made, diags = construct(p, i, b.e.settling(n.Instance)) // finds mistakes early
		p.SetConditions(i, step.Conditions(made.args, made.Step))
		if b.opts.Exact && !diags.HasErrors() {
			n.plan.Settled = settled(n.Step.Kind, made)
		}
	} else {
		p.SetConditions(i, p.Consumed(i))
	}
	n.plan.Agent, n.plan.Choices = made.args.Text("agent", "name"), made.choices
	n.demands(b.e.demand(ctx, n.Instance, made.Step))
	return diags
}

// settle applies the decision on a step to the plan.
func (b *planner) settle(ctx context.Context, n *node) {
	s, d := n.plan, n.decision
	if n.skipped != "" {
		s.Action, s.Reasons = plan.Unneeded, []plan.Reason{{Text: n.skipped}}
		return
	}
	last := b.pl.last(n.index)
	s.ExpectedMillis = last.Duration.Milliseconds()
	if d == nil {
		s.Action = plan.Deferred
		return
	}
	s.ActionID = d.id.String()
	if n.mayRepeat(d) && b.first[d.id] == nil {
		b.e.repeat(ctx, b.pl, n, d, b.opts.Repeats)
		s.ActionID, s.Observed, s.Choices = d.id.String(), d.observed, d.choices
	}
	earlier := b.first[d.id]
	switch {
	case earlier != nil:
		if d.record != nil { // not this one: it runs again
			if d, _ := b.e.decide(ctx, b.p, n.index, true); d != nil {
				n.decide(d)
			}
			n.decision.record = nil
		}
		s.Action = plan.Cached
		s.Reasons = []plan.Reason{{Text: fmt.Sprintf("same key as %s, which runs first", earlier.plan.Name)}}
		n.same = earlier
		return
	case d.record != nil:
		s.Action, s.Reasons, s.Made = plan.Cached, []plan.Reason{}, d.record.Run
		known(b.p, n.index, d.record)
		s.Conditions = b.p.Conditions(n.index)
		return
	case n.retried:
		s.Reasons = []plan.Reason{{Text: retried}}
	case n.forced:
		s.Reasons = []plan.Reason{{Text: forced}}
	case d.again != "":
		s.Reasons = []plan.Reason{{Text: d.again}}
	case n.fresh():
		s.Reasons = []plan.Reason{{Text: volatile}}
	case d.ignored != "":
		s.Reasons = []plan.Reason{{Text: d.ignored}}
	case s.Repeats == nil:
		s.Reasons = b.e.explainMiss(ctx, b.p, n.index, last.Action, d)
	}
	s.Action = plan.Run
	b.first[d.id] = n
}

// undecided lists the reasons why a step cannot be decided yet: dependencies
// that will run or are deferred themselves. It names at most three.
func undecided(n *node) []plan.Reason {
	var reasons []plan.Reason
	more := 0
	for _, dep := range n.after {
		if dep.idle() {
			continue
		}
		if len(reasons) == 3 {
			more++
			continue
		}
		text := "waits for " + dep.plan.Name + ", which runs"
		if dep.plan.Action == plan.Deferred {
			text = "waits for " + dep.plan.Name + ", which is deferred"
		}
		reasons = append(reasons, plan.Reason{Text: text})
	}
	if more > 0 {
		reasons = append(reasons, plan.Reason{Text: fmt.Sprintf("waits for %d more", more)})
	}
	return reasons
}

// reach marks the chosen instances and everything they depend on. Instances come after
// their dependencies, so one backward pass is enough.
func (p *Program) reach(chosen func(i int) bool) []bool {
	reached := make([]bool, len(p.Instances))
	for i := len(reached) - 1; i >= 0; i-- {
		if reached[i] = reached[i] || chosen(i); reached[i] {
			for _, d := range p.Instances[i].Deps {
				reached[d] = true
			}
		}
	}
	return reached
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

// noInstance explains why an address does not name exactly one instance.
func noInstance(p *Program, a addr.Instance) diag.List {
	all := p.Select(a)
	if len(all) == 0 {
		_, diags := addresses(p, []addr.Instance{a}, "explain")
		return diags
	}
	return diag.List{diag.General("Address of several steps", "%s has for_each, so it has %d instances; name one of them, such as '%s'.", a, len(all), p.Instances[all[0]].Addr)}
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
	if keys != nil { // compares only the keys: the common rest would make all names similar
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
