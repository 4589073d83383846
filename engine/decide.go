package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// decision is the knowledge about an instance whose inputs are known.
type decision struct {
	id digest.ActionID
	// fields are the fields of its key, or nil if there is a record.
	fields []digest.Field
	// made is the step, and keys are the keys under which its result may be. keys is nil
	// if there is a record.
	made constructed
	keys []keyed
	// agent is the name of the agent that it runs, or "". choices are the
	// arguments that the machine chose.
	agent   string
	choices []step.Choice
	// observed is set if the record is used although its key is another one.
	observed *plan.Observed
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
	d := demand{missing: e.lacks(ctx, inst, s), unmasked: step.Unmasked(ctx, s), onLoss: step.OnLoss(s)}
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
	list, diags := e.candidates(p, i)
	if diags.HasErrors() {
		return nil, diags
	}
	c := list[0]
	p.SetConditions(i, step.Conditions(c.args, c.Step))
	d := &decision{id: c.key.Sum(), made: c.constructed, choices: c.choices, agent: c.args.Text("agent", "name")}
	if e.place(inst) == nil {
		d.again = step.Again(c.Step)
	}
	d.fields = c.key.Fields()
	if !fresh && d.again == "" {
		if err := e.recall(ctx, p, i, d, list); err != nil {
			return nil, diag.List{diag.Failure("Cache cannot be read", fmt.Errorf("%s: %w", inst.Addr, err))}
		}
		if d.record != nil {
			return d, nil
		}
	}
	d.demand = e.demand(ctx, inst, c.Step)
	return d, nil
}

// recall uses the result of a step, if the local cache has one.
func (e *Engine) recall(ctx context.Context, p *Program, i int, d *decision, list []candidate) error {
	here := func(k keyed) (*cache.Record, error) { return e.lookup(ctx, k.id) }
	if len(list) == 1 { // most results are under the only key of today
		d.keys = []keyed{{id: d.id, choices: d.choices}}
		if err := d.find(p, i, here); err != nil || d.record != nil {
			return err
		}
	}
	if d.keys = p.keys(p.Instances[i].Step.Kind, list); len(d.keys) > 1 {
		if err := d.find(p, i, here); err != nil || d.record != nil {
			return err
		}
	}
	if p.pins.cachedOnly {
		e.useNearest(ctx, p, i, d, list)
	}
	return nil
}

// find uses the first result that a step's keys have.
func (d *decision) find(p *Program, i int, of func(keyed) (*cache.Record, error)) error {
	own := d.id
	for _, k := range d.keys {
		rec, err := of(k)
		if err != nil {
			return err
		}
		rec, why := fit(p.Instances[i].Step.Kind, rec)
		if k.id == own && why != "" {
			d.ignored = why
		}
		if rec != nil {
			d.use(p, i, k, rec)
			return nil
		}
	}
	return nil
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

// results are the results that a run uses: one for each action, however many steps have
// it. So all dependents see the same, and so does the next run.
type results struct {
	// decided has the record of each action, by digest.ActionID: nil if it must run.
	decided sync.Map
}

// newResults returns the results that a plan has decided to use.
func newResults(nodes []*node) *results {
	r := &results{}
	for _, n := range nodes {
		if n.decision != nil {
			r.agree(n.decision.id, n.decision.record)
		}
	}
	return r
}

// of returns the result of an action, or nil if there is none yet.
func (r *results) of(id digest.ActionID) *cache.Record {
	rec, _ := r.decided.Load(id)
	known, _ := rec.(*cache.Record)
	return known
}

// agree decides to use a result of an action, or to run it if it is nil. It returns what
// was decided before, if anything was.
func (r *results) agree(id digest.ActionID, rec *cache.Record) (_ *cache.Record, before bool) {
	was, before := r.decided.LoadOrStore(id, rec)
	return was.(*cache.Record), before
}

// take uses a result, unless it is nil.
func (r *results) take(id digest.ActionID, rec *cache.Record) *cache.Record {
	if rec != nil {
		r.decided.Store(id, rec)
	}
	return rec
}

// corrupt is the tombstone's reason for damaged content.
const corrupt = "corrupt"

// Reasons without a field.
const (
	firstRun  = "first run"
	forced    = "forced"
	retried   = "runs again, as --retry says; its tries are counted"
	volatile  = "reads something that its arguments do not pin, so it always runs"
	forgotten = "the inputs changed; the record of the last run is gone, so what changed is not known"
)

// again explains why a result that is not final is ignored.
func again(rec *cache.Record) string {
	return fmt.Sprintf("runs again: %s: %s", rec.Provisional, rec.Why)
}

// explainMiss explains why an action is not in the cache. last is the last
// action of the address, or zero.
func (e *Engine) explainMiss(ctx context.Context, p *Program, i int, last digest.ActionID, d *decision) []plan.Reason {
	if t, err := e.opts.Cache.Evicted(ctx, d.id); err == nil {
		when := time.UnixMilli(t.EvictedUnixMilli).UTC().Format("2006-01-02 15:04:05Z")
		if t.Reason == corrupt {
			return []plan.Reason{{Text: fmt.Sprintf("its result was found damaged on %s", when)}}
		}
		return []plan.Reason{{Text: fmt.Sprintf("its result was evicted on %s by %s", when, t.Reason)}}
	}
	if !last.IsZero() && last == d.id {
		return []plan.Reason{{Text: "its result is no longer in the cache"}}
	}
	if rec, err := e.lookup(ctx, last); err == nil && rec != nil {
		return diff(rec.Fields, d.fields)
	}
	if p.pins.cachedOnly || p.pins.lock != nil || p.Instances[i].Step.Kind.Observes(d.made.Step) {
		if near, differs := e.nearest(ctx, p, i, d.fields); near != nil {
			return differs
		}
	}
	if last.IsZero() {
		return []plan.Reason{{Text: firstRun}}
	}
	return []plan.Reason{{Text: forgotten}}
}

// diff lists the differing fields of two keys: first in the order of the new
// key, then those that were removed.
func diff(before, after []digest.Field) []plan.Reason {
	old := make(map[string]string, len(before))
	for _, f := range before {
		old[f.Label] = f.Value
	}
	var reasons []plan.Reason
	for _, f := range after {
		from, had := old[f.Label]
		delete(old, f.Label)
		switch {
		case !had:
			reasons = append(reasons, plan.Reason{Field: f.Label, To: f.Value, Text: fmt.Sprintf("%s is new: %s", f.Label, short(f.Value))})
		case from != f.Value:
			a, b := shortPair(from, f.Value)
			reasons = append(reasons, plan.Reason{Field: f.Label, From: from, To: f.Value, Text: fmt.Sprintf("%s changed from %s to %s", f.Label, a, b)})
		}
	}
	for _, f := range before {
		if _, gone := old[f.Label]; gone {
			reasons = append(reasons, plan.Reason{Field: f.Label, From: f.Value, Text: fmt.Sprintf("%s was removed, it was %s", f.Label, short(f.Value))})
		}
	}
	return reasons
}

// maxShown is the maximum length of a value in a reason. before is the length
// of the common prefix that is shown before the first difference of two values.
const (
	maxShown = 60
	before   = 20
)

// shortPair shortens two different values. Of long values it shows the part
// around the first difference.
func shortPair(a, b string) (string, string) {
	if len(a) <= maxShown && len(b) <= maxShown || isDigest(a) {
		return short(a), short(b)
	}
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	from := max(0, same-before)
	for from > 0 && from < len(a) && !utf8.RuneStart(a[from]) {
		from--
	}
	if from == 0 {
		return short(a), short(b)
	}
	return "…" + short(a[from:]), "…" + short(b[from:])
}

func isDigest(v string) bool {
	return len(v) == 2*digest.Size && strings.Trim(v, "0123456789abcdef") == ""
}

// Readable undoes JSON's escapes for HTML.
func Readable(v string) string { return unescaped.Replace(v) }

var unescaped = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// short shortens digests and long strings for people.
func short(v string) string {
	v = Readable(v)
	if isDigest(v) {
		return v[:12]
	}
	if len(v) > maxShown {
		end := maxShown - len("…")
		for !utf8.RuneStart(v[end]) {
			end--
		}
		return v[:end] + "…"
	}
	if v == "" {
		return `""`
	}
	return v
}
