package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// addresses returns the address of an instance, and then its former ones.
func (p *Program) addresses(i int) []addr.Instance {
	a := p.Instances[i].Addr
	return append([]addr.Instance{a}, p.Pipeline.Former(a)...)
}

// renamed returns the fields of a key with today's names, and then with former ones.
func (p *Program) renamed(k *step.Kind, fields []digest.Field) []step.Named {
	return k.Renamed(fields, p.Pipeline.FormerNames)
}

// Recorded returns the fields of a step's key as they were when a record was made: with
// its former names, and in its version of the kind.
func (p *Program) Recorded(k *step.Kind, fields []digest.Field, rec *cache.Record) step.Named {
	list := p.renamed(k, fields)
	other := func(f digest.Field) bool { what, _ := k.NameIn(f); return what != "" && rec.Field(f.Label) != f.Value }
	at := slices.IndexFunc(list, func(as step.Named) bool { return !slices.ContainsFunc(as.Fields, other) })
	as := list[max(0, at)]
	as.Fields, _ = k.As(rec.Field("kind version"), as.Fields)
	return as
}

// last returns what the history knows of an instance, under its address or a former one.
func (pl *planned) last(i int) history.Memory {
	for _, a := range pl.p.addresses(i) {
		if m, known := pl.memory.Last(a.String()); known {
			return m
		}
	}
	return history.Memory{}
}

// lastTry returns the last result of an action, under the names of today or former ones,
// and reports whether there was one that was evicted. If neither is known, counting starts
// here.
func (e *Engine) lastTry(ctx context.Context, p *Program, n *node) (last *cache.Record, evicted bool) {
	for _, as := range p.renamed(n.Step.Kind, n.decision.fields) {
		id := digest.KeyOf(as.Fields)
		if last, _ = e.lookup(ctx, id); last == nil && e.opts.Remote != nil {
			last = e.opts.Remote.Find(ctx, []digest.ActionID{id})[0]
		}
		if last != nil {
			return last, false
		}
		gone, err := e.opts.Cache.Evicted(ctx, id)
		evicted = evicted || err == nil && gone.Reason != corrupt
	}
	return nil, evicted
}

// begun counts the attempts of the same agent that the chain has, under all its names. The
// attempt itself reports a broken chain.
func (e *Engine) begun(p *Program, k *step.Kind, fields []digest.Field) (n int) {
	subjects := map[string]bool{}
	for _, as := range p.renamed(k, fields) {
		subjects[k.Counted(as.Fields)[1]] = true
	}
	for subject := range subjects {
		before, _ := e.opts.History.Begun(subject)
		n += before
	}
	return n
}

// nameless is what a step of a kind observes, by the fields of its key without the names
// of agents and models.
func nameless(k *step.Kind, fields []digest.Field) string {
	own := slices.Clone(fields)
	for i, f := range own {
		if what, _ := k.NameIn(f); what != "" {
			own[i].Value = ""
		}
	}
	return "nameless " + digest.KeyOf(own).String()
}

// otherName is a name of an agent or a model, which is "agent" or "model", and the one
// that it has in a result that is the same in all else.
type otherName struct{ what, from, to string }

// renames finds the agents and models of steps that run of which only the names differ
// from those of results.
func (b *planner) renames(ctx context.Context) {
	names := map[otherName]int{}
	for _, n := range b.pl.nodes {
		d := n.decision
		if n.plan.Action != plan.Run || n.forced || n.retried || !n.Step.Kind.Observes(d.made.Step) {
			continue
		}
		found := map[otherName]bool{}
		for _, id := range b.e.index(ctx, b.p).by[nameless(n.Step.Kind, d.fields)] {
			if rec, err := b.e.lookup(ctx, id); err == nil && rec.Final() != nil {
				addNames(found, n.Step.Kind, rec, d.fields)
			}
		}
		for other := range found {
			names[other]++
		}
	}
	sums := map[plan.Rename]int{}
	for other, n := range names {
		if r := b.rename(other); r.From != "" {
			sums[r] += n
		}
	}
	most := map[string]plan.Rename{}
	for r, n := range sums {
		r.Results = n
		if old := most[r.To]; n > old.Results || n == old.Results && r.From < old.From {
			most[r.To] = r
		}
	}
	b.pl.Renamed = slices.SortedFunc(maps.Values(most), func(r, s plan.Rename) int { return cmp.Compare(r.To, s.To) })
}

// addNames adds the names that differ between a record and a key.
func addNames(found map[otherName]bool, k *step.Kind, rec *cache.Record, fields []digest.Field) {
	for _, f := range fields {
		what, to := k.NameIn(f)
		_, from := k.NameIn(digest.Field{Label: f.Label, Value: rec.Field(f.Label)})
		if what != "" && from != "" && from != to {
			found[otherName{what, from, to}] = true
		}
	}
}

// rename is another name as a moved block writes it: of the whole block, if that has another
// name. It is empty if the pipeline still declares the old one.
func (b *planner) rename(other otherName) (r plan.Rename) {
	from, fromKey, _ := strings.Cut(other.from, "[")
	to, toKey, _ := strings.Cut(other.to, "[")
	switch itself, block := b.p.Declares(other.what, other.from); {
	case fromKey == toKey && !block:
		r.From, r.To = other.what+"."+from, other.what+"."+to
	case !itself && fromKey+toKey != "":
		r.From, r.To = config.Placed(other.what, other.from), config.Placed(other.what, other.to)
	}
	return r
}
