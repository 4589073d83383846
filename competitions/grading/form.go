package grading

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// A Form tells whether a submission has the form that the grader asks for. It
// knows the definition, the sample submission and the sketch of the answers
// (WriteSketch). It never saw a label, so that neither its verdict nor the time
// that it takes says anything of one.
//
// The rows of the sketch stand for the answers; without a sketch, those of the
// sample do. Where the metric itself may refuse a submission it is tried on
// labels that are made up: the sample's own values, or each class in turn where
// the sample has no score against itself (equal numbers everywhere) or no
// values, with the columns and spellings of answers that the metric itself
// gives (metric.Placeholders).
//
// Without a sketch, form and grader differ where the sample does not say which
// rows are scored, or has other ids than the answers.
//
// A Form is read-only and may be used by several goroutines at once.
type Form struct {
	plan   *Plan
	sample *table.Table
	// rows are the sample's values in the rows of the answers.
	rows   *table.Table
	limits limits
	// truth stands for the answers. The metric is tried on it unless the sample
	// has no score against anything that could be made up.
	truth *table.Table
	tried bool
}

// NewForm returns the form of the submissions to a competition, whose sample
// submission is the CSV file at sample, and whose sketch is that at sketch; "" is none.
func NewForm(def *competitions.Definition, metrics *metric.Registry, params map[string]cty.Value, sample, sketch string) (*Form, error) {
	plan, diags := Decode(def, metrics, params)
	if diags.HasErrors() {
		return nil, fmt.Errorf("form of %s: %w", def.ID, diags)
	}
	t, err := table.ReadCSVFile(sample, plan.ReadOptions())
	if err != nil {
		return nil, fmt.Errorf("form of %s: read sample submission: %w", def.ID, err)
	}
	f := &Form{plan: plan, sample: t, rows: t}
	if sketch != "" {
		if err := f.take(sketch); err != nil {
			return nil, fmt.Errorf("form of %s: read sketch: %w", def.ID, err)
		}
	}
	if f.limits, err = limitsBeside(sample); err != nil {
		return nil, fmt.Errorf("form of %s: %w", def.ID, err)
	}
	f.truth, f.tried = f.inventTruth()
	return f, nil
}

// take reads the sketch.
func (f *Form) take(path string) error {
	sketch, err := table.ReadCSVFile(path, f.plan.ReadOptions())
	if err != nil {
		return err
	}
	if f.rows, err = f.drawn(sketch); err != nil {
		return err
	}
	if only := f.plan.only; only != nil {
		plan := *f.plan
		plan.only = &rowFilter{Column: scoredColumn, value: table.BoolValue(true), By: only.By}
		f.plan = &plan
	}
	return nil
}

// Check checks the form of a submission. A mistake in it is an *Invalid, whose
// reason may be shown. Any other error is the machine's.
func (f *Form) Check(submission string) error {
	if bad := findSubmission(submission); bad != nil {
		bad.Rule = "file"
		return bad
	}
	t, err := f.limits.read(submission, f.plan.ReadOptions())
	if err != nil {
		return err
	}
	s, err := f.plan.checked(t, f.truth)
	if err == nil {
		err = f.measure(s)
	}
	return err
}

// measure pairs the rows and tries the metric. The text of its error is not repeated:
// they speak of answers, which here are made up.
func (f *Form) measure(s *subject) error {
	if f.plan.Program != nil {
		return nil
	}
	in, err := s.aligned()
	if err != nil {
		return blame(err, "")
	}
	if !f.tried {
		return nil
	}
	_, err = f.plan.scorer.Score(in)
	var refused *metric.Unscorable
	switch {
	case !errors.As(err, &refused):
		return err
	case refused.Column == "":
		return invalid("the metric cannot score this submission; compare its rows and values with the sample submission")
	}
	return invalid("column %q contains values that the metric cannot score: missing, not finite, or of a different type than in the sample submission", refused.Column)
}

// Class names the subject of a reason, for people and counts: file, csv,
// columns, rows, ids, values or range.
func (e *Invalid) Class() string {
	if e.Rule == "file" || e.Rule == "csv" {
		return e.Rule
	}
	for _, r := range rules {
		if r.Name == e.Rule {
			return r.class
		}
	}
	return "values"
}

// inventTruth makes answers up from the sample, and says whether the sample has
// a score against them.
func (f *Form) inventTruth() (truth *table.Table, scored bool) {
	for _, invent := range []func() (*table.Table, error){f.spelled, f.words, f.varied, f.same, f.classes} {
		t, err := invent()
		if err == nil {
			t, err = f.sparse(t)
		}
		if err != nil {
			continue
		}
		if t, err = f.completed(t); err == nil {
			return t, true
		}
		if t != nil {
			truth = t
		}
	}
	if truth == nil {
		truth = f.rows
	}
	return truth, false
}

// completed adds the columns that answers have and submissions do not, until
// the sample has a score against the table. With an error it returns the table
// as far as it is completed.
func (f *Form) completed(t *table.Table) (*table.Table, error) {
	for {
		_, err := f.plan.Score(f.sample, t)
		var lacks *table.NoColumnError
		if err == nil || !errors.As(err, &lacks) || t.Has(lacks.Name) {
			return t, err
		}
		c := f.column(lacks.Name)
		if c == nil {
			return t, err
		}
		if t, err = t.With(c); err != nil {
			return nil, err
		}
	}
}

// column makes up a column of the answers; nil if its values are not known. All
// rows are among the graded ones.
func (f *Form) column(name string) *table.Column {
	n := f.rows.Len()
	if only := f.plan.only; only != nil && only.Column == name {
		return table.FromValues(name, slices.Repeat([]table.Value{only.value}, n))
	}
	if cells := f.plan.Metric.PlaceholdersFor(f.plan.args, name); cells != nil {
		return inTurn(name, cells, n)
	}
	return nil
}

// inTurn returns a column with the cells, spelled as in a CSV file, in turn.
func inTurn(name string, cells []string, n int) *table.Column {
	values := make([]table.Value, n)
	for i := range values {
		cell := cells[i%len(cells)]
		values[i] = table.TextValue(cell)
		if number, err := strconv.ParseInt(cell, 10, 64); err == nil {
			values[i] = table.IntValue(number)
		}
	}
	return table.FromValues(name, values)
}

// spelled returns the rows with the targets as answers spell them, where they
// do so in another way than submissions.
func (f *Form) spelled() (*table.Table, error) {
	cells := f.plan.Metric.Placeholders[""]
	if cells == nil {
		return nil, fmt.Errorf("answers are converted like submissions")
	}
	rows, err := f.asked()
	if err != nil {
		return nil, err
	}
	return rows.With(lists.Of(f.plan.Truth, func(name string) *table.Column { return inTurn(name, cells, rows.Len()) })...)
}

// asked returns the sample's rows with the ids of the answers: one for those
// that differ in their ends.
func (f *Form) asked() (*table.Table, error) {
	if len(f.plan.Metric.Ends) == 0 {
		return f.rows, nil
	}
	ids, err := f.rows.Column(f.plan.ID)
	if err != nil {
		return nil, err
	}
	var rows []int
	var names []string
	for i := range ids.Len() {
		if name, ok := strings.CutSuffix(ids.Text(i), f.plan.Metric.Ends[0]); ok {
			rows, names = append(rows, i), append(names, name)
		}
	}
	return f.rows.Take(rows).With(table.FromTexts(f.plan.ID, names, nil))
}

// words returns the rows with one of three strings in turn in each row, if it
// says nothing of the values that belong there.
func (f *Form) words() (*table.Table, error) {
	return f.answered(func(c *table.Column) (*table.Column, error) {
		if c.MissingCount() < c.Len() {
			return nil, fmt.Errorf("column %q has values", c.Name())
		}
		values := make([]string, c.Len())
		for row := range values {
			values[row] = string(rune('a' + row%3))
		}
		return table.FromTexts(c.Name(), values, nil), nil
	})
}

// varied returns the rows with three other texts or integers in turn in most rows,
// if it has the same one in all: answers have several.
func (f *Form) varied() (*table.Table, error) {
	return f.answered(func(c *table.Column) (*table.Column, error) {
		texts := c.Texts()
		if c.MissingCount() > 0 || len(slices.Compact(slices.Clone(texts))) != 1 || c.Kind() != table.Text && !f.classNumbers(c) {
			return nil, fmt.Errorf("column %q does not hold the same text or integer in all rows", c.Name())
		}
		if f.classNumbers(c) {
			ints := slices.Clone(c.Ints())
			for row := range ints {
				ints[row] ^= int64(row % 4)
			}
			return table.FromInts(c.Name(), ints), nil
		}
		for row := range texts {
			if k := row % 4; k > 0 {
				texts[row] = string(rune('a' + k))
			}
		}
		return table.FromTexts(c.Name(), texts, nil), nil
	})
}

// classNumbers reports whether a target's integers may be classes: those of several
// targets are flags.
func (f *Form) classNumbers(c *table.Column) bool {
	return c.Kind() == table.Int64 && len(f.plan.Targets) == 1
}

// same returns the sample under the names of the answers.
func (f *Form) same() (*table.Table, error) {
	return f.answered(func(c *table.Column) (*table.Column, error) { return c, nil })
}

// answered returns the rows with an answer to each target, made of its column.
func (f *Form) answered(answer func(*table.Column) (*table.Column, error)) (*table.Table, error) {
	columns := make([]*table.Column, len(f.plan.Targets))
	for i, name := range f.plan.Targets {
		c, err := f.rows.Column(name)
		if err == nil {
			c, err = answer(c)
		}
		if err != nil {
			return nil, err
		}
		columns[i] = c.Rename(f.plan.Truth[i])
	}
	return f.rows.With(columns...)
}

// classes returns the rows with one class in each row, each in turn; with a
// single target it is 0 and 1 in turn.
func (f *Form) classes() (*table.Table, error) {
	n := len(f.plan.Targets)
	columns := make([]*table.Column, n)
	for i, name := range f.plan.Truth {
		values := make([]int64, f.rows.Len())
		for row := range values {
			if row%max(n, 2) == i {
				values[row] = 1
			}
		}
		columns[i] = table.FromInts(name, values)
	}
	return f.rows.With(columns...)
}
