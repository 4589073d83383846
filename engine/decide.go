package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// decision is the knowledge about an instance whose inputs are known.
type decision struct {
	id digest.ActionID
	// fields are the fields of its key, or nil if there is a record.
	fields []digest.Field
	// agent is the name of the agent that it runs, or "". choices are the
	// arguments that the machine chose.
	agent   string
	choices []step.Choice
	// record is the final result of the action, or nil if it must run.
	record *cache.Record
	// ignored is the reason why an earlier result is not used, or "".
	ignored string
	// again is the reason to run in spite of an earlier result, or "".
	again string
	// demand is empty if there is a record.
	demand
}

// demand is what a step needs of its machine, and what it does there.
type demand struct {
	// estimate is the disk space that it needs, and copies are the copies that
	// it makes first. A step elsewhere needs no space here.
	estimate step.Estimate
	copies   []step.Copy
	// spending is its possible spending.
	spending []step.Spending
	// missing lists its requirements that the machine does not meet, and
	// unmasked its secrets that cannot be masked.
	missing, unmasked []string
	// onLoss is what becomes of it if its machine is lost.
	onLoss string
}

// demand returns what an instance needs if it runs. s is nil while its arguments
// are unknown.
func (e *Engine) demand(ctx context.Context, inst *config.Instance, s step.Step) demand {
	d := demand{missing: e.lacks(inst, s), unmasked: step.Unmasked(s), onLoss: step.OnLoss(s)}
	if spender, ok := s.(step.Spender); ok {
		d.spending = spender.Spending()
	}
	if e.place(inst) == nil {
		d.estimate = estimate(s, inst)
		if c, ok := s.(step.Copier); ok {
			d.copies = c.Copies(ctx, e.opts.Cache)
		}
	}
	return d
}

// decide computes the key of instance i and looks it up. If fresh is true, it
// ignores earlier results. No other function chooses between run and cached,
// neither for plan nor for apply.
func (e *Engine) decide(ctx context.Context, p *Program, i int, fresh bool) (*decision, diag.List) {
	inst := p.Instances[i]
	c, diags := construct(p, i, e.settling(inst))
	if diags.HasErrors() {
		return nil, diags
	}
	h, err := step.Key(inst.Step.Kind, c.args, c.Step)
	if err != nil {
		return nil, diag.List{diag.Error(inst.Step.Range, "Inputs cannot be read", "%s: %s", inst.Addr, diag.Sentence(err.Error()))}
	}
	p.SetConditions(i, step.Conditions(c.args, c.Step))
	d := &decision{id: h.Sum(), choices: c.choices, agent: c.args.Text("agent", "name")}
	if e.place(inst) == nil {
		d.again = step.Again(c.Step)
	}
	if !fresh && d.again == "" {
		rec, err := e.lookup(ctx, d.id)
		if err != nil {
			return nil, diag.List{diag.Failure("Cache cannot be read", fmt.Errorf("%s: %w", inst.Addr, err))}
		}
		if d.record, d.ignored = fit(inst.Step.Kind, rec); d.record != nil {
			return d, nil
		}
	}
	d.fields, d.demand = h.Fields(), e.demand(ctx, inst, c.Step)
	return d, nil
}

// fit returns the record of a step, or nil and the reason if it is not final, or does
// not have the outputs that the kind declares. Such a step runs again.
func fit(k *step.Kind, rec *cache.Record) (_ *cache.Record, why string) {
	if rec == nil {
		return nil, ""
	}
	if rec.Final() == nil {
		return nil, again(rec)
	}
	if err := k.CheckOutputs(rec.Outputs); err != nil {
		return nil, fmt.Sprintf("runs again: its earlier result cannot be used: %v", err)
	}
	return rec, ""
}

// lookup returns the record of an action, or nil if there is none.
func (e *Engine) lookup(ctx context.Context, id digest.ActionID) (*cache.Record, error) {
	rec, err := e.opts.Cache.Lookup(ctx, id)
	if errors.Is(err, cache.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up action %s: %w", id.Short(), err)
	}
	return rec, nil
}
