package engine

import (
	"slices"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// node is one step of a plan: an instance of the program, its entry in the
// plan, and its progress in an apply.
type node struct {
	*config.Instance
	// index is the instance's index in the program. at is the node's index in
	// the plan.
	index, at int
	// plan is the step's entry in the plan that is shown to people.
	plan *plan.Step
	// after are the nodes on which it depends.
	after []*node
	// place is the place where it runs. nil is this machine.
	place *Place
	// forced means that the user asked for it to run.
	forced bool
	// retried means that it runs again because of its result; see Retry.
	retried bool
	// decision is nil while the step is deferred.
	decision *decision
	// same is an earlier step with the same action that runs first, or nil.
	same *node
	// estimate is the disk space that it needs unless it is cached.
	estimate step.Estimate
	// copies are the copies that it makes first, unless it is cached.
	copies []step.Copy

	// skipped is the reason why a condition leaves it out, or "".
	skipped string
	// refused is the reason why an apply does not start it, or nil.
	refused error
	// task is its index in the schedule, or -1 if it is not scheduled.
	task int
	// outcome is the outcome of its last try at its place.
	outcome Outcome
	// ended means that its end was reported.
	ended bool
	// found means that another process did the work in the meantime.
	found bool
}

// on returns the name of its place, or "" for this machine.
func (n *node) on() string {
	if n.place == nil {
		return ""
	}
	return n.place.Name
}

// counted reports whether the step is an attempt, which is counted and can be steered.
func (n *node) counted() bool { return n.Step.Kind.Counted != nil }

// fresh reports whether the step must not use an earlier result.
func (n *node) fresh() bool {
	return n.forced || n.retried || n.Step.Kind.Volatile || n.decision != nil && n.decision.again != ""
}

// mayRepeat reports whether the step runs although nobody asked for that.
func (n *node) mayRepeat(d *decision) bool { return d.record == nil && d.ignored == "" && !n.fresh() }

// cached reports whether its outputs are already known to the plan.
func (n *node) cached() bool { return n.plan.Action == plan.Cached && n.same == nil }

// steered is how people steered the attempt that has the node's result.
func (n *node) steered() string {
	if d := n.decision; d != nil && d.record != nil {
		return d.record.Tries.Steered
	}
	return ""
}

// idle reports whether there is nothing to do for it.
func (n *node) idle() bool { return n.cached() || n.plan.Action == plan.Unneeded }

// decide records the step's decision. A step without a result needs space.
func (n *node) decide(d *decision) {
	n.decision, n.plan.Agent, n.plan.Choices, n.plan.Observed = d, d.agent, d.choices, d.observed
	if d.record == nil {
		n.demands(d.demand)
	}
}

// demands records what the step needs if it runs.
func (n *node) demands(d demand) {
	n.estimate, n.copies = d.estimate, d.copies
	n.plan.Spending, n.plan.Missing, n.plan.Unmasked, n.plan.OnLoss = d.spending, d.missing, d.unmasked, d.onLoss
}

// planned is a plan with additional data for apply.
type planned struct {
	plan.Plan
	// p is the program with what the plan and its run know.
	p *Program
	// nodes are the steps in the order of the plan.
	nodes []*node
	// byIndex maps an instance to its node, or to nil if it is not selected.
	byIndex []*node
	// memory is nil without a run history.
	memory *history.Pipeline
	// rounds is the progress of the evaluation, or nil without one.
	rounds *rounds
	// conflicts are the publications that an apply refuses.
	conflicts diag.List
	// writes are the publications that may write a path.
	writes []*config.Publication
}

// spread forces or retries the steps that would use an earlier result of an action that
// another step runs again: an action has one result in a run. It reports whether there
// are any.
func (pl *planned) spread(opts *PlanOptions) (found bool) {
	runs := map[digest.ActionID]*node{}
	for _, n := range pl.nodes {
		if n.plan.Action == plan.Run && (n.forced || n.retried) {
			runs[n.decision.id] = n
		}
	}
	for _, n := range pl.nodes {
		if !n.cached() || runs[n.decision.id] == nil {
			continue
		}
		found = true
		if runs[n.decision.id].forced {
			opts.Force = append(slices.Clip(opts.Force), n.Addr)
			continue
		}
		opts.again[n.index] = true
	}
	return found
}

// dependents returns, for each step, those that depend directly on it.
func (pl *planned) dependents() map[*node][]*node {
	all := map[*node][]*node{}
	for _, n := range pl.nodes {
		for _, dep := range n.after {
			all[dep] = append(all[dep], n)
		}
	}
	return all
}

// newPlanned lists the selected instances. All are undecided.
func newPlanned(p *Program, selected []bool, force map[int]bool, m *history.Pipeline) *planned {
	count := 0
	for _, s := range selected {
		if s {
			count++
		}
	}
	pl := &planned{p: p, memory: m, nodes: make([]*node, 0, count), byIndex: make([]*node, len(p.Instances))}
	pl.Pipeline, pl.Benchmarks = p.Pipeline.Path, p.Benchmarks()
	if count > 0 { // a nil list would become null in JSON
		pl.Steps = make([]plan.Step, 0, count)
	}
	all := make([]node, count)
	for i, inst := range p.Instances {
		if !selected[i] {
			continue
		}
		n := &all[len(pl.nodes)]
		*n = node{Instance: inst, index: i, at: len(pl.nodes), forced: force[i], task: -1}
		s := plan.Step{Address: inst.Addr, Name: inst.Addr.String(), Kind: inst.Step.Kind.Name, Names: p.Names(i)}
		if len(inst.Deps) > 0 {
			s.After, n.after = make([]int, len(inst.Deps)), make([]*node, len(inst.Deps))
			for d, dep := range inst.Deps {
				n.after[d] = pl.byIndex[dep]
				s.After[d] = n.after[d].at
			}
		}
		pl.byIndex[i] = n
		pl.nodes = append(pl.nodes, n)
		pl.Steps = append(pl.Steps, s)
	}
	for i, n := range pl.nodes {
		n.plan = &pl.Steps[i]
	}
	return pl
}
