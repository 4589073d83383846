package engine

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/parallel"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/lockfile"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/engine/try"
)

// Verdict is the result of verifying one step.
type Verdict string

// The verdicts. Only Same, Intact and Unrun are good.
const (
	// Same: running it again from the recorded inputs gave the same outputs.
	Same Verdict = "same"
	// Intact: it cannot be run again, because it varies or fetches, but its
	// recorded outputs were read and are unchanged.
	Intact Verdict = "intact"
	// Unrun: it had no result in the run.
	Unrun Verdict = "not run"
	// Differs: its key or its outputs differ from those of the run.
	Differs Verdict = "differs"
	// Missing: its result or an input is no longer in the cache.
	Missing Verdict = "missing"
	// Broken: it failed, or its content is damaged.
	Broken Verdict = "broken"
)

// Good reports whether the verdict confirms the run.
func (v Verdict) Good() bool { return v == Same || v == Intact || v == Unrun }

// Verified is the verdict on one step.
type Verified struct {
	Address    string               `json:"address"`
	Kind       string               `json:"kind"`
	Verdict    Verdict              `json:"verdict"`
	Deviations []lockfile.Deviation `json:"deviations,omitempty"`
	Error      string               `json:"error,omitempty"`
	Seconds    float64              `json:"seconds"`
}

// VerifyOptions configure a verification.
type VerifyOptions struct {
	// Selected selects kinds; nil means all.
	Selected func(kind string) bool
	// Chosen selects addresses; nil means all.
	Chosen func(address string) bool
	// Parallelism is the maximum number of concurrent steps. 0 means one per
	// processor.
	Parallelism int
	// Done, if set, is called with each verdict. Calls do not overlap.
	Done func(Verified)
}

// Verify runs the deterministic steps of a run again, each from its recorded
// inputs, and compares the outputs with the recorded ones. p is the pipeline of
// the run with its variables. Nothing is recorded. The verdicts are in
// dependency order.
func (e *Engine) Verify(ctx context.Context, p *Program, past *history.Summary, opts VerifyOptions) ([]Verified, diag.List) {
	v := &verifier{e: e, p: p, opts: opts, ran: make(map[string]history.StepSummary, len(past.Steps))}
	for _, s := range past.Steps {
		v.ran[s.Address] = s
	}
	list := make([]Verified, 0, len(p.Instances))
	var jobs []func()
	for i, inst := range p.Instances {
		kind := inst.Step.Kind
		rec, verdict := v.recall(ctx, i)
		if opts.Selected != nil && !opts.Selected(kind.Name) || opts.Chosen != nil && !opts.Chosen(inst.Addr.String()) {
			continue
		}
		verdict.Address, verdict.Kind = inst.Addr.String(), kind.Name
		list = append(list, verdict)
		n := len(list) - 1
		if rec != nil {
			// Construct now, while all inputs are set.
			made, diags := construct(p, i, recalled(rec.Fields))
			jobs = append(jobs, func() { v.settle(ctx, &list[n], kind, rec, made, diags) })
			continue
		}
		v.report(list[n])
	}
	v.run(jobs)
	if err := ctx.Err(); err != nil {
		return nil, diag.List{diag.Failure("Interrupted", err)}
	}
	return list, nil
}

// verifier is a verification in progress.
type verifier struct {
	e    *Engine
	p    *Program
	opts VerifyOptions
	ran  map[string]history.StepSummary
	mu   sync.Mutex
}

// run does the jobs, several at a time.
func (v *verifier) run(jobs []func()) {
	n := v.opts.Parallelism
	if n <= 0 {
		n = max(1, int(v.e.opts.Capacity.CPUs))
	}
	parallel.Do(len(jobs), n, func(i int) { jobs[i]() })
}

func (v *verifier) report(verdict Verified) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.opts.Done != nil {
		v.opts.Done(verdict)
	}
}

// recall finds the outputs of instance i in the run and passes them to its
// dependents. Without a record, the verdict gives the reason.
func (v *verifier) recall(ctx context.Context, i int) (*cache.Record, Verified) {
	inst := v.p.Instances[i]
	past, found := v.ran[inst.Addr.String()]
	if !found || past.Action == "" {
		return nil, Verified{Verdict: Unrun}
	}
	for _, d := range inst.Deps {
		if at := v.p.Instances[d].Addr.String(); v.ran[at].Action == "" {
			return nil, Verified{Verdict: Missing, Error: at + " has no result"}
		}
	}
	id, err := digest.ParseActionID(past.Action)
	if err != nil {
		return nil, Verified{Verdict: Broken, Error: err.Error()}
	}
	rec, err := v.e.lookup(ctx, id)
	switch {
	case err != nil:
		return nil, Verified{Verdict: Broken, Error: err.Error()}
	case rec == nil:
		past.Action = ""
		v.ran[inst.Addr.String()] = past
		return nil, Verified{Verdict: Missing, Error: "its result is no longer in the cache"}
	}
	v.p.SetOutputs(i, rec.Outputs)
	v.p.SetConditions(i, step.RecordedConditions(rec.Fields, rec.Tries))
	verdict := Verified{}
	for name, was := range past.Outputs {
		if is := shownOutputs(rec.Outputs)[name]; is != was {
			verdict.Deviations = append(verdict.Deviations, lockfile.Deviation{Address: inst.Addr.String(), Field: "output " + name, Was: was, Is: is})
		}
	}
	return rec, verdict
}

// settle determines the verdict on a step with a record, constructed again.
func (v *verifier) settle(ctx context.Context, out *Verified, kind *step.Kind, rec *cache.Record, c constructed, diags diag.List) {
	started := time.Now()
	defer func() {
		out.Seconds = time.Since(started).Seconds()
		v.report(*out)
	}()
	if diags.HasErrors() {
		out.Verdict, out.Error = Broken, asError(diags).Error()
		return
	}
	h, err := step.Key(kind, c.args, c.Step)
	if err != nil {
		out.Verdict, out.Error = Broken, err.Error()
		return
	}
	was := lockfile.Step{Inputs: lockfile.Inputs(rec.Fields), Outputs: lockfile.Outputs(rec.Outputs)}
	then := v.p.Recorded(kind, h.Fields(), rec).Fields
	out.Deviations = slices.DeleteFunc(append(out.Deviations, was.CheckInputs(lockfile.Inputs(then))...),
		func(d lockfile.Deviation) bool { return kind.ByProgram(d.Field) })
	var gave cache.Outputs
	varies := kind.Varies || kind.Volatile || step.Varies(c.Step)
	if !varies {
		gave, err = v.again(ctx, out.Address, kind, rec, c)
		_, fetches := c.Step.(step.Preflighter)
		varies = fetches && err != nil
	}
	switch {
	case varies:
		out.Verdict = Intact
		err = v.intact(ctx, rec.Outputs)
	case err == nil:
		out.Verdict = Same
		out.Deviations = append(out.Deviations, was.CheckOutputs(lockfile.Outputs(gave))...)
	}
	for i := range out.Deviations {
		out.Deviations[i].Address = out.Address
	}
	switch {
	case errors.Is(err, cache.ErrNotFound):
		out.Verdict, out.Error = Missing, err.Error()
	case err != nil:
		out.Verdict, out.Error = Broken, err.Error()
	case len(out.Deviations) > 0:
		out.Verdict = Differs
	}
}

// again runs a step as an apply would.
func (v *verifier) again(ctx context.Context, address string, kind *step.Kind, rec *cache.Record, c constructed) (cache.Outputs, error) {
	if limit := c.args.Limits.Timeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	t := try.Try{
		Kind: kind, Args: c.args, Action: rec.Action, Address: address, Number: 1, RunID: "verify",
		Cache: v.e.opts.Cache, Sink: event.SinkFunc(func(event.Event) {}),
	}
	made, err := t.Run(ctx)
	if err != nil {
		return nil, err
	}
	return made.Outputs, nil
}

// intact reads all content of an action's outputs. The store verifies it.
func (v *verifier) intact(ctx context.Context, outputs cache.Outputs) error {
	for _, o := range outputs {
		switch o.Ref.Kind {
		case cache.Blob:
			if err := v.read(ctx, o.Ref.ID); err != nil {
				return err
			}
		case cache.Tree:
			err := tree.Walk(ctx, v.e.opts.Cache, o.Ref, func(_ string, entry tree.Entry) error {
				if entry.IsDir() {
					return nil
				}
				return v.read(ctx, entry.ID)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *verifier) read(ctx context.Context, id digest.ContentID) error {
	r, err := v.e.opts.Cache.Open(ctx, id)
	if err != nil {
		return err
	}
	_, err = cache.Copy(ctx, io.Discard, r)
	return errors.Join(err, r.Close())
}
