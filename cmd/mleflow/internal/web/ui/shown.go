package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/agentrun"
)

// shownStep is a step of a run as one page shows it: what the plan, the journal and the
// record have of it, loaded once. Pages only read it.
type shownStep struct {
	Source
	store   Results
	past    *history.Past
	run     *history.Summary
	address string
	// live reports whether the step may still change.
	live    bool
	status  string
	journal *history.StepSummary
	// record has the outputs. Without it, missing says why there are none.
	record  *cache.Record
	missing string
	// reasons are those for which the plan runs the step, after the steps that it
	// depends on.
	reasons, after []string
}

// shownAttempt is an attempt as one page shows it.
type shownAttempt struct {
	shownStep
	outlines *recent[cache.Ref, *outline]
	// result is how the attempt ended, or how far it is. kin are the attempts that share
	// a beginning with it.
	result *results.Attempt
	kin    []*results.Attempt
	// stats is nil if the attempt has none. report is nil if there is none or it cannot
	// be read.
	stats  *agentrun.Stats
	report *grading.Graded
	// grader and checker are the addresses of the steps that grade and check the attempt;
	// graded and checked are nil if they have not begun.
	grader, checker string
	graded, checked *history.StepSummary
	// siblings are the other attempts of the block.
	siblings []string
	// running is what the attempt does now, and growing locates its files so far; nil if
	// it does not run.
	running *runningRow
	growing *step.Kept
	// usage is what the attempt used over time, as far as the journal of this run has it.
	usage *useOverTime
}

// openStep loads a step of a run.
func openStep(ctx context.Context, src Source, m *model, store Results, address string) *shownStep {
	s := &shownStep{Source: src, store: store, past: m.past, run: m.sums.Summary(), address: address, journal: m.sums.Step(address), reasons: m.reasons(address), after: m.after(address)}
	s.live, s.status = s.run.State == history.Running && (s.journal == nil || s.journal.Status == ""), s.run.StatusOf(s.journal)
	s.record, s.missing = recordOf(ctx, store, s.run, address)
	return s
}

// recordOf returns the record of a step of a run, or why there is none.
func recordOf(ctx context.Context, store Results, run *history.Summary, address string) (rec *cache.Record, missing string) {
	rec, err := (&outputs.Source{Store: store, Index: store, Run: run}).Record(ctx, address)
	s := run.Step(address)
	switch {
	case err == nil:
		return rec, ""
	case s != nil && s.Action != "":
		return nil, err.Error()
	case run.State == history.Running:
		return nil, "The step has not ended, and its outputs appear when it does."
	}
	return nil, "The step gave no outputs in this run."
}

// openAttempt loads an attempt of a run, without its result and kin.
func (u *UI) openAttempt(m *model, s *shownStep) *shownAttempt {
	a := &shownAttempt{shownStep: *s, outlines: &u.turns, grader: m.grades[s.address], checker: m.checks[s.address]}
	a.graded, a.checked = m.sums.Step(a.grader), m.sums.Step(a.checker)
	if s.journal == nil || !decode(s.journal.Outputs["stats"], &a.stats) {
		a.stats = nil
	}
	if r, ok := m.reports[a.grader]; ok {
		a.report = &r
	}
	a.siblings = lists.Where(m.addresses(), func(other string) bool { return other != s.address && view.BlockOf(other) == view.BlockOf(s.address) })
	if used := m.used[s.address]; used != nil {
		a.usage = &useOverTime{begun: used.begun, points: slices.Clone(used.points), code: slices.Clone(used.code)}
	}
	now := u.Now()
	for _, r := range m.state.InProgress() {
		if !s.live || r.Address != s.address {
			continue
		}
		row := runningRowOf(r.StepStarted, r.Phase, now)
		a.running = &row
		if s.record == nil {
			a.growing = &r.Phase.Kept
		}
	}
	return a
}

// action is where the forms of the step's pages lead.
func (s *shownStep) action() string { return "/step/" + url.PathEscape(s.run.ID) }

// fields lists the fields of the step's key: its arguments, and the digests of its
// inputs.
func (s *shownStep) fields() (facts []page.Fact) {
	if s.record != nil {
		facts = lists.Of(s.record.Fields, func(f digest.Field) page.Fact { return page.Fact{Name: f.Label, Value: bounded([]byte(f.Value), 4000)} })
	}
	return facts
}

// executedBy returns the run that executed the step with a note if it is another, or why
// it cannot be read.
func (s *shownStep) executedBy() (past *history.Past, note, missing string) {
	if s.journal == nil || s.journal.MadeIn == "" || s.journal.MadeIn == s.run.ID {
		return s.past, "", ""
	}
	other, err := s.History.Open(s.journal.MadeIn)
	if err != nil {
		return nil, "", "The run " + s.journal.MadeIn + ", which executed the step, is not in this run history."
	}
	return other, "From the run " + s.journal.MadeIn + ", which executed the step. ", ""
}

// blob reads an output that is a file, at most limit bytes of it.
func (s *shownStep) blob(ctx context.Context, name string, limit int64) (text []byte, missing string) {
	ref, missing := s.output(name)
	if missing != "" {
		return nil, missing
	}
	text, err := headBytes(ctx, s.store, ref, limit)
	if err != nil {
		return nil, lost(name, err)
	}
	return text, ""
}

// atEnd is the time of the code that the agent left.
const atEnd = time.Duration(math.MaxInt64)

// codeSnapshots is the output of an attempt with the copies of its code.
const codeSnapshots = "code_snapshots"

// copies are the copies of the code over time with that at the end, or why there are
// none.
func (a *shownAttempt) copies(ctx context.Context) (all []codeVersion, missing string) {
	if a.growing != nil {
		if a.usage != nil {
			all = a.usage.code
		}
		return all, "There is one copy of the code so far."
	}
	final, missing := a.output("code")
	if missing != "" {
		return nil, missing
	}
	missing = "There is no change over time: the attempt kept no copies of its code. snapshot_every = \"10m\" in the agent-run step keeps them."
	ref := a.record.Outputs[codeSnapshots].Ref
	if ref.IsZero() {
		return nil, missing
	}
	folders, err := tree.Read(ctx, a.store, ref)
	if err != nil {
		return nil, lost("code", err)
	}
	for _, f := range folders {
		var s int64
		if _, err := fmt.Sscanf(f.Name, "%d", &s); err == nil && f.IsDir() {
			at := time.Duration(s) * time.Second
			all = append(all, codeVersion{view.Duration(at), f.Ref(), at})
		}
	}
	if len(all) > 0 {
		all = append(all, codeVersion{"the end", final, atEnd})
	}
	return all, missing
}

// output returns the reference of an output, or why there is none.
func (s *shownStep) output(name string) (ref cache.Ref, missing string) {
	if s.record == nil {
		return cache.Ref{}, s.missing
	}
	if ref = s.record.Outputs[name].Ref; ref.IsZero() {
		return ref, "The attempt was made by a version of mleflow without the output " + name + "."
	}
	return ref, ""
}

// lost explains why content cannot be shown.
func lost(name string, err error) string {
	if errors.Is(err, cache.ErrNotFound) {
		return "The " + name + " is no longer in the cache."
	}
	return "The " + name + " cannot be read: " + err.Error()
}

// codeChange is the address of what changed in the code from one version to another.
func (a *shownAttempt) codeChange(from, to codeVersion) string {
	return a.link("code", "from", from.name, "to", to.name)
}

// link is the address of a tab of the step, with further parameters by name and value.
func (s *shownStep) link(tab string, parameters ...string) string {
	address := stepAddress(s.run.ID, s.address, tab)
	for i := 0; i < len(parameters); i += 2 {
		address += "&" + url.Values{parameters[i]: {parameters[i+1]}}.Encode()
	}
	return address
}

// kinOf returns those of some attempts from which an attempt was forked, or that were forked
// from it.
func kinOf(a *results.Attempt, all []*results.Attempt) []*results.Attempt {
	key := shortKey(a)
	from, _ := forkedFrom(a)
	if key == "" {
		return nil
	}
	return lists.Where(all, func(other *results.Attempt) bool {
		of, _ := forkedFrom(other)
		return shortKey(other) != key && shortKey(other) != "" && (shortKey(other) == from || of == key)
	})
}

// kinLinks lead to the attempt of which this one is a fork, and to its forks.
func kinLinks(a *shownAttempt) (links []page.Link) {
	from, at := forkedFrom(a.result)
	origin := page.Link{Text: from + ", which no run here has"}
	for _, other := range a.kin {
		l := page.Link{Text: other.Address + " of " + history.Nickname(other.RunID), Address: stepAddress(other.RunID, other.Address, "")}
		if shortKey(other) == from {
			origin = l
			continue
		}
		_, after := forkedFrom(other)
		l.Text = "Forked after " + after + ": " + l.Text
		links = append(links, l)
	}
	if from != "" {
		origin.Text = "Forked after " + at + ", so no board counts it, from " + origin.Text
		links = append(links, origin)
	}
	return links
}

// curves returns the scores over time of attempts, as the journals of their runs have them.
func curves(runs *history.Store, list ...*results.Attempt) map[*results.Attempt][]grading.Moment {
	out, wanted := map[*results.Attempt][]grading.Moment{}, map[string]map[string]*results.Attempt{}
	for _, a := range list {
		if wanted[a.RunID] == nil {
			wanted[a.RunID] = map[string]*results.Attempt{}
		}
		wanted[a.RunID][a.GradeAddress] = a
	}
	for id, of := range wanted {
		past, err := runs.Open(id)
		if err != nil {
			continue // a run that is gone has no curves
		}
		for e, err := range past.Finished(conditions.GradeKind) {
			var points []grading.Moment
			if a := of[e.Address]; err == nil && a != nil && decode(e.Outputs["curve"], &points) {
				out[a] = points
			}
		}
	}
	return out
}

// keyDigits is the length of a key in conditions.Forked.
const keyDigits = 12

// shortKey is the key of the attempt as its forks have it; "" of one without.
func shortKey(a *results.Attempt) string {
	return a.AttemptAction[:min(keyDigits, len(a.AttemptAction))]
}

// forkedFrom returns the short key of the attempt that an attempt began from, and at which
// time; "" if it is no fork.
func forkedFrom(a *results.Attempt) (key, at string) {
	for _, v := range step.ConditionValues(a.Report.Conditions, conditions.Forked) {
		key, at, _ = strings.Cut(v, "@")
	}
	return key, at
}

// headBytes reads the beginning of an object. Its digest is checked only if all of it is read.
func headBytes(ctx context.Context, store cache.Store, ref cache.Ref, limit int64) ([]byte, error) {
	f, err := store.Open(ctx, ref.ID)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, limit))
	return text, errors.Join(err, f.Close())
}
