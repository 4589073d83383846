package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/engine/try"
)

// Here is the name by which a step block chooses this machine.
const Here = "local"

// Elsewhere runs steps on other machines. It is safe for concurrent use.
type Elsewhere interface {
	// Place returns the place where steps of a kind run. on is the place named
	// by their block, or "" if it names none. A nil Place is this machine.
	Place(kind, on string) (*Place, error)
	// Unfit explains why no machine of the place meets a step's needs. It
	// returns "" if one does, or if that is unknown.
	Unfit(ctx context.Context, place string, l step.Limits) string
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

// unfit explains why no machine of the step's place meets its needs.
func (e *Engine) unfit(ctx context.Context, n *node) string {
	if n.place == nil || n.cached() {
		return ""
	}
	return e.opts.Elsewhere.Unfit(ctx, n.place.Name, n.Limits)
}

// placeAll fills in where the steps of a plan would run.
func (e *Engine) placeAll(ctx context.Context, pl *planned) {
	for _, n := range pl.nodes {
		if n.place != nil && !n.cached() {
			n.plan.On, n.plan.Unfit = n.place.Name, e.unfit(ctx, n)
		}
	}
}

// lacks returns the requirements of a step that are not met. A step that limits its own
// time, which may be long, needs on_loss where it is often interrupted.
func (e *Engine) lacks(inst *config.Instance, s step.Step) []string {
	list := step.Missing(s)
	if at := e.place(inst); s != nil && at != nil && at.Preemptible && inst.Step.Kind.OwnsTimeout && step.OnLoss(s) == "" {
		list = append(slices.Clip(list), fmt.Sprintf("the backend %q is preemptible, and a step of kind %s without on_loss starts from the beginning after each interruption; write on_loss = \"resume\" or \"restart\"", at.Name, inst.Step.Kind.Name))
	}
	return list
}

// refuseUnfit refuses steps that would wait forever.
func (r *run) refuseUnfit(ctx context.Context) {
	for _, n := range r.pl.nodes {
		if why := r.e.unfit(ctx, n); why != "" && n.plan.Action == plan.Run {
			n.refused = errors.New("not started: " + why)
		}
	}
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
	var err error
	log := try.Lines(r.sink, n.plan.Name, r.openLog(n.plan.Name, l.Try))
	n.outcome, err = r.e.opts.Elsewhere.Do(ctx, Job{
		Place: n.place.Name, Address: n.plan.Name, Kind: n.Step.Kind, Args: c.args, Action: n.decision.id, Fields: n.decision.fields,
		Try: l.Try, RunID: r.result.RunID, Fresh: n.fresh(), Tries: r.e.tries(ctx, n, c.Step), Sink: r.sink, Log: log,
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
	r.took(n, rec)
	return nil
}
