package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/engine/try"
)

// run is an apply in progress.
type run struct {
	e       *Engine
	p       *Program
	pl      *planned
	opts    ApplyOptions
	started time.Time
	resumed string
	// continued is the run that this one continues, "" for none, and asked has what is asked
	// again of its attempts.
	continued string
	asked     []step.Request
	sink      event.Sink
	journal   *history.Run
	// unrecorded is the reason why there is no journal, or nil.
	unrecorded error
	result     Result
	// memoryErr is the first error of a write to the state.
	memoryErr error
	// scheduled maps tasks to nodes.
	scheduled []*node
	// queue orders the steps that wait for disk space.
	queue *spaceQueue
	// expected predicts the end of the run.
	expected *expectation
	// results has the results that the run uses.
	results *results
	// warned has the warnings that warnOnce has emitted.
	warned sync.Map
	// steering has what people ask of the run.
	steering *steering
	// dependents has the steps that depend directly on a step.
	dependents func() map[*node][]*node
}

func newRun(e *Engine, pl *planned, opts ApplyOptions) *run {
	r := &run{e: e, p: pl.p, pl: pl, opts: opts, started: time.Now(), queue: newSpaceQueue(), results: newResults(pl.nodes), result: Result{Counts: map[event.Status]int{}}}
	r.expected = newExpectation(r)
	r.steering = newSteering(r)
	r.dependents = sync.OnceValue(pl.dependents)
	r.sink = opts.Sink
	if r.sink == nil {
		r.sink = event.SinkFunc(func(event.Event) {})
	}
	return r
}

// resolve decides whether step n has anything to do after all its dependencies
// are done. It is called again after a step with the same action has ended.
func (r *run) resolve(ctx context.Context, n *node) (sched.Resolution, error) {
	d := n.decision
	if d == nil {
		why, diags := r.p.Skip(n.index, true)
		if n.skipped = why; why != "" || diags.HasErrors() {
			return sched.Resolution{Done: true}, asError(diags)
		}
		var err error
		if d, err = r.decideDeferred(ctx, n); err != nil {
			return sched.Resolution{}, err
		}
	} else if d.record = r.results.of(d.id); d.record == nil && !n.fresh() {
		rec, err := r.e.result(ctx, n, d.id)
		if err != nil {
			return sched.Resolution{}, err
		}
		d.record = r.results.take(d.id, rec)
	}
	if d.record != nil {
		known(r.p, n.index, d.record)
		return sched.Resolution{Done: true}, asError(r.p.Postconditions(n.index))
	}
	return sched.Resolution{Key: d.id.String()}, r.e.refusal(ctx, n)
}

func (r *run) decideDeferred(ctx context.Context, n *node) (*decision, error) {
	r.e.forgo(ctx, r.p, n, r.opts.Done)
	d, diags := r.e.decide(ctx, r.p, n.index, n.fresh())
	if diags.HasErrors() {
		return nil, asError(diags)
	}
	if err := r.checkDecided(n, d); err != nil {
		return nil, err
	}
	if r.e.opts.Remote != nil && !n.fresh() {
		if err := r.decideAgain(ctx, n, d); err != nil {
			return nil, err
		}
	}
	if r.retries(ctx, n, d) {
		n.retried = true
		if d, diags = r.e.decide(ctx, r.p, n.index, true); diags.HasErrors() {
			return nil, asError(diags)
		}
	}
	if n.mayRepeat(d) && r.e.repeat(ctx, r.pl, n, d, r.opts.Repeats) && r.opts.Repeats == AskRepeats {
		one := plan.Plan{Steps: []plan.Step{{Action: plan.Run, Repeats: n.plan.Repeats}}}
		one.SumRepeats()
		return nil, errRepeats(one.Repeats)
	}
	if rec, decided := r.results.agree(d.id, d.record); decided {
		if n.fresh() && rec != nil && rec.Run != r.result.RunID {
			r.sink.Emit(event.Warning{At: event.Now(), Address: n.plan.Name, Message: "does not run again: a step with the same key has already used the earlier result in this run; name that step, too"})
		}
		if rec == nil && d.record != nil { // another step runs it again
			if d, diags = r.e.decide(ctx, r.p, n.index, true); diags.HasErrors() {
				return nil, asError(diags)
			}
		}
		d.record = rec
	}
	n.decide(d)
	return d, nil
}

// retries reports whether Retry chooses a deferred step, whose result was found only
// now: by this result, or by one that was made of it. The plan chose what was named.
func (r *run) retries(ctx context.Context, n *node, d *decision) bool {
	if r.opts.Retry == nil || n.retried || d.record == nil || d.record.Run == r.result.RunID || r.opts.Done != nil && r.opts.Done(d.record.Run) {
		return false
	}
	known(r.p, n.index, d.record)
	alone := func(n *node, rec *cache.Record, after ...int) Past {
		s := *n.plan
		s.After = after
		return Past{Step: &s, Record: rec}
	}
	steps := []Past{alone(n, d.record)}
	for _, next := range r.dependents()[n] {
		// What the step itself depends on is done; anything else may not be.
		if slices.ContainsFunc(next.after, func(dep *node) bool { return dep != n && !slices.Contains(n.after, dep) }) {
			continue
		}
		if found, diags := r.e.decide(ctx, r.p, next.index, next.fresh()); !diags.HasErrors() {
			steps = append(steps, alone(next, found.record, 0))
		}
	}
	chosen, _ := r.opts.Retry.Choose(steps)
	again := slices.Contains(chosen, 0)
	if again { // no step may start on the old outputs
		r.p.SetOutputs(n.index, nil)
	}
	return again
}

// asError joins the errors in the arguments of a step that could not be
// evaluated earlier.
func asError(diags diag.List) error {
	var errs []error
	for _, d := range diags {
		text := d.Summary + ": " + d.Detail
		if d.Subject != nil {
			text = fmt.Sprintf("%s:%d: %s", d.Subject.Filename, d.Subject.Start.Line, text)
		}
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

// do makes one try at step n.
func (r *run) do(ctx context.Context, n *node, l sched.Lease) error {
	d := n.decision
	if rec := r.results.of(d.id); rec != nil {
		n.found = true
		return r.took(n, rec)
	}
	if n.place != nil { // the workers there agree on one of them
		return r.counted(ctx, n, l.Try, func() error { return r.elsewhere(ctx, n, l) })
	}
	var unlock func()
	err := l.Outside(func() (err error) { unlock, err = r.lockAction(ctx, n); return err })
	if err != nil {
		return fmt.Errorf("lock action: %w", err)
	}
	defer unlock()
	if !n.fresh() { // another process or machine may have done it in the meantime
		rec, err := r.e.result(ctx, n, d.id)
		if err != nil {
			return err
		}
		if rec != nil {
			n.found = true
			return r.took(n, rec)
		}
	}
	return r.try(ctx, n, l)
}

// try runs the step and records its outputs.
func (r *run) try(ctx context.Context, n *node, l sched.Lease) error {
	d := n.decision
	ctx = cache.WithAccount(ctx) // other steps must not use this step's reservation
	var release func()
	err := l.Outside(func() (err error) { release, err = r.reserve(ctx, n); return err })
	if err != nil {
		return err
	}
	defer release()
	c, diags := construct(r.p, n.index, r.e.settling(n.Instance))
	if diags.HasErrors() {
		return asError(diags)
	}
	var warnings plan.Remarks
	for _, choice := range c.choices {
		warnings.Add(c.args.Text("agent", "name"), choice.Warning)
	}
	r.warnOnce(warnings)
	t := try.Try{
		Kind: n.Step.Kind, Args: c.args, Action: d.id, Fields: d.fields, Address: n.plan.Name, Number: l.Try,
		RunID: r.result.RunID, Devices: l.Devices, Tries: r.tries(ctx, n, c.Step), Cache: r.e.opts.Cache, Sink: r.sink, Log: r.openLog(n.plan.Name, l.Try),
	}
	if n.counted() {
		var leave func()
		t.Requests, leave = r.steering.enter(n.plan.Name)
		defer leave()
	}
	return r.counted(ctx, n, l.Try, func() error { return r.complete(ctx, n, &t) })
}

// complete runs a try, and records and passes on its result.
func (r *run) complete(ctx context.Context, n *node, t *try.Try) error {
	rec, err := t.Run(ctx)
	if err != nil {
		return err
	}
	if err := r.checkGiven(n, rec.Outputs); err != nil {
		return err
	}
	// The work is done. Not even an interruption should lose it.
	if err := r.e.opts.Cache.Record(context.WithoutCancel(ctx), rec); err != nil {
		return fmt.Errorf("record action: %w", err)
	}
	// The result is recorded first. No step may start on outputs that would be
	// produced again after a crash.
	return r.took(n, rec)
}

// took passes a result to the dependent steps, unless a postcondition refuses it.
func (r *run) took(n *node, rec *cache.Record) error {
	n.decision.record = r.results.take(n.decision.id, rec)
	known(r.p, n.index, rec)
	return asError(r.p.Postconditions(n.index))
}

// tries counts the earlier tries at a step whose results vary and record the
// conditions of their creation. An evicted result counts as one.
func (r *run) tries(ctx context.Context, n *node, s step.Step) (t cache.Tries) {
	e := r.e
	t.Steered = r.steering.stalls(n.plan.Name)
	if c, ok := s.(step.Conditioned); !ok || len(c.Conditions()) == 0 || !n.Step.Kind.Varies {
		return t
	}
	last, evicted := e.lastTry(ctx, r.p, n)
	if again := n.plan.Repeats; last == nil && again != nil {
		if was, err := digest.ParseActionID(again.Action); err == nil {
			last, _ = e.lookup(ctx, was)
		}
	}
	switch {
	case last == nil && evicted:
		t.Earlier = 1
	case last == nil:
	case last.Final() == nil:
		t.Earlier, t.Spoilt = last.Earlier, last.Spoilt+1
	default:
		t.Earlier = last.Count()
	}
	if kind := n.Step.Kind; kind.Counted != nil && e.opts.History != nil {
		t.Begun = e.begun(r.p, kind, n.decision.fields) + 1
	}
	return t
}

// known passes a result to the steps that depend on an instance.
func known(p *Program, i int, rec *cache.Record) {
	p.SetOutputs(i, rec.Outputs)
	if made := step.TriesConditions(rec.Tries); made != nil {
		p.SetConditions(i, step.UnionConditions(p.Conditions(i), made))
	}
}

// onWait emits the resources for which steps wait.
func (r *run) onWait(waits []sched.Wait) {
	e := event.Waiting{At: event.Now(), For: []event.Wait{}}
	for _, w := range waits {
		e.For = append(e.For, event.Wait{Resource: string(w.Resource), Steps: w.Tasks, Next: r.scheduled[w.Next].plan.Name, Holders: w.Holders, Elsewhere: w.Elsewhere})
	}
	r.sink.Emit(e)
}

func (r *run) onStart(task int, l sched.Lease) {
	n := r.scheduled[task]
	s := n.plan
	if n.counted() {
		r.steering.begin(s.Name)
	}
	r.expected.start(n, time.Now())
	expected, _ := r.expected.of(n)
	r.sink.Emit(event.StepStarted{At: event.Now(), Address: s.Name, Kind: s.Kind, Try: l.Try, ExpectedMillis: expected.Milliseconds(),
		CPUs: l.CPUs, MemoryBytes: l.MemoryBytes, Devices: l.Devices, On: n.on()})
}

func (r *run) onRetry(task, attempt int, wait time.Duration, err error) {
	r.sink.Emit(event.StepRetry{At: event.Now(), Address: r.scheduled[task].plan.Name, Try: attempt, WaitMillis: wait.Milliseconds(), Error: err.Error()})
}

func (r *run) onBackoff(task int, at time.Time) {
	what := "waiting until " + at.Format(time.TimeOnly) + " for the next attempt"
	r.sink.Emit(event.StepProgress{At: event.Now(), Address: r.scheduled[task].plan.Name, Progress: step.Progress{What: what}})
}

// statuses are the outcomes of a task as those of a step that did the work itself.
var statuses = map[sched.Status]event.Status{
	sched.Done: event.Cached, sched.Ran: event.Ran, sched.Failed: event.Failed, sched.Skipped: event.Skipped, sched.Cancelled: event.Cancelled,
}

func (r *run) onEnd(task int, res sched.Result) {
	n := r.scheduled[task]
	status := statuses[res.Status]
	switch {
	case status == event.Ran && n.found:
		status = event.Cached
	case status == event.Cached && n.skipped != "":
		status = event.Unneeded
	}
	r.ended(n, status, res)
	took := time.Duration(0)
	if status == event.Ran {
		took = res.Ended.Sub(res.Started)
	}
	r.expected.end(n, took)
	r.expected.report()
}

// ended counts a step, records its action and emits its end.
func (r *run) ended(n *node, status event.Status, res sched.Result) {
	n.ended = true
	if n.counted() {
		r.steering.over(n.plan.Name, n.steered(), status, res)
	}
	s, d := n.plan, n.decision
	ev := event.StepFinished{At: event.Now(), Address: s.Name, Kind: s.Kind, Status: status, LastTry: res.Tries, DurationMillis: res.Ended.Sub(res.Started).Milliseconds()}
	if n.place != nil && res.Tries > 0 {
		ev.On, ev.Node, ev.GPUs = n.on(), n.outcome.Node, n.Limits.GPUs
		ev.FetchedBytes, ev.StoredBytes = n.outcome.FetchedBytes, n.outcome.StoredBytes
	}
	r.result.Counts[status]++
	switch status {
	case event.Failed:
		ev.Error = res.Err.Error()
		r.result.Failures = append(r.result.Failures, Failure{Address: s.Name, Err: res.Err})
		if !r.opts.KeepGoing {
			r.steering.drained.Store(true)
		}
	case event.Cancelled:
		for _, by := range []error{step.ErrCancelled, step.ErrRequeued} {
			if errors.Is(res.Err, by) {
				ev.Error = by.Error()
			}
		}
	case event.Skipped:
		ev.Error = r.scheduled[res.Cause].plan.Name
	case event.Unneeded:
		ev.Reason = n.skipped
		r.expected.end(n, 0)
	}
	if d != nil && d.record != nil && status.Succeeded() {
		ev.Action = d.id.String()
		ev.Outputs = shownOutputs(d.record.Outputs)
		ev.Conditions = r.p.Conditions(n.index)
		if t := d.record.Tries; t != (cache.Tries{}) {
			ev.Tries = &t
		}
		if status == event.Cached {
			ev.MadeIn = d.record.Run
		}
		r.remember(n, status)
	}
	r.sink.Emit(ev)
}

func shownOutputs(outputs cache.Outputs) map[string]string {
	shown := make(map[string]string, len(outputs))
	for name, v := range outputs {
		if v.Ref.IsZero() {
			shown[name] = string(v.JSON)
			continue
		}
		shown[name] = string(v.Ref.Kind) + ":" + v.Ref.ID.String()
	}
	return shown
}
