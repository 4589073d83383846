package grading

import (
	"github.com/mleflow/mleflow/plugins/metric"
	"github.com/mleflow/mleflow/plugins/table"
)

// cellForm says how the cells of the targets are turned before they are
// compared, on both sides.
type cellForm string

// CellForms are the values of the attribute cells.
var CellForms = []Choice{
	{"raw", "As they were read. The default."},
	{"text", "As Python's str spells them: a missing cell is the text nan, 5 is 5, 1.0 is 1.0, true is True."},
	{"filled", "Missing cells become the empty text; a column with such a cell is one of texts."},
	{"list", "As a Python list of mixed cells becomes an array: missing cells in a column of texts are the text nan."},
	{"int", "As Python's int() reads them: floats are cut towards zero, texts are parsed; what int refuses makes the submission invalid."},
}

func (f cellForm) apply(in *metric.Input) error {
	if f == "raw" {
		return nil
	}
	var err error
	if in.Prediction, err = f.columns(in.Prediction, in.Targets); err != nil {
		return err
	}
	in.Truth, err = f.columns(in.Truth, in.TruthNames)
	return err
}

func (f cellForm) columns(t *table.Table, names []string) (*table.Table, error) {
	var out []*table.Column
	for _, name := range names {
		c, err := t.Column(name)
		if err != nil {
			return nil, invalid("column %q is missing", name)
		}
		if c, err = f.column(c); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return t.With(out...)
}

func (f cellForm) column(c *table.Column) (*table.Column, error) {
	switch f {
	case "text":
		return spelled(c, "nan"), nil
	case "filled":
		if c.MissingCount() > 0 {
			return spelled(c, ""), nil
		}
	case "list":
		if c.Kind() == table.Text && c.MissingCount() < c.Len() {
			return spelled(c, "nan"), nil
		}
	case "int":
		return integers(c)
	}
	return c, nil
}

// spelled returns the column as texts, with a text for missing cells.
func spelled(c *table.Column, missing string) *table.Column {
	if c.Kind() == table.Text && c.MissingCount() == 0 {
		return c
	}
	texts := c.Texts()
	for i := range texts {
		if c.IsMissing(i) {
			texts[i] = missing
		}
	}
	return table.FromTexts(c.Name(), texts, nil)
}

func integers(c *table.Column) (*table.Column, error) {
	if c.Kind() == table.Int64 {
		return c, nil
	}
	out := make([]int64, c.Len())
	for i := range out {
		n, ok := metric.PythonInt(c.Value(i))
		if !ok {
			return nil, invalid("column %q: row %d: %s is not a whole number", c.Name(), i+1, cell(c, i))
		}
		out[i] = n
	}
	return table.FromInts(c.Name(), out), nil
}
