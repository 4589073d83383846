package grading

import (
	"fmt"
	"io"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// The names of the files of a sketch: a copy of the sample submission, and what
// WriteSketch writes.
const (
	SketchSample = "sample_submission.csv"
	SketchRows   = "rows.csv"
)

// scoredColumn marks the scored rows in a sketch.
const scoredColumn = "mleflow_scored"

// WriteSketch writes the sketch of a competition's answers as CSV: what the verdict on
// a submission depends on beyond the sample submission, and no label.
//
//   - The ids of the answers, in the sample's order if it has the same ids: the order of
//     the answers may be that of their labels. Otherwise each id once, sorted: how often
//     an id occurs may be a label, such as the number of objects in a picture.
//   - Whether each row is scored.
//   - The columns that the metric calls its shape: the size of a picture, the group of
//     a row (metric.Metric.Shape).
//
// The values of the targets never get into it. Two sets of answers that differ only in
// those have the same sketch, byte for byte. Answers that must be submitted in an order
// that the sample does not show are an error.
func WriteSketch(w io.Writer, def *competitions.Definition, metrics *metric.Registry, params map[string]cty.Value, sample, answers string) error {
	plan, diags := Decode(def, metrics, params)
	if diags.HasErrors() {
		return fmt.Errorf("sketch %s: %w", def.ID, diags)
	}
	s, err := table.ReadCSVFile(sample, plan.ReadOptions())
	if err != nil {
		return fmt.Errorf("sketch %s: read sample submission: %w", def.ID, err)
	}
	a, err := plan.readAnswers(answers)
	if err != nil {
		return fmt.Errorf("sketch %s: read answers: %w", def.ID, err)
	}
	t, err := plan.Sketch(s, a)
	if err == nil {
		err = table.WriteCSV(w, t, table.WriteOptions{Quoting: table.QuoteAll})
	}
	if err != nil {
		return fmt.Errorf("sketch %s: %w", def.ID, err)
	}
	return nil
}

// Sketch returns the sketch as a table; see WriteSketch.
func (p *Plan) Sketch(sample, answers *table.Table) (*table.Table, error) {
	marks, err := p.scored(answers)
	if err != nil {
		return nil, err
	}
	if len(p.Metric.Ends) > 0 { // the sample has the ids, each with every end
		return table.New(table.FromBools(scoredColumn, marks, nil))
	}
	names := p.Metric.Shape(p.args)
	names = slices.DeleteFunc(names, func(name string) bool { return !answers.Has(name) || slices.Contains(p.Truth, name) })
	if p.ID != "" {
		names = append([]string{p.ID}, slices.DeleteFunc(names, func(name string) bool { return name == p.ID })...)
	}
	t, err := answers.Select(names...)
	if err != nil {
		return nil, fmt.Errorf("answers: %w", err)
	}
	if t, err = t.With(table.FromBools(scoredColumn, marks, nil)); err != nil || p.ID == "" {
		return t, err
	}
	ids, err := sample.Column(p.ID)
	if err != nil {
		return nil, fmt.Errorf("sample submission: %w", err)
	}
	return p.inSampleOrder(t, ids)
}

// scored marks the rows of the answers that are graded.
func (p *Plan) scored(answers *table.Table) (marks []bool, err error) {
	if p.only != nil {
		return p.only.marks(answers)
	}
	marks = slices.Repeat([]bool{true}, answers.Len())
	if !p.Metric.Sparse {
		return marks, nil
	}
	for _, name := range p.Truth {
		c, err := answers.Column(name)
		if err != nil {
			return nil, fmt.Errorf("answers: %w", err)
		}
		for i := range marks {
			marks[i] = marks[i] && !c.IsMissing(i)
		}
	}
	return marks, nil
}

// sparse returns a truth without values in the rows that are not graded, if that is how
// the metric knows them.
func (f *Form) sparse(truth *table.Table) (*table.Table, error) {
	if !f.plan.Metric.Sparse || !truth.Has(scoredColumn) {
		return truth, nil
	}
	scored, err := truth.Column(scoredColumn)
	if err != nil {
		return nil, err
	}
	columns := make([]*table.Column, len(f.plan.Truth))
	for i, name := range f.plan.Truth {
		c, err := truth.Column(name)
		if err != nil {
			return nil, err
		}
		values := make([]table.Value, c.Len())
		for row := range values {
			if scored.Bool(row) {
				values[row] = c.Value(row)
			}
		}
		columns[i] = table.FromValues(name, values)
	}
	return truth.With(columns...)
}

// inSampleOrder returns the rows of t in the order of the sample's ids. If the sample has
// other ids, it returns each id once, sorted.
func (p *Plan) inSampleOrder(t *table.Table, sample *table.Column) (*table.Table, error) {
	known, err := t.Column(p.ID)
	if err != nil {
		return nil, err
	}
	texts, given := known.Texts(), sample.Texts()
	if slices.Equal(texts, given) {
		return t, nil
	}
	if slices.ContainsFunc(p.requirements, func(r requirement) bool { return r.name == sameIDOrder }) {
		return nil, fmt.Errorf("%s is required, but the sample submission has its ids in another order than the answers, so the validity server would reveal the order of the answers; write both in one order", sameIDOrder)
	}
	slices.Sort(given)
	slices.Sort(texts)
	if slices.Equal(texts, given) {
		rows := table.Collect(sample.Len(), func(i int) int { return i })
		findRows(rows, sample, known)
		return t.Take(rows), nil
	}
	first := make(map[string]int, len(texts))
	for i := known.Len() - 1; i >= 0; i-- {
		first[known.Text(i)] = i
	}
	return t.Take(lists.Of(slices.Compact(texts), func(text string) int { return first[text] })), nil
}

// drawn returns the sample's rows as the sketch has them, with the sketch's columns. A
// row whose id the sample lacks has the values of some row of the sample.
func (f *Form) drawn(sketch *table.Table) (*table.Table, error) {
	if len(f.plan.Metric.Ends) > 0 || f.sample.Len() == 0 {
		return f.sample, nil
	}
	rows := table.Collect(sketch.Len(), func(i int) int { return i % f.sample.Len() })
	if id := f.plan.ID; id != "" {
		ids, err := sketch.Column(id)
		if err != nil {
			return nil, err
		}
		given, err := f.sample.Column(id)
		if err != nil {
			return nil, err
		}
		findRows(rows, ids, given)
	}
	return f.sample.Take(rows).With(sketch.Columns()...)
}

// findRows sets each row to the number of the row that has its id among the given ones.
// Of ids that occur several times, the n-th is that of the n-th.
func findRows(rows []int, ids, given *table.Column) {
	if ids.Len() == given.Len() && firstDifference(ids, given) < 0 {
		return
	}
	at := rowsByKey(given, table.Lookup{})
	for i := range rows {
		k := ids.Value(i).Exact()
		if found := at[k]; len(found) > 0 {
			rows[i] = int(found[0])
			at[k] = append(found[1:], found[0])
		}
	}
}
