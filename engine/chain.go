package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
)

// Commitment is what an apply of a plan would declare in the run history's chain,
// and the number of counted steps.
func (e *Engine) Commitment(p *Program, pl *plan.Plan) (id digest.ContentID, counted int, err error) {
	o, err := opening(p, pl)
	if err != nil {
		return id, 0, err
	}
	l := o.Declaration()
	if e.opts.History != nil {
		l.Prev, err = e.opts.History.Head()
	}
	return l.Commitment(), len(l.Steps), err
}

// counted makes a try, which does step n, and records its beginning and its
// end in the chain if the kind is counted. Nothing is started that cannot be
// counted.
func (r *run) counted(ctx context.Context, n *node, attempt int, do func() error) error {
	kind := n.Step.Kind
	if kind.Counted == nil || r.journal == nil {
		return do()
	}
	l := history.Link{Type: history.Began, Run: r.result.RunID, Step: history.Mark(n.plan.Name), Action: n.decision.id, Try: attempt}
	for _, name := range kind.Counted(n.decision.fields) {
		l.Subjects = append(l.Subjects, history.Mark(name))
	}
	switch {
	case n.forced:
		l.Why = "forced"
	case n.retried:
		l.Why = "retried"
	}
	if err := r.e.opts.History.Extend(l); err != nil {
		return err
	}
	err := do()
	l.Type, l.Why, l.Status = history.Ended, "", history.StatusRan
	switch {
	case err != nil && ctx.Err() != nil:
		l.Status = history.StatusCancelled
	case err != nil:
		l.Status = history.StatusFailed
	case n.found:
		l.Status = history.StatusFound
	default:
		l.Result = ResultID(n.decision.record.Outputs)
		if n.decision.record.Final() == nil {
			l.Status = history.StatusNotFinal
		}
	}
	if failed := r.e.opts.History.Extend(l); err == nil {
		err = failed
	}
	return err
}

// ResultID identifies the content that a step gave, without its small values.
func ResultID(outputs cache.Outputs) digest.ContentID {
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		if ref := outputs[name].Ref; !ref.IsZero() {
			text = append(text, name+" "+string(ref.Kind)+":"+ref.ID.String()+"\n"...)
		}
	}
	return digest.Of(text)
}
