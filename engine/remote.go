package engine

import (
	"context"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/plan"
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

// planToApply plans with the remote cache and fetches the content that steps
// may read. If content turns out to be lost, it plans again.
func (e *Engine) planToApply(ctx context.Context, p *Program, opts ApplyOptions) (*planned, diag.List) {
	opts.askRemote = e.opts.Remote != nil
	for {
		pl, diags := e.plan(ctx, p, opts.PlanOptions)
		if !opts.askRemote || diags.HasErrors() {
			return pl, diags
		}
		wanted, fetched := pl.wanted(), func() {}
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
			ids, asked = append(ids, n.decision.id), append(asked, n)
		}
	}
	if len(ids) == 0 {
		return
	}
	for k, rec := range e.opts.Remote.Find(ctx, ids) {
		n := asked[k]
		rec, why := fit(n.Step.Kind, rec)
		if rec == nil && n.decision.record != nil { // the result existed once
			if d, _ := e.decide(ctx, p, n.index, true); d != nil {
				n.decide(d)
			}
		}
		if why != "" {
			n.decision.ignored = why
		}
		if rec != nil {
			n.decision.record, n.decision.fields = rec, nil
		}
	}
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
	rec, err := r.e.result(ctx, n, d.id)
	switch {
	case err != nil:
		return err
	case rec != nil:
		d.record, d.fields = rec, nil
	case d.record != nil: // the result existed once
		other, diags := r.e.decide(ctx, r.p, n.index, true)
		if diags.HasErrors() {
			return asError(diags)
		}
		*d = *other
	}
	return nil
}
