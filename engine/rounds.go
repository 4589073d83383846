package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
)

// Rounds chooses in rounds which instances of a pipeline run. The choice must
// depend on nothing but the outputs of the rounds before, so that it is the same
// when an apply is repeated.
type Rounds interface {
	// Candidates returns the instances from which it chooses.
	Candidates() []int
	// Next returns the next round, given the outputs of the one before. The
	// last round is empty: the other candidates are not needed.
	Next(ctx context.Context, outputs func(i int) cache.Outputs) ([]int, plan.Evaluation, error)
}

// rounds is the progress of an evaluation in a plan or a run.
type rounds struct {
	chooser Rounds
	// next is the round that has no results yet. asked has all rounds, and ended
	// those before it.
	next, ended []int
	asked       map[int]bool
	// states are the state of the evaluation at the beginning and after each
	// round.
	states []plan.Evaluation
	done   bool
	// links is the chain, and run the run, or "" in a plan.
	links []history.Link
	run   string
}

// startRounds starts the pipeline's evaluation and repeats the rounds whose
// results are known to the plan. If all are, the plan contains only what is
// needed.
func (b *planner) startRounds(ctx context.Context, choose func() Rounds) diag.List {
	r := &rounds{chooser: choose(), asked: map[int]bool{}}
	b.pl.rounds = r
	if err := r.readChain(b.e, ""); err != nil {
		return diag.List{diag.Failure("Cannot be evaluated", err)}
	}
	for known := true; known && !r.done; {
		if diags := b.pl.advance(ctx, b.p); diags.HasErrors() {
			return diags
		}
		var results []*cache.Record
		for _, i := range r.next {
			n := b.pl.byIndex[i]
			if known = known && n.cached(); known {
				results = append(results, n.decision.record)
			}
		}
		if known && b.askRemote {
			known = len(b.e.opts.Remote.Fetch(ctx, results)) == 0
		}
	}
	if !r.done {
		return nil
	}
	var again []*node
	b.first = map[digest.ActionID]*node{}
	for _, n := range b.pl.nodes {
		switch {
		case n.plan.Action == plan.Deferred:
			again = append(again, n)
		case n.plan.Action == plan.Run:
			b.first[n.decision.id] = n
		}
	}
	return b.run(ctx, again)
}

// advance ends a round, the results of which are known, and asks for the next.
func (pl *planned) advance(ctx context.Context, p *Program) diag.List {
	r := pl.rounds
	next, state, err := r.chooser.Next(ctx, p.Outputs)
	if err != nil {
		return diag.List{diag.Failure("Cannot be evaluated", err)}
	}
	r.next, r.states = next, append(r.states, state)
	r.ended = slices.Sorted(maps.Keys(r.asked))
	pl.trace(p)
	for _, i := range next {
		r.asked[i] = true
	}
	if len(next) > 0 {
		return nil
	}
	r.done = true
	return pl.hold(p)
}

// readChain reads what the chain has of the attempts.
func (r *rounds) readChain(e *Engine, run string) error {
	r.run = run
	if e.opts.History == nil {
		return nil
	}
	text, err := e.opts.History.Chain()
	if err == nil {
		r.links, err = history.ParseChain(text)
	}
	return err
}

// trace compares the attempts of the ended rounds with the chain.
func (pl *planned) trace(p *Program) {
	r := pl.rounds
	pl.Evaluation = &r.states[len(r.states)-1]
	pl.Evaluation.Declared = p.Declared(*pl.Evaluation, r.links, r.run, r.ended, func(i int) *cache.Record { return pl.byIndex[i].decision.record })
}

// Declared compares the attempts that some graded instances are of with a chain,
// given the records of instances; see history.Evaluated.
func (p *Program) Declared(e plan.Evaluation, links []history.Link, run string, graded []int, record func(i int) *cache.Record) plan.Declared {
	var attempts []history.Link
	for _, i := range graded {
		for _, d := range p.Instances[i].Deps {
			kind, rec := p.Instances[d].Step.Kind, record(d)
			if kind.Counted == nil || rec == nil {
				continue
			}
			l := history.Link{Action: rec.Action}
			for _, name := range kind.Counted(rec.Fields) {
				l.Subjects = append(l.Subjects, history.Mark(name))
			}
			attempts = append(attempts, l)
		}
	}
	d := history.Evaluated(links, run, e.Rule, attempts)
	d.Unknown += max(0, len(graded)-len(attempts)) // other steps made their submissions
	if e.Next > 0 {
		d.Unused = 0 // later rounds use them
	}
	return d
}

// hold leaves out what the evaluation did not need: the other candidates, the
// varying steps that only they need, and what has no inputs left. The keys of
// all that was to read them are decided again.
func (pl *planned) hold(p *Program) diag.List {
	held := pl.rounds.unneeded(p)
	var list []int
	for i, h := range held {
		if h {
			list = append(list, i)
		}
	}
	diags := p.Hold(list)
	again := make([]bool, len(p.Instances))
	for _, n := range pl.nodes {
		if held[n.index] {
			n.decision, n.same, n.place, n.after = nil, nil, nil, nil
			*n.plan = plan.Step{Address: n.Addr, Name: n.plan.Name, Kind: n.plan.Kind, Names: n.plan.Names, Action: plan.Unneeded,
				Reasons: []plan.Reason{{Text: "the evaluation ended without it"}}}
			continue
		}
		var after []*node
		n.plan.After = nil
		for _, dep := range n.after {
			if !held[dep.index] {
				after, n.plan.After = append(after, dep), append(n.plan.After, dep.at)
			}
			again[n.index] = again[n.index] || held[dep.index] || again[dep.index]
		}
		n.after = after
		if n.same != nil && held[n.same.index] {
			n.same, again[n.index] = nil, true
		}
		if again[n.index] {
			n.decision, n.same, n.plan.Action, n.plan.ActionID = nil, nil, plan.Deferred, ""
		}
	}
	return diags
}

// unneeded marks the instances that hold leaves out: the candidates that no round asked
// for, the varying steps that only those depend on, and everything that has lost all its
// dependencies in a block.
func (r *rounds) unneeded(p *Program) []bool {
	held, over := make([]bool, len(p.Instances)), addr.Step{}
	for _, i := range r.chooser.Candidates() {
		held[i], over = !r.asked[i], p.Instances[i].Addr.Step
	}
	forHeld := p.reach(func(i int) bool { return held[i] })
	forAsked := p.reach(func(i int) bool { return p.Instances[i].Addr.Step == over && !held[i] })
	for i, inst := range p.Instances {
		held[i] = held[i] || inst.Step.Kind.Varies && forHeld[i] && !forAsked[i]
		from := map[addr.Step]bool{} // whether all dependencies in a block are held
		for _, d := range inst.Deps {
			block := p.Instances[d].Addr.Step
			all, seen := from[block]
			from[block] = held[d] && (all || !seen)
		}
		for _, all := range from {
			held[i] = held[i] || all
		}
	}
	return held
}

// HoldAs leaves out the instances that a past run of the pipeline did not need.
func (p *Program) HoldAs(past *history.Summary) diag.List {
	var list []int
	for _, s := range past.Steps {
		if at, err := addr.Parse(s.Address); s.Status == event.Unneeded && err == nil {
			if i, found := p.Find(at); found {
				list = append(list, i)
			}
		}
	}
	return p.Hold(list)
}

// CheckRounds repeats the evaluation of a past run with its outputs, given the
// instances that the run left out. It returns the answer and the instances for
// which the evaluation asked. It returns an error unless exactly those ran, and
// nothing was left out that is needed. If the run stopped during the evaluation,
// the answer is the last one that has outputs.
func (p *Program) CheckRounds(ctx context.Context, chooser Rounds, left []int) (plan.Evaluation, []int, error) {
	r := &rounds{chooser: chooser, asked: map[int]bool{}}
	for {
		next, state, err := chooser.Next(ctx, p.Outputs)
		asked := slices.Sorted(maps.Keys(r.asked))
		if err != nil {
			return state, asked, err
		}
		if len(next) == 0 {
			return state, asked, p.checkLeft(r, left)
		}
		for _, i := range next {
			if r.asked[i] = true; p.Outputs(i) != nil {
				continue
			}
			if len(left) > 0 {
				err = fmt.Errorf("the evaluation asks for %s, which the run left out", p.Instances[i].Addr)
			}
			return state, asked, err
		}
	}
}

// checkLeft compares what a run left out with what the evaluation does not need.
func (p *Program) checkLeft(r *rounds, left []int) error {
	for _, i := range r.chooser.Candidates() {
		if !r.asked[i] && p.Outputs(i) != nil {
			return fmt.Errorf("%s ran, and the evaluation ends without it", p.Instances[i].Addr)
		}
	}
	unneeded := r.unneeded(p)
	for _, i := range left {
		if !unneeded[i] {
			return fmt.Errorf("the run left out %s, and the evaluation is not about it", p.Instances[i].Addr)
		}
	}
	return nil
}

// schedule runs the steps of the plan: first those of each round of the
// evaluation with all that they need, and then the others.
func (r *run) schedule(ctx context.Context) *sched.Summary {
	rs := r.pl.rounds
	for rs != nil && !rs.done {
		needed := r.p.reach(func(i int) bool { return rs.asked[i] })
		sum := r.runSome(ctx, slices.DeleteFunc(slices.Clone(r.pl.nodes), func(n *node) bool { return !needed[n.index] }))
		err := r.undecided(rs.next)
		if err == nil {
			err = rs.readChain(r.e, r.result.RunID)
		}
		if err == nil {
			if diags := r.pl.advance(ctx, r.p); diags.HasErrors() {
				err = asError(diags)
			}
		}
		interrupted := ctx.Err() != nil || sum != nil && sum.Interrupted != nil
		if len(r.result.Failures) > 0 || interrupted || err != nil {
			r.stopEvaluation(interrupted, err)
			return sum
		}
		r.sink.Emit(event.Evaluated{At: event.Now(), Evaluation: *r.pl.Evaluation})
	}
	return r.runSome(ctx, r.pl.nodes)
}

// undecided returns an error if the result of an attempt in a round is not final.
func (r *run) undecided(round []int) error {
	for _, i := range round {
		n := r.pl.byIndex[i]
		for _, n := range append(n.after, n) {
			if d := n.decision; d != nil && d.record != nil && d.record.Final() == nil {
				return fmt.Errorf("%s has no final result: %s; apply again to repeat it and go on", n.plan.Name, again(d.record))
			}
		}
	}
	return nil
}

// stopEvaluation ends a run whose evaluation cannot go on: no other step starts.
func (r *run) stopEvaluation(interrupted bool, err error) {
	for _, n := range r.pl.nodes {
		if !n.ended {
			r.ended(n, event.Cancelled, sched.Result{})
		}
	}
	if interrupted || len(r.result.Failures) > 0 {
		return
	}
	name := "evaluate." + r.pl.Evaluation.Name
	r.result.Failures = append(r.result.Failures, Failure{Address: name, Err: err})
	r.sink.Emit(event.Warning{At: event.Now(), Message: name + " stopped: " + err.Error()})
}

// runSome runs those of the given steps that have not ended.
func (r *run) runSome(ctx context.Context, nodes []*node) *sched.Summary {
	tasks := r.tasksOf(nodes)
	for t, n := range r.scheduled {
		tasks[t].Refused = n.refused
	}
	for _, n := range nodes {
		switch {
		case n.ended:
		case n.plan.Action == plan.Unneeded:
			r.ended(n, event.Unneeded, sched.Result{})
		case n.decision != nil && n.decision.record != nil:
			r.ended(n, event.Cached, sched.Result{})
		}
	}
	sum, err := sched.Run(ctx, tasks, sched.Options{
		Capacity: r.e.opts.Capacity, Parallelism: r.opts.Parallelism, KeepGoing: r.opts.KeepGoing,
		Retryable: step.IsRetryable, Locks: r.e.opts.Devices,
		Changes: r.steering.changes, Dropped: step.ErrCancelled, Again: step.ErrRequeued,
		OnStart: r.onStart, OnWait: r.onWait, OnRetry: r.onRetry, OnBackoff: r.onBackoff, OnEnd: r.onEnd,
	})
	if err != nil {
		r.result.Failures = append(r.result.Failures, Failure{Address: "scheduler", Err: err})
		r.result.Counts[event.Failed]++
	}
	return sum
}
