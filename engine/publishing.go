package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/local"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/publish"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/engine/try"
)

// planPublications predicts the effect on the paths to which results are
// published. It refuses only certain conflicts: a path with other content may
// turn out to hold exactly the result of a step. The diagnostics are for apply.
// Without network, no content is fetched for the comparison.
func (e *Engine) planPublications(ctx context.Context, pl *planned, network bool) (list []plan.Publication, diags diag.List) {
	if e.opts.Places == nil {
		return nil, nil
	}
	p := pl.p
	for i := range p.Publications {
		pub := &p.Publications[i]
		if !selectedFor(p, pl, pub) {
			continue
		}
		out := plan.Publication{From: pub.From(p.Graph), To: pub.To}
		var ref cache.Ref
		var err error
		if network || e.opts.Remote == nil || pub.Output != nil { // otherwise comparing content may fetch it
			ref, err = e.published(ctx, p, pub, cache.HashOnly{})
		}
		var state publish.State
		if err == nil {
			state, err = e.opts.Places.Look(ctx, target(pub, ref))
			out.Placing, out.Text = placing(state, !ref.IsZero(), pub.Path)
		}
		lost := e.opts.Remote != nil && (errors.Is(err, cache.ErrNotFound) || errors.Is(err, cache.ErrCorrupt))
		if lost {
			out.Placing, err = plan.Undecided, nil // apply fetches it, or makes it again
		}
		if lost || state == publish.New || state == publish.Changed {
			pl.writes = append(pl.writes, pub)
		}
		if err != nil {
			out.Placing, out.Text = plan.Refused, err.Error()
		}
		if out.Placing == plan.Refused {
			d := diag.Failure("Cannot be published", errors.New(out.From+": "+out.Text))
			d.Subject = pub.Range.Ptr()
			diags = append(diags, d)
		}
		list = append(list, out)
	}
	return list, diags
}

// unfetched returns the results whose content is to be published and is not here, even
// after asking the remote cache for it.
func (e *Engine) unfetched(ctx context.Context, pl *planned) (recs []*cache.Record) {
	for _, pub := range pl.writes {
		instances, refs := contents(pl.p, pub)
		if !slices.ContainsFunc(refs, func(ref cache.Ref) bool { return local.Present(ctx, e.opts.Cache, ref) != nil }) {
			continue
		}
		for _, i := range instances {
			if d := pl.byIndex[i].decision; d != nil && d.record != nil {
				recs = append(recs, d.record)
			}
		}
	}
	return recs
}

// contents returns the published content that is in a store, and the instances that
// made it.
func contents(p *Program, pub *config.Publication) (instances []int, refs []cache.Ref) {
	if pub.Output != nil {
		if v, diags := p.OutputValue(pub.Output); !diags.HasErrors() && v.Content != nil && !v.Content.Ref.IsZero() {
			refs = append(refs, v.Content.Ref)
		}
		return p.OutputInstances(pub.Output), refs
	}
	for name, v := range p.Outputs(pub.Instance) {
		if !v.Ref.IsZero() && (pub.Name == "" || pub.Name == name) {
			refs = append(refs, v.Ref)
		}
	}
	return []int{pub.Instance}, refs
}

// selectedFor reports whether the published content is part of the plan.
func selectedFor(p *Program, pl *planned, pub *config.Publication) bool {
	if pub.Output == nil {
		return pl.byIndex[pub.Instance] != nil
	}
	return !slices.ContainsFunc(p.OutputInstances(pub.Output), func(i int) bool { return pl.byIndex[i] == nil })
}

func placing(state publish.State, known bool, path string) (plan.Placing, string) {
	switch {
	case !known && state == publish.Foreign:
		return plan.Undecided, "the path holds something that mleflow did not write; it is not replaced"
	case !known:
		return plan.Undecided, ""
	case state == publish.New:
		return plan.Write, ""
	case state == publish.Same:
		return plan.Unchanged, ""
	case state == publish.Changed:
		return plan.Replace, ""
	}
	return plan.Refused, (&publish.ForeignError{Path: path}).Error()
}

func target(pub *config.Publication, ref cache.Ref) publish.Target {
	return publish.Target{Path: pub.Path, Base: pub.Base, Ref: ref, Link: pub.Link, Private: pub.Private}
}

// published returns the content to be published as one blob or tree, and
// creates it in the store if necessary. It returns zero while the content is
// unknown.
func (e *Engine) published(ctx context.Context, p *Program, pub *config.Publication, store cache.Building) (cache.Ref, error) {
	if pub.Output != nil {
		v, diags := p.OutputValue(pub.Output)
		switch {
		case diags.HasErrors() || !v.Known:
			return cache.Ref{}, nil
		case v.Private != "" && !pub.Private:
			return cache.Ref{}, fmt.Errorf("it turns out to be made from %s, which is private; to publish it anyway, write private = true", v.Private)
		case v.Content != nil:
			return v.Content.Ref, try.StoreLocal(ctx, store, step.ArgsOf(cty.ObjectVal(map[string]cty.Value{"content": step.NewArtifact(v.Content)})))
		}
		text := config.Text(v.Value)
		if v.Value.Type() != cty.String {
			text += "\n"
		}
		return cache.Put(ctx, store, bytes.NewReader([]byte(text)), cache.Ref{})
	}
	outputs := p.Outputs(pub.Instance)
	if outputs == nil {
		return cache.Ref{}, nil
	}
	if v := outputs[pub.Name]; !v.Ref.IsZero() {
		return v.Ref, nil
	} else if pub.Name != "" {
		ref, _, err := e.file(ctx, v, store)
		return ref, err
	}
	var entries []tree.Entry
	for name, v := range outputs {
		ref, suffix, err := e.file(ctx, v, store)
		if err != nil {
			return cache.Ref{}, err
		}
		entries = append(entries, tree.NewEntry(name+suffix, ref, false))
	}
	return tree.Put(ctx, store, entries)
}

// file returns an output as a file or folder, with the suffix for its type.
func (e *Engine) file(ctx context.Context, v cache.Value, store cache.Building) (ref cache.Ref, suffix string, err error) {
	switch v.Ref.Kind {
	case cache.Tree:
		return v.Ref, "", nil
	case cache.Blob:
		suffix, err := publish.Suffix(ctx, e.opts.Cache, v.Ref)
		return v.Ref, suffix, err
	}
	text, err := publish.JSON(v.JSON)
	if err != nil {
		return ref, "", err
	}
	ref, err = cache.Put(ctx, store, bytes.NewReader(text), cache.Ref{})
	return ref, ".json", err
}

// publish publishes all known results.
func (r *run) publish(ctx context.Context) {
	if r.e.opts.Places == nil {
		return
	}
	for i := range r.p.Publications {
		pub := &r.p.Publications[i]
		if !selectedFor(r.p, r.pl, pub) {
			continue
		}
		ref, err := r.e.published(ctx, r.p, pub, r.e.opts.Cache)
		if err == nil && ref.IsZero() {
			continue // its step did not succeed
		}
		if err == nil && !pub.Private {
			err = checkLeaks(r.p, pub, ref)
		}
		var state publish.State
		if err == nil {
			state, err = r.put(ctx, pub, target(pub, ref))
		}
		ev := event.Published{At: event.Now(), From: pub.From(r.p.Graph), To: pub.To, Unchanged: state == publish.Same}
		if err != nil {
			ev.Error = err.Error()
			r.result.Failures = append(r.result.Failures, Failure{Address: "publish " + ev.From, Err: fmt.Errorf("publish %s to %s: %w", ev.From, ev.To, err)})
		}
		r.sink.Emit(ev)
	}
}

// checkLeaks refuses to publish outputs that have the value of a secret.
func checkLeaks(p *Program, pub *config.Publication, ref cache.Ref) error {
	instances := []int{pub.Instance}
	if pub.Output != nil {
		instances = p.OutputInstances(pub.Output)
	}
	for _, i := range instances {
		for _, name := range step.ConditionValues(p.Conditions(i), step.SecretIn) {
			if v, has := p.Outputs(i)[name]; has && (v.Ref == ref || pub.Output == nil && pub.Name == "") {
				return fmt.Errorf("the value of a secret is in the output %s; replace the secret and run the attempt again, or write private = true to read it yourself", name)
			}
		}
	}
	return nil
}

// publishEvery is the interval between reports of a publication's progress.
const publishEvery = time.Second

// put publishes one target and reports progress.
func (r *run) put(ctx context.Context, pub *config.Publication, t publish.Target) (publish.State, error) {
	t.Work = &progress.Work{}
	defer progress.Every(publishEvery, func() {
		if state := t.Work.Now(); state.What != "" {
			r.sink.Emit(event.Publishing{At: event.Now(), From: pub.From(r.p.Graph), To: pub.To, Progress: step.ProgressOf(state)})
		}
	})()
	return r.e.opts.Places.Put(ctx, r.e.opts.Cache, t)
}
