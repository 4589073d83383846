package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/lockfile"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// LockOptions choose the content of a lock.
type LockOptions struct {
	PlanOptions
	// Results also pins the results of varying steps; see package lockfile.
	Results bool
	// Against is a lock to compare with, or nil. If the pipeline is not
	// completely cached, the differences between the plan and this lock are
	// reported.
	Against *lockfile.File
}

// Lock returns the lock of a pipeline whose steps are all in the cache.
func (e *Engine) Lock(ctx context.Context, p *Program, opts LockOptions) (*lockfile.File, diag.List) {
	pl, diags := e.plan(ctx, p, opts.PlanOptions)
	if diags.HasErrors() {
		return nil, diags
	}
	pl.nodes = slices.DeleteFunc(pl.nodes, func(n *node) bool { return n.plan.Action == plan.Unneeded })
	for _, n := range pl.nodes {
		if n.plan.Action != plan.Cached {
			if differs := checkPlan(opts.Against, e.opts.Version, pl, len(opts.Targets) == 0); len(differs) > 0 {
				return nil, append(diags, differs...)
			}
			return nil, append(diags, diag.Failure("Not applied", fmt.Errorf("%s has no result to lock; apply the pipeline first", n.plan.Name)))
		}
	}
	l := locker{results: opts.Results, varies: make([]bool, len(pl.Steps))}
	return lockfile.New(e.opts.Version, filepath.Base(p.Pipeline.Path), lists.Of(pl.nodes, l.step)), diags
}

// locker creates the entries of a lock, in dependency order.
type locker struct {
	results bool
	// varies marks the steps whose outputs are not pinned.
	varies []bool
}

func (l *locker) step(n *node) lockfile.Step {
	rec := n.decision.record
	s := lockfile.Step{Addr: n.Addr, Action: rec.Action, Inputs: lockfile.Inputs(step.Pinned(rec.Fields))}
	if l.results {
		s.Outputs = lockfile.Outputs(rec.Outputs)
		return s
	}
	var from []lockfile.Origin
	for _, a := range n.after {
		if l.varies[a.at] {
			from = append(from, lockfile.Origin{Address: a.plan.Name, Outputs: a.decision.record.Outputs})
		}
	}
	l.varies[n.at] = n.Step.Kind.Varies || len(from) > 0
	if !l.varies[n.at] {
		s.Outputs = lockfile.Outputs(rec.Outputs)
	}
	if len(from) > 0 {
		s.Action = digest.ActionID{}
		lockfile.MarkVarying(s.Inputs, from, n.Dynamic)
	}
	return s
}

// checkPlan compares a plan with the lock: the program, the set of steps, and
// the known inputs and outputs.
func checkPlan(lock *lockfile.File, version string, pl *planned, all bool) (diags diag.List) {
	if lock == nil {
		return nil
	}
	var list []lockfile.Deviation
	if lock.Version != version {
		list = append(list, lockfile.Deviation{Address: "mleflow", Field: "version", Was: lock.Version, Is: version})
	}
	present := map[addr.Instance]bool{}
	for _, n := range pl.nodes {
		if _, found := lock.Find(n.Addr); !found && (n.plan.Action == plan.Unneeded || pl.rounds != nil && !pl.rounds.done) {
			continue
		}
		present[n.Addr] = true
		list = append(list, compareChoices(lock, n, deviations(lock, n.Addr, n.decision))...)
	}
	for _, s := range lock.Steps {
		if all && !present[s.Addr] {
			list = append(list, lockfile.Deviation{Address: s.Addr.String(), Is: "in the lock and not in the pipeline"})
		}
	}
	if err := Deviation(list); err != nil {
		diags = append(diags, diag.Failure("Not as locked", err))
	}
	return diags
}

// deviations compares the knowledge about an instance with the lock.
func deviations(lock *lockfile.File, a addr.Instance, d *decision) []lockfile.Deviation {
	s, found := lock.Find(a)
	if !found {
		return []lockfile.Deviation{{Address: a.String(), Is: "in the pipeline and not in the lock"}}
	}
	if d == nil {
		return nil
	}
	list := s.CheckAction(d.id)
	if d.record == nil {
		return append(list, s.CheckInputs(lockfile.Inputs(step.Pinned(d.fields)))...)
	}
	list = append(list, s.CheckInputs(lockfile.Inputs(step.Pinned(d.record.Fields)))...)
	if s.Binds(d.id) {
		list = append(list, s.CheckOutputs(lockfile.Outputs(d.record.Outputs))...)
	}
	return list
}

// checkDecided fails if a step turns out to differ from the lock after its
// dependencies are done.
func (r *run) checkDecided(n *node, d *decision) error {
	if r.opts.Lock == nil {
		return nil
	}
	return unlocked(Deviation(deviations(r.opts.Lock, n.Addr, d)))
}

// checkGiven rejects outputs that differ from the lock.
func (r *run) checkGiven(n *node, outputs cache.Outputs) error {
	if r.opts.Lock == nil {
		return nil
	}
	s, _ := r.opts.Lock.Find(n.Addr)
	if !s.Binds(n.decision.id) {
		return nil
	}
	return unlocked(Deviation(s.CheckOutputs(lockfile.Outputs(outputs))))
}

func unlocked(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("not as locked: %w", err)
}

// Deviation returns a mismatch that lists the first 20 deviations, or nil if
// there are none.
func Deviation(list []lockfile.Deviation) error {
	if len(list) == 0 {
		return nil
	}
	var errs []error
	for i, d := range list {
		if i == 20 {
			errs = append(errs, fmt.Errorf("and %d more", len(list)-i))
			break
		}
		d.Was, d.Is = Readable(d.Was), Readable(d.Is)
		errs = append(errs, errors.New(d.String()))
	}
	return step.Mismatch(errors.Join(errs...))
}

// warnChosen emits, before anything runs, the warnings about choices that the
// machine made for steps that may run. It also names the steps that run again
// because their last result is not final.
func (r *run) warnChosen() {
	var list plan.Remarks
	for _, n := range r.pl.nodes {
		if !n.cached() {
			for _, c := range n.plan.Choices {
				list.Add(n.plan.Agent, c.Warning)
			}
			for _, text := range slices.Concat(n.plan.Missing, n.plan.Unmasked) {
				list.Add(n.plan.Agent, text)
			}
		}
		if d := n.decision; d != nil && d.ignored != "" {
			list.Add("", n.Addr.Step.String()+" "+d.ignored)
		}
	}
	r.warnOnce(list)
}

// warnOnce emits each warning once in the run.
func (r *run) warnOnce(list plan.Remarks) {
	list.Each(func(text, neutral string) {
		if _, told := r.warned.LoadOrStore(neutral, true); !told {
			r.sink.Emit(event.Warning{At: event.Now(), Message: text})
		}
	})
}

// compareChoices compares this machine's choices for a step with the lock. For
// a decided step, it marks the deviations that the machine chose. For an
// undecided step, it adds deviations, because the choices are already known.
func compareChoices(lock *lockfile.File, n *node, list []lockfile.Deviation) []lockfile.Deviation {
	s, found := lock.Find(n.Addr)
	for _, c := range n.plan.Choices {
		is := fmt.Sprintf("%s, which this machine chose (%s)", c.Value, c.Why)
		for i := range list {
			if list[i].Field == c.Arg {
				list[i].Is = is
			}
		}
		if was := s.Inputs[c.Arg]; found && n.decision == nil && was != c.Value {
			list = append(list, lockfile.Deviation{Address: n.Addr.String(), Field: c.Arg, Was: was, Is: is})
		}
	}
	return list
}
