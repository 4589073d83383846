package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/lockfile"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// pins restrict a plan's choices to those of results that exist.
type pins struct {
	// lock is a lock that the run must match, or nil.
	lock *lockfile.File
	// cachedOnly means that nothing may run, so this machine's own choices do not matter.
	cachedOnly bool
}

// settlings returns further ways to settle what an instance leaves to the machine: as the
// lock does and, if nothing may run, with every value that the kind allows.
func (p *pins) settlings(inst *config.Instance) (list []settling) {
	with := func(values map[string]string, why string) settling {
		return func(k *step.Kind, args step.Args) (step.Args, []step.Choice, error) {
			args, choices := k.SettleAs(args, values, why)
			return args, choices, nil
		}
	}
	if p.lock != nil {
		if s, found := p.lock.Find(inst.Addr); found {
			list = append(list, with(s.Inputs, "the lock has it"))
		}
	}
	for _, a := range inst.Step.Kind.Args {
		for _, value := range a.OneOf {
			if p.cachedOnly && a.Open != "" && value != a.Open {
				list = append(list, with(map[string]string{a.Name: value}, "its result is in the cache"))
			}
		}
	}
	return list
}

// candidate is a step whose inputs are known, with its key. The key is incomplete if this
// machine cannot provide all fields.
type candidate struct {
	constructed
	key   *digest.Hasher
	lacks bool
}

func candidateOf(p *Program, i int, settle settling) (c candidate, diags diag.List) {
	inst := p.Instances[i]
	if c.constructed, diags = construct(p, i, settle); diags.HasErrors() {
		return c, diags
	}
	var err error
	if c.key, err = step.Key(inst.Step.Kind, c.args, c.Step); err != nil {
		c.lacks = true
		diags = diag.List{diag.Error(inst.Step.Range, "Inputs cannot be read", "%s: %s", inst.Addr, diag.Sentence(err.Error()))}
	}
	return c, diags
}

// candidates returns the step as this machine makes it, and as others may have made it
// whose results can be used. If this machine cannot make it, the first is one of those.
func (e *Engine) candidates(p *Program, i int) ([]candidate, diag.List) {
	inst := p.Instances[i]
	c, diags := candidateOf(p, i, e.settling(inst))
	if !p.pins.cachedOnly && (p.pins.lock == nil || diags.HasErrors()) {
		return []candidate{c}, diags
	}
	var list []candidate
	add := func(c candidate, diags diag.List) {
		if c.key != nil && (p.pins.cachedOnly || !diags.HasErrors()) {
			list = append(list, c)
		}
	}
	add(c, diags)
	for _, settle := range p.pins.settlings(inst) {
		if c, diags := candidateOf(p, i, settle); len(c.choices) > 0 {
			add(c, diags)
		}
	}
	if len(list) > 0 {
		diags = nil
	}
	return list, diags
}

// keyed is a key under which the result of a step may be.
type keyed struct {
	id       digest.ActionID
	choices  []step.Choice
	observed *plan.Observed
}

// keys returns the keys under which the result of a step may be, the preferred first:
// those of this version of the kind, then those of older ones whose results stay valid.
func (p *Program) keys(k *step.Kind, made []candidate) (list []keyed) {
	for _, c := range made {
		list = append(list, keyed{id: c.key.Sum(), choices: c.choices})
	}
	if p.pins.lock != nil && len(list) > 1 { // the lock's choices come before the machine's
		list[0], list[1] = list[1], list[0]
	}
	if !k.Observes(made[0].Step) {
		return list
	}
	for _, c := range made {
		for _, as := range p.renamed(k, c.key.Fields()) {
			if as.Names != nil {
				list = append(list, keyed{digest.KeyOf(as.Fields), c.choices, &plan.Observed{Version: k.Version, Names: as.Names}})
			}
			for _, v := range k.Observation.Earlier {
				then, lacked := k.As(v.Version, as.Fields)
				list = append(list, keyed{digest.KeyOf(then), c.choices, &plan.Observed{Version: v.Version, NotRecorded: lacked, Names: as.Names}})
			}
		}
	}
	return list
}

// use uses the record of one of a step's keys, with the conditions that were recorded.
func (d *decision) use(p *Program, i int, k keyed, rec *cache.Record) {
	if k.id != d.id {
		p.SetConditions(i, step.RecordedConditions(rec.Fields, cache.Tries{}))
	}
	d.id, d.choices, d.observed = k.id, k.choices, k.observed
	d.record, d.fields, d.keys = rec, nil, nil
}

// useNearest uses the nearest result if it differs only by fields that this machine cannot
// provide, such as the digest of an image that it does not have. If not, the decision is
// about the candidate that a result is nearest to, so that a miss names what differs.
func (e *Engine) useNearest(ctx context.Context, p *Program, i int, d *decision, list []candidate) {
	k, least := p.Instances[i].Step.Kind, -1
	for _, c := range list {
		near, differs := e.nearest(ctx, p, i, c.key.Fields())
		if near == nil {
			continue
		}
		lacks := c.lacks && !slices.ContainsFunc(differs, func(r plan.Reason) bool { return r.To != "" || k.Written(c.Step, r.Field) })
		if rec, _ := fit(k, near); rec != nil && lacks {
			d.use(p, i, keyed{id: rec.Action, choices: c.choices}, rec)
			return
		}
		if least < 0 || len(differs) < least {
			least = len(differs)
			d.id, d.made, d.choices, d.fields = c.key.Sum(), c.constructed, c.choices, c.key.Fields()
		}
	}
}

// neighbours finds the records that resemble a step. They are indexed once in a plan, if
// something has to be explained.
type neighbours struct {
	once sync.Once
	// by has the actions by kind and address, and by what was observed. maker has the
	// action that made some content.
	by    map[string][]digest.ActionID
	maker map[made]digest.ActionID
}

// made is content that a step of a kind made.
type made struct {
	kind string
	id   digest.ContentID
}

// named is what a step of a kind observes, by the fields of its key.
func named(k *step.Kind, fields []digest.Field) string {
	rec := cache.Record{Fields: fields}
	return strings.Join(append(lists.Of(k.Observation.Names, rec.Field), k.Name), "\x00")
}

// index reads all records. What cannot be read resembles nothing.
func (e *Engine) index(ctx context.Context, p *Program) *neighbours {
	p.near.once.Do(func() {
		p.near.by, p.near.maker = map[string][]digest.ActionID{}, map[made]digest.ActionID{}
		_ = e.opts.Cache.Each(ctx, func(rec *cache.Record) error {
			at := rec.Kind + "\n" + rec.Address
			p.near.by[at] = append(p.near.by[at], rec.Action)
			if k := e.opts.Kinds.Kind(rec.Kind); k != nil && k.Observation != nil {
				for _, at := range []string{named(k, rec.Fields), nameless(k, rec.Fields)} {
					p.near.by[at] = append(p.near.by[at], rec.Action)
				}
			}
			for ref := range rec.Outputs.Refs() {
				p.near.maker[made{rec.Kind, ref.ID}] = rec.Action
			}
			return nil
		})
	})
	return p.near
}

// maxNear is the number of records that are compared with a step, the newest.
const maxNear = 64

// nearest returns the final result whose key differs least from fields, among those at the
// same address and those of the same observation, and how the key differs from it.
func (e *Engine) nearest(ctx context.Context, p *Program, i int, fields []digest.Field) (*cache.Record, []plan.Reason) {
	k, ix := p.Instances[i].Step.Kind, e.index(ctx, p)
	var ids []digest.ActionID
	for _, a := range p.addresses(i) {
		ids = append(ids, ix.by[k.Name+"\n"+a.String()]...)
	}
	if k.Observation != nil {
		ids = append(ids, ix.by[named(k, fields)]...)
	}
	return e.nearestOf(ctx, ids, fields, func([]plan.Reason) bool { return true })
}

// nearestOf is nearest among some actions and ways to differ.
func (e *Engine) nearestOf(ctx context.Context, ids []digest.ActionID, fields []digest.Field, counts func([]plan.Reason) bool) (near *cache.Record, differs []plan.Reason) {
	for _, id := range slices.Backward(ids[max(0, len(ids)-maxNear):]) {
		rec, err := e.lookup(ctx, id)
		if err != nil || rec.Final() == nil {
			continue
		}
		if list := diff(rec.Fields, fields); (near == nil || len(list) < len(differs)) && counts(list) {
			near, differs = rec, list
		}
	}
	return near, differs
}

// repeats returns the result that a step would repeat although nothing differs that a
// person wrote, or nil, and how its key differs from that of the result.
func (e *Engine) repeats(ctx context.Context, pl *planned, i int, d *decision) (*cache.Record, []plan.Reason) {
	k := pl.p.Instances[i].Step.Kind
	if !k.Observes(d.made.Step) {
		return nil, nil
	}
	for _, as := range pl.p.renamed(k, d.fields) {
		ids := e.index(ctx, pl.p).by[named(k, as.Fields)]
		rec, differs := e.nearestOf(ctx, ids, as.Fields, func(list []plan.Reason) bool { return e.unwritten(ctx, pl, i, d.made, list) })
		if rec != nil {
			return rec, differs
		}
	}
	return nil, nil
}

// unwritten reports whether nothing that a person wrote is among the differences between
// the key of a step and that of an earlier result.
func (e *Engine) unwritten(ctx context.Context, pl *planned, i int, c constructed, differs []plan.Reason) bool {
	k, consumed := pl.p.Instances[i].Step.Kind, map[string]*step.Artifact{}
	_ = c.args.EachArtifact(func(a *step.Artifact) error {
		if a.Local == nil {
			consumed[a.Ref.ID.String()] = a
		}
		return nil
	})
	var own []string
	if s, ok := c.Step.(step.Conditioned); ok {
		own = s.Conditions()
	}
	for _, r := range differs {
		condition, is := strings.CutPrefix(r.Field, step.ConditionLabel)
		from := consumed[r.To]
		switch {
		case is && len(step.ConditionValues(own, condition)) > 0: // follows from the arguments
		case slices.ContainsFunc(c.choices, func(chosen step.Choice) bool { return chosen.Arg == r.Field }):
		case is, from == nil && k.Written(c.Step, r.Field), from != nil && !e.remade(ctx, pl, from.Producer, r.From):
			return false
		}
	}
	return true
}

// remade reports whether a step made other content than before although nothing differs
// that a person wrote, neither in it nor in what it consumes.
func (e *Engine) remade(ctx context.Context, pl *planned, i int, was string) bool {
	n := pl.byIndex[i]
	if n == nil || n.decision == nil {
		return true
	}
	if n.forced || n.retried {
		return false
	}
	id, err := digest.ParseContentID(was)
	if err != nil {
		return false
	}
	maker, found := e.index(ctx, pl.p).maker[made{n.Step.Kind.Name, id}]
	if !found {
		return true
	}
	rec, err := e.lookup(ctx, maker)
	if err != nil || rec == nil {
		return true
	}
	fields := n.decision.fields
	if n.decision.record != nil {
		fields = n.decision.record.Fields
	}
	return e.unwritten(ctx, pl, i, n.decision.made, diff(rec.Fields, fields))
}

// Repeats says what becomes of observations that an apply would repeat although nothing
// differs that a person wrote, such as an agent's attempts.
type Repeats int

// What becomes of them.
const (
	// AskRepeats: an apply asks, or refuses.
	AskRepeats Repeats = iota
	// RunRepeats: they are repeated.
	RunRepeats
	// KeepRepeats: the results that exist are used.
	KeepRepeats
)

// repeat finds out whether a step that would run repeats a result, which it uses if
// Repeats says so. It reports whether there is such a result that is not used.
func (e *Engine) repeat(ctx context.Context, pl *planned, n *node, d *decision, what Repeats) bool {
	rec, differs := e.repeats(ctx, pl, n.index, d)
	if rec == nil {
		return false
	}
	k, version := n.Step.Kind, rec.Field("kind version")
	_, lacked := k.As(version, d.fields)
	as := pl.p.Recorded(k, d.fields, rec)
	today := diff(rec.Fields, as.Fields)
	valid := !slices.ContainsFunc(today, func(r plan.Reason) bool { return !k.ByProgram(r.Field) })
	if fine, _ := fit(k, rec); fine != nil && (valid || what == KeepRepeats) {
		d.use(pl.p, n.index, keyed{id: rec.Action, observed: &plan.Observed{Version: version, NotRecorded: lacked, Names: as.Names, Differs: today}}, rec)
		return false
	}
	n.plan.Reasons = differs
	n.plan.Repeats = &plan.Repeat{Action: rec.Action.String(), Run: rec.Run, DurationMillis: rec.DurationMillis}
	if cost := n.Step.Kind.Observation.Cost; cost != nil {
		n.plan.Repeats.CostUSD = cost(rec.Outputs)
	}
	return true
}

// errRepeats refuses to repeat results.
func errRepeats(r *plan.Repeats) error {
	return fmt.Errorf("%s, although nothing that you wrote differs; --rerun repeats them, --rerun=false uses the results, and mleflow plan says what differs", r)
}
