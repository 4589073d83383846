package kit

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/program"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/numeric/random"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// Verdict is the result of a check.
type Verdict string

// The verdicts. Odd marks behavior that most graders do not have, such as to
// accept a submission with a wrong id: check that it is intended.
const (
	Passed  Verdict = "passed"
	Failed  Verdict = "failed"
	Odd     Verdict = "odd"
	Skipped Verdict = "skipped"
)

// Check is a submission that was tried.
type Check struct {
	Name    string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	// Detail describes the result, or the reason why the check was skipped.
	Detail string `json:"detail"`
}

// TestOptions select the data and the programs for a test.
type TestOptions struct {
	// Prepared is the folder that holds public and private.
	Prepared string
	Params   map[string]cty.Value
	Metrics  *metric.Registry
	// Executor runs metrics that are programs.
	Executor executor.Executor
	// Packages provides what they need of Python.
	Packages program.Packages
}

// Test tries a competition's grader on submissions whose outcome is known:
// the gold submission gets the best score, the sample gets its pinned score
// (where the data are the full ones, which the checksums tell), the score gets
// worse with damage to the targets, shuffled rows change nothing, broken
// submissions are refused. An error says that the grader itself failed.
func Test(ctx context.Context, def *competitions.Definition, o TestOptions) ([]Check, error) {
	work, err := os.MkdirTemp("", "competition-test-")
	if err != nil {
		return nil, fmt.Errorf("test %s: %w", def.ID, err)
	}
	defer os.RemoveAll(work)
	plan, diags := grading.Decode(def, o.Metrics, o.Params)
	if diags.HasErrors() {
		return nil, diags
	}
	t := &tester{ctx: ctx, def: def, o: o, work: work, plan: plan}
	t.noGold = def.GradedByPython() && def.Layout.Gold == def.Layout.Answers
	gold := def.Layout.Gold
	if t.noGold {
		gold = def.Layout.Sample
	}
	if t.gold, err = table.ReadCSVFile(t.path(gold), plan.ReadOptions()); err != nil {
		return nil, fmt.Errorf("test %s: %w", def.ID, err)
	}
	if names := t.gold.Names(); def.GradedByPython() && len(names) > 1 {
		plan.ID, plan.Targets = names[0], names[1:]
	}
	if plan.ID == "" || !t.gold.Has(plan.ID) {
		plan.ID = ""
	}
	for _, step := range []func(*tester) error{(*tester).best, (*tester).sample, (*tester).damaged, (*tester).shuffled, (*tester).broken} {
		if err := step(t); err != nil {
			return nil, fmt.Errorf("test %s: %w", def.ID, err)
		}
	}
	return t.checks, nil
}

// tester holds the state that the checks share.
type tester struct {
	ctx   context.Context
	def   *competitions.Definition
	o     TestOptions
	plan  *grading.Plan
	work  string
	gold  *table.Table
	score float64 // of gold
	// noGold means that gold is the sample: Python does not say which submission is best.
	noGold bool
	// sampled is the report on the sample submission.
	sampled grading.Report
	checks  []Check
}

func (t *tester) path(prepared string) string {
	return filepath.Join(t.o.Prepared, filepath.FromSlash(prepared))
}

func (t *tester) note(name string, v Verdict, format string, args ...any) {
	t.checks = append(t.checks, Check{Name: name, Verdict: v, Detail: fmt.Sprintf(format, args...)})
}

func (t *tester) grade(submission string) (grading.Report, error) {
	return grading.Grade(t.ctx, t.def, t.o.Metrics, grading.Request{
		Submission: submission, Answers: t.path(t.def.Layout.Answers), Params: t.o.Params, Executor: t.o.Executor, Packages: t.o.Packages,
	})
}

// gradeTable writes a table and grades it.
func (t *tester) gradeTable(s *table.Table) (grading.Report, error) {
	path := filepath.Join(t.work, "submission.csv")
	if err := table.WriteCSVFile(path, s, table.WriteOptions{}); err != nil {
		return grading.Report{}, err
	}
	return t.grade(path)
}

func (t *tester) best() error {
	const name = "gold gets the best score"
	if t.noGold {
		t.note(name, Skipped, "the definition names no gold submission")
		return nil
	}
	r, err := t.grade(t.path(t.def.Layout.Gold))
	if err != nil {
		return err
	}
	if r.Score == nil {
		t.note(name, Failed, "the gold submission is refused: %s", r.Reason)
		return nil
	}
	t.score = float64(*r.Score)
	if place := t.def.Medals.Rank(t.score); place.Rank > 1 {
		t.note(name, Failed, "it scores %v, which %d of %d human teams beat", t.score, place.Rank-1, len(t.def.Medals.Scores))
		return nil
	}
	t.note(name, Passed, "%v", t.score)
	return nil
}

func (t *tester) sample() error {
	const name = "sample gets its pinned score"
	r, err := t.grade(t.path(t.def.Layout.Sample))
	if err != nil {
		return err
	}
	t.sampled = r
	if t.noGold && r.Score != nil {
		t.score = float64(*r.Score)
	}
	want := t.def.Facts.SampleScore
	switch {
	case t.noGold && r.Score == nil:
		t.note(name, Failed, "the sample submission is refused: %s", r.Reason)
	case r.Score == nil && want != nil:
		t.note(name, Failed, "the sample submission is refused: %s", r.Reason)
	case want == nil:
		t.note(name, Skipped, "no sample_score is known; the sample scores %s", spell(r.Score))
	case !t.fullData():
		t.note(name, Skipped, "the data are not the full ones; the sample scores %s", spell(r.Score))
	case math.Abs(float64(*r.Score)-*want) > 5e-6:
		t.note(name, Failed, "it scores %s, pinned is %v", spell(r.Score), *want)
	default:
		t.note(name, Passed, "%v", *want)
	}
	return nil
}

func spell(score *grading.Number) string {
	if score == nil {
		return "nothing"
	}
	return fmt.Sprint(float64(*score))
}

// fullData reports whether sample and answers have their pinned sums. A
// competition whose data ship with it has no others.
func (t *tester) fullData() bool {
	pinned := t.def.Checksums.Pinned()
	if len(pinned) == 0 {
		return t.def.Complexity == competitions.Demo
	}
	for _, p := range []string{t.def.Layout.Answers, t.def.Layout.Sample} {
		if want, ok := pinned[p]; ok {
			data, err := os.ReadFile(t.path(p))
			if sum := md5.Sum(data); err != nil || hex.EncodeToString(sum[:]) != want {
				return false
			}
		}
	}
	return true
}

// damaged tries submissions that are worse than gold, and more damage after less. A
// metric that ignores the submission, or whose direction is wrong, does not rank them so.
func (t *tester) damaged() error {
	if t.noGold {
		return nil
	}
	t.worse("sample scores worse than gold", t.sampled, t.score, "gold")
	few, err := t.swapped("gold with a few swapped targets scores worse", max(1, t.gold.Len()/50))
	if err != nil || few == nil {
		return err
	}
	all, err := t.swapped("gold with shuffled targets scores worse", t.gold.Len())
	if err != nil || all == nil {
		return err
	}
	if float64(*all) != float64(*few) {
		t.worse("more swapped targets score worse than a few", grading.Report{Score: all}, float64(*few), "a few")
	}
	return nil
}

// swapped tries the gold submission with the targets of some rows replaced by different
// ones of other rows, and returns its score, if it has one.
func (t *tester) swapped(name string, rows int) (*grading.Number, error) {
	s, err := t.swap(rows)
	if err != nil {
		t.note(name, Skipped, "%v", err)
		return nil, nil
	}
	r, err := t.gradeTable(s)
	if err != nil {
		return nil, err
	}
	t.worse(name, r, t.score, "gold")
	return r.Score, nil
}

// worse notes whether a submission scores worse than a better one.
func (t *tester) worse(name string, r grading.Report, than float64, better string) {
	switch {
	case r.Score == nil:
		t.note(name, Odd, "it is refused: %s", r.Reason)
	case math.IsNaN(float64(*r.Score)) || t.def.Medals.Better(than, float64(*r.Score)):
		t.note(name, Passed, "%s", spell(r.Score))
	case math.IsInf(than, 0) && float64(*r.Score) == than:
		t.note(name, Odd, "it scores %s, as %s", spell(r.Score), better)
	case float64(*r.Score) == than:
		t.note(name, Failed, "it scores %s, as %s: the metric ignores the targets, or compares the answers with themselves", spell(r.Score), better)
	default:
		t.note(name, Failed, "it scores %s, better than %s, %v: the metric's direction is wrong", spell(r.Score), better, than)
	}
}

// swap returns the gold submission with the targets of at least that many rows exchanged,
// where there are as many.
func (t *tester) swap(rows int) (*table.Table, error) {
	targets, err := t.gold.Select(t.plan.Targets...)
	if err != nil {
		return nil, err
	}
	text := func(row int) string {
		return strings.Join(lists.Of(targets.Columns(), func(c *table.Column) string { return c.Text(row) }), "\x00")
	}
	at := table.Collect(t.gold.Len(), func(i int) int { return i })
	order, done := random.NewRandomState(1).Permutation(len(at)), 0
	for i := 1; i < len(order) && done < rows; i++ {
		a, b := order[i-1], order[i]
		if text(at[a]) != text(at[b]) {
			at[a], at[b] = at[b], at[a]
			done++
		}
	}
	if done == 0 {
		return nil, errors.New("all rows have the same targets")
	}
	return t.gold.With(targets.Take(at).Columns()...)
}

func (t *tester) shuffled() error {
	const name = "shuffled rows change nothing"
	if t.plan.ID == "" {
		t.note(name, Skipped, "rows are paired by position")
		return nil
	}
	order := random.NewRandomState(1).Permutation(t.gold.Len())
	r, err := t.gradeTable(t.gold.Take(order))
	if err != nil {
		return err
	}
	switch {
	case r.Score == nil && t.plan.ByPosition():
		t.note(name, Odd, "rows are matched by position; the gold submission in another order is refused: %s", r.Reason)
	case r.Score == nil:
		t.note(name, Failed, "the gold submission in another order is refused: %s", r.Reason)
	case float64(*r.Score) != t.score && !math.IsNaN(t.score):
		t.note(name, Odd, "the gold submission scores %v, in another order %s", t.score, spell(r.Score))
	default:
		t.note(name, Passed, "%s", spell(r.Score))
	}
	return nil
}

// broken tries submissions that should have no score. No rows and a missing
// target must be refused or score NaN; any other one that is accepted is odd.
func (t *tester) broken() error {
	cases := []struct {
		name string
		must bool
		make func() (*table.Table, error)
	}{
		{"no rows are refused", true, func() (*table.Table, error) { return t.gold.Slice(0, 0), nil }},
		{"a missing target column is refused", true, func() (*table.Table, error) { return t.gold.Drop(t.plan.Targets[0]) }},
		{"a missing row is refused", false, func() (*table.Table, error) { return t.gold.Slice(0, t.gold.Len()-1), nil }},
		{"a missing id column is refused", false, func() (*table.Table, error) { return t.gold.Drop(t.plan.ID) }},
		{"a wrong id is refused", false, t.wrongID},
	}
	for _, c := range cases {
		if t.plan.ID == "" && (c.name == "a missing id column is refused" || c.name == "a wrong id is refused") {
			t.note(c.name, Skipped, "rows are paired by position")
			continue
		}
		s, err := c.make()
		if err != nil {
			t.note(c.name, Skipped, "%v", err)
			continue
		}
		r, err := t.gradeTable(s)
		switch {
		case err != nil:
			return err
		case r.Score == nil:
			t.note(c.name, Passed, "%s", r.Reason)
		case c.must && !t.def.GradedByPython() && !math.IsNaN(float64(*r.Score)):
			t.note(c.name, Failed, "it scores %s", spell(r.Score))
		default:
			t.note(c.name, Odd, "it scores %s", spell(r.Score))
		}
	}
	return nil
}

func (t *tester) wrongID() (*table.Table, error) {
	ids, err := t.gold.Column(t.plan.ID)
	if err != nil {
		return nil, err
	}
	if ids.Len() == 0 {
		return nil, fmt.Errorf("there are no rows")
	}
	cells := ids.Values()
	cells[0] = table.TextValue("no such id")
	if ids.Kind().IsNumber() {
		cells[0] = table.IntValue(-987654321)
	}
	return t.gold.With(table.FromValues(t.plan.ID, cells))
}
