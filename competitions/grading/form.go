package grading

import (
	"errors"
	"fmt"

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
		plan.only = &rowFilter{column: scoredColumn, equals: table.BoolValue(true), byRow: only.byRow}
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
	switch e.Rule {
	case "file", "csv":
		return e.Rule
	case "columns", "exact_columns", "column_count", "column_order":
		return "columns"
	case "same_rows", "not_empty":
		return "rows"
	case "same_ids", "same_id_set", sameIDOrder, "known_ids", "all_ids", "unique_ids":
		return "ids"
	case "between", "rows_sum_to":
		return "range"
	}
	return "values"
}
