package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/ledger"
)

// stepHead is the head of the pages of a step.
type stepHead struct {
	Run, RunLink, Address, Status, Error, Isolation, Class, CachedFrom, CachedLink string
	Untrusted                                                                      bool
	// Headline names an attempt.
	Headline *headline
	Facts    []page.Fact
	Kin      []page.Link
	Tabs     []page.Link
}

// one is a step of a run for which a page is made.
type one struct {
	u       *UI
	ctx     context.Context
	r       *http.Request
	m       *model
	sum     *ledger.Summary
	address string
	step    *ledger.StepSummary
	// attempt is the attempt that the step runs; nil of another.
	attempt *results.Attempt
	c       *content
	// store and record hold the outputs; record is nil if there are none, and why gives
	// the reason.
	store  Results
	record *cache.Record
	why    string
}

// attemptTabs are the pages of an attempt, by their names in addresses.
var attemptTabs = [][2]string{{"", "Story"}, {"transcript", "Transcript"}, {"logs", "Logs"}, {"code", "Code"}, {"submission", "Submission"}, {"checks", "Checks"}, {"about", "About"}}

// stepPage shows a step; one that runs an agent with its story, and one that
// grades as the attempt that it grades.
func (u *UI) stepPage(r *http.Request) (*content, error) {
	m, unlock, err := u.openRun(r)
	if err != nil {
		return nil, err
	}
	defer unlock()
	parsed, err := addr.Parse(r.URL.Query().Get("address"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNothing, err)
	}
	address := parsed.String()
	if attempt := m.attemptOf(address); m.kind(address) == conditions.GradeKind && attempt != "" && r.URL.Query().Get("tab") != "grade" {
		address = attempt
	}
	if _, planned := m.index[address]; !planned && m.sums.Step(address) == nil {
		return nil, fmt.Errorf("%w: the run has no step %s", errNothing, address)
	}
	o := &one{u: u, ctx: r.Context(), r: r, m: m, sum: m.sums.Summary(), address: address, step: m.sums.Step(address)}
	if m.kind(address) == conditions.AttemptKind {
		list, err := u.attemptsOf(r.Context(), m, o.sum)
		if err != nil {
			return nil, err
		}
		o.attempt = &results.Attempt{Address: address}
		if i := slices.IndexFunc(list, func(a *results.Attempt) bool { return a.Address == address }); i >= 0 {
			o.attempt = list[i]
		}
	}
	err = u.Results(m.past, func(store Results) error {
		o.store = store
		o.open()
		return o.make()
	})
	return o.c, err
}

// open looks for the record of the step.
func (o *one) open() {
	src := &outputs.Source{Store: o.store, Index: o.store, Run: o.sum}
	rec, err := src.Record(o.ctx, o.address)
	switch {
	case err == nil:
		o.record = rec
	case o.step != nil && o.step.Action != "":
		o.why = err.Error()
	case o.sum.State == ledger.Running:
		o.why = "The step has not ended, and its outputs appear when it does."
	default:
		o.why = "The step gave no outputs in this run."
	}
}

// make fills the page.
func (o *one) make() error {
	tab := o.r.URL.Query().Get("tab")
	attempt := o.attempt != nil
	h := o.head(attempt, tab)
	o.c = &content{title: page.Name(o.address) + " · " + o.sum.ID, nav: "Runs", wide: true, live: o.sum.State == ledger.Running && (o.step == nil || o.step.Status == "")}
	if err := o.c.add("head", "step head", h); err != nil {
		return err
	}
	if !attempt {
		return o.plain()
	}
	fill := map[string]func() error{"": o.story, "transcript": o.transcript, "logs": o.logs, "code": o.code, "submission": o.submission, "checks": o.checks, "about": o.about}[tab]
	if fill == nil {
		return errNothing
	}
	return fill()
}

func (o *one) head(attempt bool, tab string) stepHead {
	h := stepHead{Run: o.sum.ID, RunLink: runAddress(o.sum.ID), Address: o.address, Status: o.sum.StatusOf(o.step)}
	if s := o.step; s != nil {
		h.Error = s.Error
		if len(s.Conditions) > 0 && attempt {
			h.Isolation, h.Untrusted, h.Class = conditions.Described(s.Conditions), conditions.Untrusted(s.Conditions), conditions.Class(s.Conditions)
		}
		if s.Tries != nil && s.Tries.Spoilt > 0 {
			h.Isolation += fmt.Sprintf(", %d ended by the environment before", s.Tries.Spoilt)
		}
		if s.MadeIn != "" && s.MadeIn != o.sum.ID {
			h.CachedFrom, h.CachedLink = s.MadeIn, stepAddress(s.MadeIn, o.address, tab)
		}
	}
	if attempt {
		h.Headline, h.Kin = o.headline(), o.kinLinks()
		for _, t := range attemptTabs {
			h.Tabs = append(h.Tabs, page.Link{Text: t[1], Address: stepAddress(o.sum.ID, o.address, t[0]), Here: t[0] == tab})
		}
		return h
	}
	if t := took(o.step, o.u.Now(), o.sum); t != "" {
		h.Facts = append(h.Facts, page.Fact{Name: "took", Value: t})
	}
	return h
}

// neighbour is a step that another depends on.
type neighbour struct{ Address, Link string }

// plain shows a step that runs no agent.
func (o *one) plain() error {
	d := struct {
		Why             []string
		After           []neighbour
		Outputs, Fields []page.Fact
		Missing         string
	}{Missing: o.why, Outputs: o.outputs(), Fields: o.fields()}
	if i, ok := o.m.index[o.address]; ok {
		for _, r := range o.m.plan.Steps[i].Reasons {
			d.Why = append(d.Why, r.Text)
		}
	}
	for _, a := range o.m.after(o.address) {
		d.After = append(d.After, neighbour{a, stepAddress(o.sum.ID, a, "")})
	}
	if err := o.c.add("plain", "plain step", d); err != nil {
		return err
	}
	if err := o.logs(); err != nil {
		return err
	}
	return o.c.add("outputs", "plain outputs", d)
}

// outputs lists the step's outputs.
func (o *one) outputs() []page.Fact {
	var facts []page.Fact
	if o.record == nil {
		return nil
	}
	for _, name := range sortedKeys(o.record.Outputs) {
		v := o.record.Outputs[name]
		text := bounded(v.JSON, 2000)
		if !v.Ref.IsZero() {
			text = fmt.Sprintf("%s %s, %s", v.Ref.Kind, v.Ref.ID, view.Bytes(v.Ref.Size))
		}
		facts = append(facts, page.Fact{Name: name, Value: text})
	}
	return facts
}

// fields lists the fields of the step's key: its arguments, and the digests of its
// inputs.
func (o *one) fields() []page.Fact {
	var facts []page.Fact
	if o.record == nil {
		return nil
	}
	for _, f := range o.record.Fields {
		facts = append(facts, page.Fact{Name: f.Label, Value: bounded([]byte(f.Value), 4000)})
	}
	return facts
}

// executedBy returns the run that executed the step with a note if it is another, or why
// it cannot be read.
func (o *one) executedBy() (past *ledger.Past, note, missing string) {
	if o.step == nil || o.step.MadeIn == "" || o.step.MadeIn == o.sum.ID {
		return o.m.past, "", ""
	}
	other, err := o.u.Ledger.Open(o.step.MadeIn)
	if err != nil {
		return nil, "", "The run " + o.step.MadeIn + ", which executed the step, is not in this ledger."
	}
	return other, "From the run " + o.step.MadeIn + ", which executed the step. ", ""
}

// output returns the reference of an output, or why there is none.
func (o *one) output(name string) (cache.Ref, string) {
	if o.record == nil {
		return cache.Ref{}, o.why
	}
	ref := o.record.Outputs[name].Ref
	if ref.IsZero() {
		return ref, "The attempt was made by a version of mleflow without the output " + name + "."
	}
	return ref, ""
}

// blob reads an output that is a file, at most limit bytes of it.
func (o *one) blob(name string, limit int64) ([]byte, string) {
	ref, why := o.output(name)
	if why != "" {
		return nil, why
	}
	text, err := head(o.ctx, o.store, ref, limit)
	if err != nil {
		return nil, lost(name, err)
	}
	return text, ""
}

// lost explains why content cannot be shown.
func lost(name string, err error) string {
	if errors.Is(err, cache.ErrNotFound) {
		return "The " + name + " is no longer in the cache."
	}
	return "The " + name + " cannot be read: " + err.Error()
}

// others are the attempts in this run at the same block whose keys differ, at
// most n.
func (o *one) others(n int) []neighbour {
	var out []neighbour
	for _, a := range o.m.addresses() {
		if a != o.address && view.BlockOf(a) == view.BlockOf(o.address) && len(out) < n {
			out = append(out, neighbour{a, ""})
		}
	}
	return slices.Clip(out)
}
