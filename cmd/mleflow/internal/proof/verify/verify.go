package verify

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/lockfile"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// Standing is the degree to which a score was proved.
type Standing string

// The standings.
const (
	// Recomputed: the submission was graded again here, with answers from here,
	// and gave the same report.
	Recomputed Standing = "recomputed"
	// Claimed: the report rests on the bundle's word alone.
	Claimed Standing = "claimed"
	// Refused: it contradicts what it should be.
	Refused Standing = "refused"
)

// Row is one graded submission.
type Row struct {
	Address     string `json:"address"`
	Competition string `json:"competition"`
	Version     string `json:"version"`
	// Attempt is the agent-run step that made the submission; empty if another
	// step or a file did.
	Attempt string `json:"attempt,omitempty"`
	// Seed is the attempt's seed, whatever the labels of the report say.
	Seed string `json:"seed,omitempty"`
	// Others is how many other attempts in its place or of the same agent were made before, as the
	// bundle discloses; see bundle.History.
	Others int `json:"earlier_attempts,omitempty"`
	// Tries counts the attempts of its agent at the competition, nil without a chain, and
	// Unproven gives the reason why they are not those that the chain counts.
	Tries    *bundle.Tried `json:"tries,omitempty"`
	Unproven string        `json:"tries_not_provable,omitempty"`
	Standing Standing      `json:"standing"`
	// Why gives the reason why the standing is no better.
	Why string `json:"why,omitempty"`
	// Answers names the owner of the answers and the data that they were compared with.
	Answers string `json:"answers,omitempty"`
	// Unchecked gives the reason why the agent's public data were compared with nothing;
	// empty if they were compared.
	Unchecked string `json:"public_data_not_checked,omitempty"`
	// Money is what the attempt's models used; nil without models.
	Money *Money `json:"money,omitempty"`
	// Evaluated means that the pipeline's evaluation asked for the attempt, and for no
	// other seeds than there are.
	Evaluated bool `json:"evaluated,omitempty"`
	// Queries are the validation scores that the attempt asked for; nil if it could not.
	Queries *Queries `json:"validation_scores,omitempty"`
	// Flags are findings that a person should look at.
	Flags []string `json:"flags,omitempty"`
}

// Board is one leaderboard.
type Board struct {
	Address  string   `json:"address"`
	Standing Standing `json:"standing"`
	Why      string   `json:"why,omitempty"`
}

// Report holds the findings of a verification.
type Report struct {
	Boards []Board `json:"boards"`
	Rows   []Row   `json:"rows"`
	// Keys is the number of steps whose key equals the one computed by the verifier's own
	// kinds and definitions.
	Keys int `json:"keys"`
	// Pinned are the competitions whose data have the digest that the
	// verifier's definitions pin.
	Pinned []string `json:"pinned"`
	// Other are the steps of kinds that a verification proves nothing about.
	Other []string `json:"other"`
	// Evaluation is the answer of the pipeline's evaluation; nil without one.
	Evaluation *plan.Evaluation `json:"evaluation,omitempty"`
	// Benchmarks are those of the pipeline, by name.
	Benchmarks []step.Benchmark `json:"benchmarks,omitempty"`
}

// Request holds the inputs of a verification.
type Request struct {
	Bundle *bundle.Bundle
	// Chain is the account of the bundle's chain.
	Chain   *bundle.Chain
	Summary *history.Summary
	// Rounds starts the pipeline's evaluation.
	Rounds  func(cache.Store, *engine.Program) (func() engine.Rounds, diag.List)
	Program *engine.Program
	// Options are those of an engine without a cache.
	Options engine.Options
	Catalog *competitions.Catalog
	Metrics *metric.Registry
	// Grader grades queries as the attempts did.
	Grader grading.Grader
	// Data is where own answers are; nil grades nothing.
	Data *Data
	// Done is called with each verdict.
	Done func(engine.Verified)
}

// verifier verifies one bundle.
type verifier struct {
	Request
	chains
	store   *bundle.Store
	records []*cache.Record
	report  *Report
	// trusted are the answers by grade.
	trusted map[int]*answers
	// due are the grades for which the evaluation asked.
	due []int
	// disclosed are the earlier attempts by the bundle's account.
	disclosed *bundle.Disclosure
}

// Run verifies an examined bundle.
func Run(ctx context.Context, q Request) (*Report, error) {
	var behind cache.Store
	if q.Data != nil {
		behind = q.Data.Cache
	}
	store, err := q.Bundle.Store(behind)
	if err != nil {
		return nil, err
	}
	a := &verifier{
		Request: q, chains: chains{q.Program.Graph}, store: store, records: make([]*cache.Record, len(q.Program.Instances)),
		report: &Report{Benchmarks: q.Program.Benchmarks(), Boards: []Board{}, Rows: []Row{}, Pinned: []string{}, Other: []string{}}, trusted: map[int]*answers{},
	}
	if a.disclosed, err = q.Bundle.Disclosure(); err != nil {
		return nil, err
	}
	for _, part := range []func(context.Context) error{a.recall, a.keys, a.grades, a.resplit, a.regrade, a.reboard} {
		if err := part(ctx); err != nil {
			return nil, err
		}
	}
	return a.report, nil
}

// grades judges the rows. Those of a rehearsal are refused if others are of real data.
func (a *verifier) grades(ctx context.Context) error {
	onBoard := a.boards()
	var sets [][]string
	for i := range a.Program.Instances {
		if a.kind(i) != conditions.GradeKind || a.records[i] == nil {
			continue
		}
		row, err := a.row(ctx, i, onBoard[i])
		if err != nil {
			return err
		}
		a.report.Rows, sets = append(a.report.Rows, row), append(sets, a.Program.Conditions(i))
	}
	err := conditions.CheckData(sets...)
	for i, set := range sets {
		if err != nil && conditions.Rehearsed(set) {
			a.report.Rows[i].Standing, a.report.Rows[i].Why = Refused, err.Error()
		}
	}
	slices.Sort(a.report.Pinned)
	a.report.Pinned = slices.Compact(a.report.Pinned)
	return nil
}

// recall gives the pipeline the outputs of the run.
func (a *verifier) recall(ctx context.Context) error {
	at := make(map[string]int, len(a.Program.Instances))
	var left []int
	for i := range a.Program.Instances {
		at[a.address(i)] = i
	}
	for _, s := range a.Summary.Steps {
		if s.Status == event.Unneeded {
			if i, found := at[s.Address]; found {
				left = append(left, i)
			}
			continue
		}
		rec, err := outputs.Lookup(ctx, a.store, s.Action)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Address, err)
		}
		if i, found := at[s.Address]; found {
			a.records[i] = rec
		}
	}
	for i, rec := range a.records {
		if rec != nil {
			a.Program.SetOutputs(i, rec.Outputs)
			a.Program.SetConditions(i, step.RecordedConditions(rec.Fields, rec.Tries))
		}
	}
	left, err := a.conditions(left)
	if err != nil {
		return err
	}
	return a.evaluate(ctx, left)
}

// conditions decides again which steps their conditions left out, and returns the others
// that the run left out.
func (a *verifier) conditions(left []int) ([]int, error) {
	skipped := map[int]bool{}
	for i := range a.Program.Instances {
		why, diags := a.Program.Skip(i, false)
		if skipped[i] = why != ""; diags.HasErrors() {
			return nil, diags
		}
		if skipped[i] && a.records[i] != nil {
			return nil, step.Mismatch(fmt.Errorf("%s ran, although %s", a.address(i), why))
		}
	}
	return slices.DeleteFunc(left, func(i int) bool { return skipped[i] }), nil
}

// evaluate repeats the run's evaluation, and compares its answer with the run's.
func (a *verifier) evaluate(ctx context.Context, left []int) error {
	was := a.Summary.Evaluation
	if was == nil && len(left) == 0 {
		return nil
	}
	choose, diags := a.Rounds(a.store, a.Program)
	switch {
	case diags.HasErrors():
		return diags
	case choose == nil && len(left) == 0:
		return step.Mismatch(errors.New("the run's journal has an evaluation, and its pipeline has no evaluate block"))
	case choose == nil:
		return step.Mismatch(fmt.Errorf("the run left out %d steps, and its pipeline has neither an evaluate block nor a condition that does", len(left)))
	}
	is, asked, err := a.Program.CheckRounds(ctx, choose(), left)
	if err != nil {
		return err
	}
	is.Declared = a.Program.Declared(is, a.Chain.Links(), a.Bundle.Run, asked, func(i int) *cache.Record { return a.records[i] })
	derived := is
	if was != nil && (a.Chain == nil || a.Chain.Lines == 0) { // nothing shows what the run saw in the chain
		derived.Declared = was.Declared
	}
	// A run that was killed may have results of a round that it did not count.
	killed := was != nil && was.Next > 0 && len(left) == 0 && is.Round > was.Round
	if was == nil || !killed && !reflect.DeepEqual(*was, derived) {
		return step.Mismatch(fmt.Errorf("the run's journal has another answer of evaluate %s than its reports and its chain give: %s", is.Name, view.Evaluation(is)))
	}
	a.report.Evaluation = &is
	if is.Next == 0 {
		a.due = asked
	}
	return nil
}

// key computes the key of an instance. Where the pipeline leaves a choice to the machine,
// it takes the recorded one.
func (a *verifier) key(i int) (*digest.Hasher, error) {
	inst := a.Program.Instances[i]
	args, diags := a.Program.Args(i)
	if diags.HasErrors() {
		return nil, diags
	}
	if rec := a.records[i]; rec != nil {
		args = inst.Step.Kind.Recall(args, rec.Fields)
	}
	s, err := inst.Step.Kind.New(args)
	if err != nil {
		return nil, err
	}
	return step.Key(inst.Step.Kind, args, s)
}

// machineFields are fields of keys that the verifier's machine may not know, or that no
// score rests on: how a board of an earlier version compared its agents and split them by
// class.
var machineFields = []string{"image digest", "comparison", "classes"}

// keys compares the keys of the steps behind scores with those computed by the verifier's
// own kinds, definitions and leaderboards.
func (a *verifier) keys(context.Context) error {
	var errs []error
	for i, rec := range a.records {
		if rec == nil {
			continue
		}
		if !basis(a.kind(i)) {
			a.report.Other = append(a.report.Other, a.address(i))
			continue
		}
		h, err := a.key(i)
		if err != nil && a.kind(i) == conditions.AttemptKind {
			a.report.Other = append(a.report.Other, a.address(i))
		} else if err != nil {
			return fmt.Errorf("%s: %w", a.address(i), err)
		}
		if h == nil {
			continue
		}
		was := lockfile.Step{Addr: a.Program.Instances[i].Addr, Inputs: lockfile.Inputs(rec.Fields)}
		kind := a.Program.Instances[i].Step.Kind
		then := a.Program.Recorded(kind, h.Fields(), rec).Fields
		list := slices.DeleteFunc(was.CheckInputs(lockfile.Inputs(then)), func(d lockfile.Deviation) bool {
			return slices.Contains(machineFields, d.Field) || kind.ByProgram(d.Field)
		})
		if len(list) == 0 && err == nil {
			a.report.Keys++
		}
		for _, d := range list {
			errs = append(errs, fmt.Errorf("%s: %s was %s, and is %s here", d.Address, d.Field, engine.Readable(d.Was), engine.Readable(d.Is)))
		}
	}
	if len(errs) > 0 {
		return step.Mismatch(fmt.Errorf("the basis of the scores differs from what this version of mleflow derives from the pipeline:\n%w", errors.Join(errs[:min(len(errs), 20)]...)))
	}
	return nil
}

// boards follows the boards to their rows and returns which grades are on one.
func (a *verifier) boards() map[int]bool {
	on := map[int]bool{}
	for i, rec := range a.records {
		if rec == nil || a.kind(i) != conditions.AggregateKind {
			continue
		}
		b := Board{Address: a.address(i), Standing: Claimed}
		rows, err := a.chains.rows(i)
		for _, r := range rows {
			on[r] = true
			if bad := a.mislabelled(r); bad != nil && err == nil {
				err = fmt.Errorf("%s: %w", a.address(r), bad)
			}
		}
		if err != nil {
			b.Standing, b.Why = Refused, err.Error()
		}
		a.report.Boards = append(a.report.Boards, b)
	}
	return on
}

// mislabelled returns an error if a grade's seed label differs from its attempt's seed.
func (a *verifier) mislabelled(grade int) error {
	l, _ := a.of(grade)
	labels := a.argument(grade, "labels")
	if l.agent < 0 || a.kind(l.agent) != conditions.AttemptKind || labels.IsNull() || !labels.CanIterateElements() {
		return nil
	}
	said, has := labels.AsValueMap()["seed"]
	if seed := a.records[l.agent].Field("seed"); has && !said.RawEquals(cty.StringVal(seed)) {
		return fmt.Errorf("the label says seed %s, and the attempt had seed %s", config.Text(said), seed)
	}
	return nil
}

// altered reports whether a step has parameters other than its definition's.
func (a *verifier) altered(i int) bool {
	v := a.argument(i, "params")
	return !v.IsNull() && v.CanIterateElements() && v.LengthInt() > 0
}

// row judges the chain of one grade.
func (a *verifier) row(ctx context.Context, i int, onBoard bool) (Row, error) {
	l, err := a.of(i)
	row := Row{Address: a.address(i), Competition: l.competition, Version: l.version, Standing: Claimed, Evaluated: slices.Contains(a.due, i)}
	refuse := func(format string, args ...any) (Row, error) {
		row.Standing, row.Why = Refused, fmt.Sprintf(format, args...)
		return row, nil
	}
	attempt := l.agent >= 0 && a.kind(l.agent) == conditions.AttemptKind
	if attempt {
		row.Attempt, row.Seed = a.address(l.agent), a.records[l.agent].Field("seed")
		row.Others = a.disclosed.Others(row.Attempt)
		if err := a.money(ctx, l.agent, &row); err != nil {
			return row, err
		}
		row.Tries, row.Unproven = a.Chain.Tried(row.Attempt)
		if conditions.IsFork(a.Program.Conditions(l.agent)) {
			row.Flags = append(row.Flags, "its attempt began from a checkpoint of another one, so no board counts it")
		}
	}
	if err != nil {
		return refuse("%s", err)
	}
	if l.split >= 0 {
		var why error
		if row.Queries, why, err = a.asked(ctx, l); why != nil || err != nil {
			row, _ := refuse("its validation scores: %v", why)
			return row, err
		}
	}
	if is := a.recorded(l.prepare, "public").ID.String(); attempt && a.records[l.agent].Field("data") != is {
		return refuse("the agent was not given the public files that %s made", a.address(l.prepare))
	}
	if err := a.mislabelled(i); err != nil {
		row.Flags = append(row.Flags, err.Error())
	}
	if l.private {
		text := fmt.Sprintf("its submission was made by %s, which reads private data", a.address(l.agent))
		if onBoard {
			return refuse("%s", text)
		}
		row.Flags = append(row.Flags, text)
	}
	def, err := a.definition(l)
	if err != nil {
		return row, err
	}
	for _, half := range []string{"public", "private"} {
		if l.checksum >= 0 && a.recorded(l.checksum, half) != a.recorded(l.prepare, half) {
			return refuse("%s passed on different files than %s made", a.address(l.checksum), a.address(l.prepare))
		}
	}
	row.Unchecked = "the definition does not pin them"
	switch {
	case a.altered(l.prepare) || a.altered(i):
		row.Flags = append(row.Flags, "it was prepared or graded with parameters that differ from the definition's")
		row.Unchecked = "the pins apply only to the default parameters"
	case def.Checksums.Manifest == "":
	case !a.manifest(l, def):
		return refuse("its data do not match the pins of %s %s", def.ID, def.Version)
	default:
		row.Unchecked = ""
		a.report.Pinned = append(a.report.Pinned, def.ID+" "+def.Version)
	}
	return a.trust(ctx, l, row)
}

// trust finds own answers for a row.
func (a *verifier) trust(ctx context.Context, l chain, row Row) (Row, error) {
	own, err := a.answersOf(ctx, l)
	var none noAnswers
	switch {
	case errors.As(err, &none):
		row.Why = none.Error()
		return row, nil
	case err != nil:
		return row, err
	}
	row.Answers = own.how
	if own.private != a.recorded(l.prepare, "private") {
		row.Standing, row.Why = Refused, fmt.Sprintf("it was graded with answers that differ from those %s", own.how)
		return row, nil
	}
	a.trusted[l.grade] = own
	if row.Unchecked == "" && l.split < 0 {
		return row, nil
	}
	public, err := own.public(ctx)
	switch told := a.recorded(l.prepare, "public"); {
	case errors.As(err, &none):
		row.Queries.cannot(none)
		if row.Unchecked != "" {
			row.Unchecked = none.Error()
		}
	case err != nil:
		return row, err
	case public != told:
		delete(a.trusted, l.grade)
		row.Unchecked, row.Standing = "", Refused
		row.Why = fmt.Sprintf("its agent was given other public files, %s with the digest %.12s, than those %s, %s with %.12s",
			view.Plural(int(told.Files), "file"), told.ID, own.how, view.Plural(int(public.Files), "file"), public.ID)
	default:
		row.Unchecked, row.Answers = "", own.how+"; public data: the same there"
	}
	return row, nil
}
