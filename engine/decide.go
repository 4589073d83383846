package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// decision is what is known about an instance once its inputs are known.
type decision struct {
	id digest.ActionID
	// fields are the fields of its key; nil if there is a record.
	fields []digest.Field
	// choices are what the machine chose for its arguments.
	choices []step.Choice
	// record is what the action gave before; nil if it must run.
	record *cache.Record
	// provisional is what it gave before that is not final; nil if there is none.
	provisional *cache.Record
	// again says why it runs whatever it gave before.
	again string
	// estimate is the space it needs; there is none with a record.
	estimate step.Estimate
	// missing is what it needs and this machine lacks; none with a record.
	missing []string
	// copies are what it copies, and spending what it may spend; none with a
	// record.
	copies   []step.Copy
	spending []step.Spending
}

// spendingOf is what a step may spend if it runs; s is nil while its arguments
// are unknown.
func spendingOf(s step.Step) []step.Spending {
	if spender, ok := s.(step.Spender); ok {
		return spender.Spending()
	}
	return nil
}

// decide computes the key of instance i and looks it up, unless fresh says that
// an earlier result must not be used. This is the only place that decides
// between run and cached, for plan and apply alike.
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
	d := &decision{id: h.Sum(), fields: h.Fields(), choices: c.choices}
	d.spending, d.missing = spendingOf(c.Step), step.Missing(c.Step)
	if e.place(inst) == nil { // elsewhere it needs no space here
		d.estimate, d.copies = estimate(c.Step, inst), e.copiesOf(ctx, c.Step)
		d.again = step.Again(c.Step)
	}
	if fresh || d.again != "" {
		return d, nil
	}
	rec, err := e.lookup(ctx, d.id)
	if err != nil {
		return nil, diag.List{diag.Failure("Cache cannot be read", fmt.Errorf("%s: %w", inst.Addr, err))}
	}
	if d.record = rec.Final(); d.record == nil {
		d.provisional = rec
	} else {
		d.fields, d.estimate, d.copies, d.spending, d.missing = nil, step.Estimate{}, nil, nil, nil // the fields are in the record
	}
	return d, nil
}

// lookup returns the record of an action, or nil.
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
