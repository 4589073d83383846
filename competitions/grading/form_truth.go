package grading

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/table"
)

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
	if only := f.plan.only; only != nil && only.column == name {
		values := make([]table.Value, n)
		for i := range values {
			values[i] = only.equals
		}
		return table.FromValues(name, values)
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
	columns := make([]*table.Column, len(f.plan.Truth))
	for i, name := range f.plan.Truth {
		columns[i] = inTurn(name, cells, rows.Len())
	}
	return rows.With(columns...)
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
