package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/engine/try"
)

// Remote is a remote cache behind the local one. Apply uses it. Plan does not,
// because it uses no network.
type Remote interface {
	// Find looks actions up in the local cache and then in the remote one. The
	// result is nil for an action that neither has completely. Content found in
	// the remote cache is not fetched.
	Find(ctx context.Context, ids []digest.ActionID) []*cache.Record
	// Fetch fetches the missing content of records into the local cache and
	// records them there. It returns the actions whose content could not be
	// fetched completely. Find does not return them again.
	Fetch(ctx context.Context, recs []*cache.Record) (lost []digest.ActionID)
}

// planToApply plans with the remote cache and fetches the content that steps and
// publications may read. If content turns out to be lost, it plans again.
func (e *Engine) planToApply(ctx context.Context, p *Program, opts ApplyOptions) (*planned, diag.List) {
	opts.askRemote = e.opts.Remote != nil
	for {
		pl, diags := e.plan(ctx, p, opts.PlanOptions)
		if diags.HasErrors() {
			return pl, diags
		}
		pl.Publish, pl.conflicts = e.planPublications(ctx, pl, true)
		if !opts.askRemote {
			return pl, diags
		}
		wanted, fetched := append(pl.wanted(), e.unfetched(ctx, pl)...), func() {}
		if opts.Fetching != nil && len(wanted) > 0 {
			fetched = opts.Fetching(wanted)
		}
		lost := e.opts.Remote.Fetch(ctx, wanted)
		if fetched(); len(lost) == 0 || ctx.Err() != nil {
			return pl, diags
		}
	}
}

// wanted returns the results that running steps will or may read.
func (pl *planned) wanted() []*cache.Record {
	var wanted []*cache.Record
	taken := make([]bool, len(pl.nodes))
	for _, n := range pl.nodes {
		if n.plan.Action == plan.Cached || n.place != nil {
			continue
		}
		for _, a := range n.after {
			if a.decision != nil && a.decision.record != nil && !taken[a.at] {
				taken[a.at] = true
				wanted = append(wanted, a.decision.record)
			}
		}
	}
	return wanted
}

// askRemote looks up the decided steps of a block in the remote cache with one
// request.
func (e *Engine) askRemote(ctx context.Context, p *Program, nodes []*node) {
	var ids []digest.ActionID
	var asked []*node
	for _, n := range nodes {
		if n.decision != nil && !n.fresh() {
			ids, asked = append(ids, n.decision.places()...), append(asked, n)
		}
	}
	if len(ids) == 0 {
		return
	}
	found := map[digest.ActionID]*cache.Record{}
	for k, rec := range e.opts.Remote.Find(ctx, ids) {
		found[ids[k]] = rec
	}
	for _, n := range asked {
		_ = e.takeFound(ctx, p, n.index, n.decision, found) // it could be decided before
		n.decide(n.decision)
	}
}

// places returns the actions under which a decided step's result is or may be.
func (d *decision) places() []digest.ActionID {
	if d.record != nil {
		return []digest.ActionID{d.id}
	}
	return lists.Of(d.keys, func(k keyed) digest.ActionID { return k.id })
}

// takeFound updates a decision with what the remote cache has: one of the step's results,
// or not even the one that the local cache had.
func (e *Engine) takeFound(ctx context.Context, p *Program, i int, d *decision, found map[digest.ActionID]*cache.Record) diag.List {
	if d.record == nil {
		_ = d.find(p, i, func(k keyed) (*cache.Record, error) { return found[k.id], nil }) // no error of its own
		return nil
	}
	rec, why := fit(p.Instances[i].Step.Kind, found[d.id])
	if d.record = rec; rec != nil {
		return nil
	}
	other, diags := e.decide(ctx, p, i, true) // the result existed once
	if !diags.HasErrors() {
		*d = *other
		d.ignored = why
	}
	return diags
}

// result returns the result of a decided step that is not to run again, with its content
// in the local cache, or nil.
func (e *Engine) result(ctx context.Context, n *node, id digest.ActionID) (*cache.Record, error) {
	if e.opts.Remote == nil {
		rec, err := e.lookup(ctx, id)
		rec, _ = fit(n.Step.Kind, rec)
		return rec, err
	}
	rec, _ := fit(n.Step.Kind, e.opts.Remote.Find(ctx, []digest.ActionID{id})[0])
	if rec == nil || len(e.opts.Remote.Fetch(ctx, []*cache.Record{rec})) > 0 {
		return nil, ctx.Err()
	}
	return rec, nil
}

// decideAgain asks the remote cache about a step that could only be decided
// now.
func (r *run) decideAgain(ctx context.Context, n *node, d *decision) error {
	ids, found := d.places(), map[digest.ActionID]*cache.Record{}
	for k, rec := range r.e.opts.Remote.Find(ctx, ids) {
		if rec, _ := fit(n.Step.Kind, rec); rec != nil && len(r.e.opts.Remote.Fetch(ctx, []*cache.Record{rec})) == 0 {
			found[ids[k]] = rec
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if diags := r.e.takeFound(ctx, r.p, n.index, d, found); diags.HasErrors() {
		return asError(diags)
	}
	return nil
}

// Here is the name by which a step block chooses this machine.
const Here = "local"

// Elsewhere runs steps on other machines. It is safe for concurrent use.
type Elsewhere interface {
	// Place returns the place where steps of a kind run. on is the place named
	// by their block, or "" if it names none. A nil Place is this machine.
	Place(kind, on string) (*Place, error)
	// Unfit explains why no machine of the place meets a step's needs. It
	// returns "" if one does, if that is unknown, or if the step with this
	// action runs there already. A zero action is not looked for.
	Unfit(ctx context.Context, place string, id digest.ActionID, l step.Limits) string
	// Do runs a step there and returns its result. The content is in the cache
	// or within the cache's reach. The step's own error keeps its marks. Do
	// returns soon after ctx ends. The place decides whether the step
	// continues.
	Do(ctx context.Context, j Job) (Outcome, error)
}

// Place is a place other than this machine where steps run.
type Place struct {
	Name string
	// Where is the location of its declaration, for messages.
	Where string
	// Trusted means that it may receive private content.
	Trusted bool
	// Preemptible means that it often interrupts steps and starts them again.
	Preemptible bool
	// Settles are the values that the place chooses for arguments that leave
	// the choice to the machine, by argument.
	Settles map[string]string
}

// Job is a step for another machine.
type Job struct {
	Place   string
	Address string
	Kind    *step.Kind
	// Args are settled: nothing is left to the machine.
	Args   step.Args
	Action digest.ActionID
	Fields []digest.Field
	// Try counts from 1.
	Try   int
	RunID string
	// Fresh means that an earlier result must not be used.
	Fresh bool
	// Tries counts the earlier tries, as recorded with a final result.
	Tries cache.Tries
	// Sink receives events. Log receives the step's output.
	Sink event.Sink
	Log  io.Writer
	// Requests delivers what people ask of an attempt; nil for other steps. Do puts back
	// what another try is to be asked.
	Requests chan step.Asked
}

// Outcome is the outcome of a step that ran elsewhere.
type Outcome struct {
	// Record is its result, or nil if there is none.
	Record *cache.Record
	// Found means that another process or machine did the work in the meantime.
	Found bool
	// Node is the node of the last try, or "" if there was none.
	Node string
	// FetchedBytes and StoredBytes are the amounts transferred from and to the
	// remote cache for it.
	FetchedBytes, StoredBytes int64
}

// place returns the place where an instance runs. nil is this machine.
func (e *Engine) place(inst *config.Instance) *Place {
	if e.opts.Elsewhere == nil || inst.On == Here {
		return nil
	}
	p, _ := e.opts.Elsewhere.Place(inst.Step.Kind.Name, inst.On) // checkPlace has reported the error
	return p
}

// settling returns the function that settles an instance's arguments at its
// place.
func (e *Engine) settling(inst *config.Instance) settling {
	p := e.place(inst)
	if p == nil {
		return here
	}
	return func(k *step.Kind, args step.Args) (step.Args, []step.Choice, error) {
		args, choices := k.SettleAs(args, p.Settles, fmt.Sprintf("that of the backend %q", p.Name))
		return args, choices, nil
	}
}

// checkPlace checks whether an instance may run at its place.
func (e *Engine) checkPlace(p *Program, i int) diag.List {
	inst := p.Instances[i]
	if e.opts.Elsewhere == nil || inst.On == Here {
		return nil
	}
	diags := e.checkTrust(inst)
	if diags.HasErrors() || e.place(inst) == nil || !p.Known(i) {
		return diags
	}
	args, diags := p.Args(i)
	if !diags.HasErrors() {
		if err := runBudget(args); err != nil {
			diags = append(diags, diag.Error(inst.Step.Range, "Budget of several machines", "%s: %s", inst.Addr, diag.Sentence(err.Error())))
		}
	}
	return diags
}

// checkTrust refuses an unknown place, and private content at an untrusted one.
func (e *Engine) checkTrust(inst *config.Instance) diag.List {
	s := inst.Step
	at := s.Range
	if s.On != nil {
		at = s.On.Range()
	}
	p, err := e.opts.Elsewhere.Place(s.Kind.Name, inst.On)
	if err != nil {
		return diag.List{diag.Error(at, "Unknown place", "%s: %s", inst.Addr, diag.Sentence(err.Error()))}
	}
	if p == nil || p.Trusted {
		return nil
	}
	what := ""
	if inst.Private {
		what = "consumes private content, such as raw data or answers"
	}
	for i := range s.Kind.Outputs {
		if o := &s.Kind.Outputs[i]; o.Secrecy == step.Private {
			what = fmt.Sprintf("has the private output %q", o.Name)
		}
	}
	if what == "" {
		return nil
	}
	return diag.List{diag.Error(at, "Private content on a backend that is not trusted",
		"%s %s, and would run on the backend %q (%s), whose nodes are not trusted with it. Write on = %q in the step, or trusted = true in the backend if its nodes may have it.",
		inst.Addr, what, p.Name, p.Where, Here)}
}

// runBudget refuses arguments with a budget that several machines would share.
func runBudget(args step.Args) error {
	if names := args.RunBudgets(); len(names) > 0 {
		return fmt.Errorf("the model %s has a run_budget, which holds for the attempts of one machine only; write budget, the limit of one attempt, or run the step here with on = %q",
			strings.Join(names, ", "), Here)
	}
	return nil
}

// unfit explains why no machine of the step's place meets its needs. Plan asks, and apply
// asks again: at the start about the steps that are decided, and about each other step once
// it is decided.
func (e *Engine) unfit(ctx context.Context, n *node, id digest.ActionID) string {
	if n.place == nil || n.cached() {
		return ""
	}
	return e.opts.Elsewhere.Unfit(ctx, n.place.Name, id, n.Limits)
}

// lacks returns the requirements of a step that are not met. A step that limits its own
// time, which may be long, needs on_loss where it is often interrupted.
func (e *Engine) lacks(ctx context.Context, inst *config.Instance, s step.Step) []string {
	list := step.Missing(ctx, s)
	if at := e.place(inst); s != nil && at != nil && at.Preemptible && inst.Step.Kind.OwnsTimeout && step.OnLoss(s) == "" {
		list = append(slices.Clip(list), fmt.Sprintf("the backend %q is preemptible, and a step of kind %s without on_loss starts from the beginning after each interruption; write on_loss = \"resume\" or \"restart\"", at.Name, inst.Step.Kind.Name))
	}
	return list
}

// refuseUnfit refuses steps that would wait forever, as far as they are decided.
func (r *run) refuseUnfit(ctx context.Context) {
	for _, n := range r.pl.nodes {
		if n.plan.Action == plan.Run {
			n.refused = cmp.Or(n.refused, r.e.refusal(ctx, n))
		}
	}
}

// refusal is the error of a step that would wait forever, or nil.
func (e *Engine) refusal(ctx context.Context, n *node) error {
	if why := e.unfit(ctx, n, n.decision.id); why != "" {
		return errors.New("not started: " + why)
	}
	return nil
}

// elsewhere runs step n at its place.
func (r *run) elsewhere(ctx context.Context, n *node, l sched.Lease) error {
	c, diags := construct(r.p, n.index, r.e.settling(n.Instance))
	if diags.HasErrors() {
		return asError(diags)
	}
	if err := runBudget(c.args); err != nil {
		return err
	}
	if err := try.StoreLocal(ctx, r.e.opts.Cache, c.args); err != nil {
		return err
	}
	var requests chan step.Asked
	if n.counted() {
		var leave func()
		requests, leave = r.steering.enter(n.plan.Name)
		defer leave()
	}
	var err error
	log := try.Lines(r.sink, n.plan.Name, r.openLog(n.plan.Name, l.Try))
	n.outcome, err = r.e.opts.Elsewhere.Do(ctx, Job{
		Place: n.place.Name, Address: n.plan.Name, Kind: n.Step.Kind, Args: c.args, Action: n.decision.id, Fields: n.decision.fields,
		Try: l.Try, RunID: r.result.RunID, Fresh: n.fresh(), Tries: r.tries(ctx, n, c.Step), Sink: r.sink, Log: log, Requests: requests,
	})
	if err = errors.Join(err, log.Close()); err != nil {
		return err
	}
	rec := n.outcome.Record
	if err := n.Step.Kind.CheckOutputs(rec.Outputs); err != nil {
		return fmt.Errorf("the result that the worker on %s gave cannot be used: %w", n.outcome.Node, err)
	}
	if err := r.checkGiven(n, rec.Outputs); err != nil {
		return err
	}
	n.found = n.outcome.Found
	return r.took(n, rec)
}
