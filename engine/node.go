package engine

import (
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// node is one step of a plan: an instance of the program, what the plan says
// about it, and how far an apply has got with it.
type node struct {
	*config.Instance
	// index is the instance's index in the program, and at the node's index in the
	// plan.
	index, at int
	// plan is the step in the plan that people see.
	plan *plan.Step
	// after are the nodes it depends on.
	after []*node
	// place is where it runs; nil is this machine.
	place *Place
	// forced says that the user asked for it to run.
	forced bool
	// retried says that it runs again for its result; see Retry.
	retried bool
	// decision is nil while the step is deferred.
	decision *decision
	// same is the step with the same action that runs first; nil if there is none.
	same *node
	// estimate is the disk space it needs unless it is cached.
	estimate step.Estimate
	// copies are what it copies before it works, unless it is cached.
	copies []step.Copy

	// refused is why an apply does not start it.
	refused error
	// task is its index in the schedule; -1 if there is nothing to schedule.
	task int
	// outcome is what its place says of its last attempt there.
	outcome Outcome
	// found says that another process did the work meanwhile.
	found bool
}

// on is the name of the place where it runs, empty for this machine.
func (n *node) on() string {
	if n.place == nil {
		return ""
	}
	return n.place.Name
}

// fresh reports whether the step must not use an earlier result.
func (n *node) fresh() bool {
	return n.forced || n.retried || n.Step.Kind.Volatile || n.decision != nil && n.decision.again != ""
}

// cached reports whether its outputs are known when the plan is made.
func (n *node) cached() bool { return n.plan.Action == plan.Cached && n.same == nil }

// decide records the step's key and result. A step without a result needs
// space.
func (n *node) decide(d *decision) {
	n.decision, n.plan.Choices = d, d.choices
	if d.record == nil {
		n.estimate, n.copies, n.plan.Spending, n.plan.Missing = d.estimate, d.copies, d.spending, d.missing
	}
}

// planned is a plan and what apply needs in addition.
type planned struct {
	plan.Plan
	// nodes are the steps in the order of the plan.
	nodes []*node
	// byIndex maps an instance to its node; nil if it is not selected.
	byIndex []*node
	memory  memory
}

// newPlanned lists the selected instances, all undecided.
func newPlanned(p *Program, selected []bool, force map[int]bool, m memory) *planned {
	count := 0
	for _, s := range selected {
		if s {
			count++
		}
	}
	pl := &planned{memory: m, nodes: make([]*node, 0, count), byIndex: make([]*node, len(p.Instances))}
	pl.Pipeline = p.Pipeline.Path
	if count > 0 { // no steps are null in JSON
		pl.Steps = make([]plan.Step, 0, count)
	}
	all := make([]node, count)
	for i, inst := range p.Instances {
		if !selected[i] {
			continue
		}
		n := &all[len(pl.nodes)]
		*n = node{Instance: inst, index: i, at: len(pl.nodes), forced: force[i], task: -1}
		s := plan.Step{Address: inst.Addr, Name: inst.Addr.String(), Kind: inst.Step.Kind.Name}
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
