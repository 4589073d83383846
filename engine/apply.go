package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/lockfile"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
)

// ApplyOptions configure an apply.
type ApplyOptions struct {
	PlanOptions
	// Parallelism is the maximum number of concurrent steps. 0 means as many as
	// the resources allow.
	Parallelism int
	// KeepGoing continues with all steps that do not depend on a failed step.
	KeepGoing bool
	// RequireCached refuses to start if anything would have to run.
	RequireCached bool
	// AskRepeats, if set, is asked what becomes of results that the run would repeat
	// although nothing that a person wrote differs. Without it, they are refused.
	AskRepeats func(*plan.Repeats) Repeats
	// Planned, if set, is called with the plan before anything runs. Its error refuses the
	// apply. Saved is the digest of the saved plan that is applied, for the run history.
	Planned func(*plan.Plan) error
	Saved   string
	// Lock, if set, is a lock that the run must match.
	Lock *lockfile.File
	// Sink receives the events of the run; it may be nil.
	Sink event.Sink
	// Fetching, if set, is called before the run with the results to be fetched
	// from the remote cache. The returned function is called when they have
	// arrived.
	Fetching func(wanted []*cache.Record) (fetched func())
	// Args is the command line for the run history, which masks the values of
	// sensitive variables in it.
	Args []string
	// About is the user's description of the run.
	About history.About
}

// Failure is a step that failed.
type Failure struct {
	Address string
	Err     error
}

// Output is the value of an output block.
type Output struct {
	Name string
	// Known is false if the value depends on a step that did not succeed.
	Known bool
	// Value is the plain text of a string, and the JSON of any other value.
	Value string
}

// Result is the result of an apply.
type Result struct {
	// RunID is the run's ID in the run history, or "" if nothing was started.
	RunID string
	// Status is event.Ran on success, and Failed or Cancelled otherwise.
	Status   event.Status
	Counts   map[event.Status]int
	Failures []Failure
	Outputs  []Output
	Wall     time.Duration
}

// Mismatch reports whether a step failed because content did not match a pin.
func (r *Result) Mismatch() bool {
	return slices.ContainsFunc(r.Failures, func(f Failure) bool { return errors.Is(f.Err, step.ErrMismatch) })
}

// Apply plans and executes the pipeline. The diagnostics report errors found
// before anything runs. Failures of steps are in the result.
func (e *Engine) Apply(ctx context.Context, p *Program, opts ApplyOptions) (*Result, diag.List) {
	opts.pins = pins{opts.Lock, opts.RequireCached}
	ctx = p.within(ctx)
	pl, diags := e.planToApply(ctx, p, opts)
	if diags.HasErrors() {
		return nil, diags
	}
	if diags = append(diags, checkPlan(opts.Lock, e.opts.Version, pl, len(opts.Targets) == 0)...); diags.HasErrors() {
		return nil, diags
	}
	if opts.Planned != nil {
		if err := opts.Planned(&pl.Plan); err != nil {
			return nil, append(diags, diag.Failure("Not as planned", err))
		}
	}
	if opts.RequireCached {
		if diags = append(diags, requireCached(&pl.Plan)...); diags.HasErrors() {
			return nil, diags
		}
	}
	if r := pl.Repeats; r != nil && opts.Repeats == AskRepeats {
		if opts.AskRepeats != nil {
			opts.Repeats = opts.AskRepeats(r)
		}
		switch opts.Repeats {
		case AskRepeats:
			return nil, append(diags, diag.Failure("Not repeated", errRepeats(r)))
		case KeepRepeats:
			return e.Apply(ctx, p, opts)
		}
	}
	if diags = append(diags, pl.conflicts...); diags.HasErrors() {
		return nil, diags
	}
	r := newRun(e, pl, opts)
	tasks := r.tasksOf(pl.nodes)
	// The result of a deferred task may turn out to be cached, so its resources are checked later.
	if err := sched.Check(tasks, e.opts.Capacity); err != nil {
		return nil, append(diags, diag.Failure("Not enough resources", err))
	}
	if err := r.open(); err != nil {
		return nil, append(diags, diag.Failure("Run cannot be recorded", err))
	}
	return r.execute(ctx, tasks), diags
}

func requireCached(pl *plan.Plan) (diags diag.List) {
	for i := range pl.Steps {
		s := &pl.Steps[i]
		if s.Action == plan.Cached || s.Action == plan.Unneeded {
			continue
		}
		if len(diags) == 10 {
			return append(diags, diag.Failure("Not cached", errors.New("there are more")))
		}
		why := strings.Join(lists.Of(s.Reasons, func(r plan.Reason) string { return r.Text }), "; ")
		if why != "" {
			why = ": " + why
		}
		diags = append(diags, diag.Failure("Not cached", fmt.Errorf("%s is not cached%s; to run it, apply without --require-cached", s.Name, why)))
	}
	return diags
}

// tasksOf returns the given steps that are to be scheduled: those that will run,
// and the deferred ones.
func (r *run) tasksOf(nodes []*node) (tasks []sched.Task) {
	r.scheduled = nil
	for _, n := range r.pl.nodes {
		n.task = -1
	}
	for _, n := range nodes {
		if n.ended || n.idle() {
			continue
		}
		n.task = len(tasks)
		t := r.task(n)
		for _, a := range n.after {
			if a.task >= 0 {
				t.After = append(t.After, a.task)
			}
		}
		if n.same != nil && n.same.task >= 0 {
			t.After = append(t.After, n.same.task)
		}
		tasks = append(tasks, t)
		r.scheduled = append(r.scheduled, n)
	}
	return tasks
}

// needs are the resources that a step leases from the machine that runs it.
func (n *node) needs() sched.Resources {
	l := n.Limits
	return sched.Resources{CPUs: l.CPUs, MemoryBytes: l.MemoryBytes, DiskBytes: l.DiskBytes, GPUs: l.GPUs}
}

// unfitHere explains why this machine can never run a step, or returns "".
func (e *Engine) unfitHere(n *node) string {
	if err := e.opts.Capacity.Check("", n.needs()); err != nil {
		return err.Error()
	}
	return ""
}

func (r *run) task(n *node) sched.Task {
	s, l := n.plan, n.Limits
	t := sched.Task{
		Name:   s.Name,
		Weight: time.Duration(max(s.ExpectedMillis, 1)) * time.Millisecond,
		Needs:  n.needs(),
		Prompt: n.Step.Kind.Results,
		Retry:  sched.Retry{Tries: n.Retry.Tries, Base: n.Retry.Backoff, Max: n.Retry.MaxBackoff},
		Do:     func(ctx context.Context, l sched.Lease) error { return r.do(ctx, n, l) },
	}
	if n.place != nil {
		t.Needs = sched.Resources{} // the place reserves the resources
	} else if !n.Step.Kind.OwnsTimeout {
		t.Timeout = l.Timeout
	}
	if s.Action == plan.Run {
		t.Key = s.ActionID
	} else {
		t.Resolve = func(ctx context.Context) (sched.Resolution, error) { return r.resolve(ctx, n) }
	}
	return t
}

func (r *run) execute(ctx context.Context, tasks []sched.Task) *Result {
	r.announce()
	r.warnUnfit(tasks)
	r.preflight(ctx)
	r.checkSpace(ctx)
	r.refuseUnfit(ctx)
	unsteered := r.steer(ctx)
	sum := r.schedule(ctx)
	unsteered()
	if ctx.Err() == nil {
		r.publish(ctx)
	}
	return r.finish(sum)
}

// warnUnfit warns about deferred steps that exceed this machine's resources,
// once per block. They are not refused, because their results may turn out to
// be cached.
func (r *run) warnUnfit(tasks []sched.Task) {
	var last addr.Step
	for t := range tasks {
		s := r.scheduled[t].plan
		var unfit *sched.UnfitError
		if tasks[t].Resolve == nil || s.Address.Step == last || !errors.As(r.e.opts.Capacity.Check("", tasks[t].Needs), &unfit) {
			continue
		}
		last = s.Address.Step
		r.sink.Emit(event.Warning{At: event.Now(), Address: s.Name, Message: unfit.Error() + "; it will fail unless its result is in the cache"})
	}
}

// errNoSpace is the error of a step that is not started because the disk has
// too little space for the whole run.
var errNoSpace = errors.New("not started: there is not enough disk space for the whole run (see the warning); use --keep-going to run the steps that fit")

// checkSpace warns at the start if the disk space may not suffice for the sizes
// found by the preflight. If even an empty cache could not hold the steps one
// after another, it refuses the steps, so that no hours are spent in vain. A
// run that keeps going tries anyway.
func (r *run) checkSpace(ctx context.Context) {
	for _, n := range r.pl.nodes {
		if n.refused != nil {
			n.estimate = step.Estimate{}
		}
	}
	f := r.e.forecast(ctx, r.pl, r.opts.Parallelism)
	if f.Verdict != plan.TooLarge && f.Verdict != plan.Evicts {
		return
	}
	r.sink.Emit(event.Warning{At: event.Now(), Message: fmt.Sprintf("disk space: %s needed, %s free: %s",
		sched.Bytes(f.NeedBytes), sched.Bytes(max(0, f.AvailableBytes)), f.Warning)})
	if f.Verdict != plan.TooLarge || r.opts.KeepGoing || f.NeedBytes <= spaceEvicting(f.Space) {
		return
	}
	for _, n := range r.pl.nodes {
		if n.plan.Action == plan.Run && n.refused == nil && n.estimate.Bytes() > 0 {
			n.refused = errNoSpace
		}
	}
}

func (r *run) announce() {
	c := r.pl.Counts()
	defer r.warnUnrecorded()
	expected, _, _ := r.expected.left(time.Now())
	r.sink.Emit(event.RunStarted{At: event.Now(), Run: r.result.RunID, Pipeline: r.p.Pipeline.Path, Steps: len(r.pl.Steps),
		ToRun: c.Run, Cached: c.Cached, Deferred: c.Deferred, Resumed: r.resumed, ExpectedMillis: expected.Milliseconds(), Blocks: blocksOf(&r.pl.Plan)})
	r.expected.report()
	for _, one := range r.pl.Renamed {
		r.sink.Emit(event.Warning{At: event.Now(), Message: fmt.Sprintf("%s, which this run does not use: to use them, add a moved block from %s to %s", one, one.From, one.To)})
	}
	r.warnChosen()
	if rs := r.pl.rounds; rs != nil {
		// Other runs may have extended the chain since the plan.
		if err := rs.readChain(r.e, r.result.RunID); err == nil {
			r.pl.trace(r.p)
		}
		for _, state := range rs.states {
			r.sink.Emit(event.Evaluated{At: event.Now(), Evaluation: state})
		}
	}
}

func (r *run) finish(sum *sched.Summary) *Result {
	res := &r.result
	res.Wall = time.Since(r.started)
	res.Status = event.Ran
	switch {
	case sum != nil && sum.Interrupted != nil:
		res.Status = event.Cancelled
	case len(res.Failures) > 0:
		res.Status = event.Failed
	}
	r.outputs()
	c := res.Counts
	r.sink.Emit(event.RunFinished{At: event.Now(), Run: res.RunID, Status: res.Status, Paused: sum != nil && errors.Is(sum.Interrupted, ErrPaused), Ran: c[event.Ran], Cached: c[event.Cached], Failed: c[event.Failed],
		Skipped: c[event.Skipped], Cancelled: c[event.Cancelled], Unneeded: c[event.Unneeded], DurationMillis: res.Wall.Milliseconds(), Mismatch: res.Mismatch()})
	if err := r.close(); err != nil {
		res.Failures = append(res.Failures, Failure{Address: "run history", Err: err})
	}
	return res
}

// outputs evaluates the pipeline's output blocks. A value that is unknown
// because of a target or a failure is reported as unknown.
func (r *run) outputs() {
	for _, o := range r.p.Pipeline.Outputs {
		v, diags := r.p.OutputValue(o)
		out := Output{Name: o.Name, Known: v.Known && !diags.HasErrors()}
		if out.Known {
			out.Value = config.Text(v.Value)
			r.sink.Emit(event.OutputValue{At: event.Now(), Name: o.Name, Value: out.Value, IsString: v.Value.Type() == cty.String, Content: contentOf(v.Content)})
		} else if diags.HasErrors() {
			r.sink.Emit(event.Warning{At: event.Now(), Message: fmt.Sprintf("output %q: %s", o.Name, diags[0].Detail)})
		}
		r.result.Outputs = append(r.result.Outputs, out)
	}
}

// contentOf describes an artifact for an event.
func contentOf(a *step.Artifact) *event.Content {
	if a == nil || a.Ref.IsZero() {
		return nil
	}
	return &event.Content{From: a.From, Output: a.Output, Kind: string(a.Ref.Kind), Bytes: a.Ref.Size, Files: a.Ref.Files}
}

// Explanation lists all known reasons why an instance runs or does not run.
type Explanation struct {
	Plan plan.Step
	// Fields are the fields of its key, or nil if they are unknown.
	Fields []Field
	// Last is the action in the last run, or "" if there was none.
	Last string
}

// Field is one labelled input of a key.
type Field struct {
	Label string `json:"label"`
	Value string `json:"value"`
	// Was is the value in the last run's key, if it differs.
	Was string `json:"was,omitempty"`
}

// Explain plans the pipeline and explains one instance.
func (e *Engine) Explain(ctx context.Context, p *Program, a addr.Instance) (*Explanation, diag.List) {
	i, ok := p.Find(a)
	if !ok {
		return nil, noInstance(p, a)
	}
	pl, diags := e.plan(ctx, p, PlanOptions{})
	if diags.HasErrors() {
		return nil, diags
	}
	x := &Explanation{Plan: *pl.byIndex[i].plan}
	last := pl.last(i).Action
	if !last.IsZero() {
		x.Last = last.String()
	}
	if x.Plan.ActionID == "" {
		return x, diags
	}
	d, more := e.decide(ctx, pl.p, i, true)
	if diags = append(diags, more...); diags.HasErrors() {
		return x, diags
	}
	fields := d.fields
	if now := pl.byIndex[i].decision; now.observed != nil {
		fields = now.record.Fields
	}
	was := map[string]string{}
	if rec, err := e.lookup(ctx, last); err == nil && rec != nil {
		for _, f := range rec.Fields {
			was[f.Label] = f.Value
		}
	}
	for _, f := range fields {
		field := Field{Label: f.Label, Value: f.Value}
		if w, had := was[f.Label]; had && w != f.Value {
			field.Was = w
		}
		x.Fields = append(x.Fields, field)
	}
	return x, diags
}
