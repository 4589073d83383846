package grading

import (
	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// cellForm is the conversion of the target cells, on both sides, before they are
// compared.
type cellForm string

// CellForms are the values of the attribute cells.
var CellForms = []Choice{
	{"raw", "Unchanged. The default."},
	{"text", "As Python's str converts them: a missing cell is the string nan, 5 is 5, 1.0 is 1.0, true is True."},
	{"filled", "Missing cells become empty strings; a column of numbers then holds both, which metrics of strings refuse."},
	{"filled_text", "Missing cells become empty strings, others as by text."},
	{"filled_list", "As filled, then as numpy makes a list an array: a missing cell makes the column strings, integers beyond 63 bits among others make it floats."},
	{"list", "As numpy makes a mixed list an array: missing cells among strings are the string nan."},
	{"first_int", "As int, but of the first word of a string only; floats are refused."},
	{"int", "As Python's int() reads them: floats are truncated. What int refuses, and numbers beyond 64 bits, make the submission invalid."},
	{"numeric", "As pandas.to_numeric reads strings; what it refuses makes the submission invalid."},
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
		return filled(c), nil
	case "filled_text":
		return spelled(c, ""), nil
	case "filled_list":
		if c.MissingCount() > 0 {
			return spelled(c, ""), nil
		}
		if c.Kind() == table.Uint64 {
			return integers(c, pytext.Int)
		}
	case "list":
		if c.Kind() == table.Text && c.MissingCount() < c.Len() {
			return spelled(c, "nan"), nil
		}
	case "int":
		return integers(c, pytext.Int)
	case "numeric":
		out, err := c.ToNumeric()
		if err != nil {
			return nil, invalid("column %q: %v", c.Name(), err)
		}
		return out, nil
	case "first_int":
		return integers(c, firstInt)
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

// filled returns the column with the empty text instead of missing cells.
func filled(c *table.Column) *table.Column {
	missing := c.MissingCount()
	if missing == 0 {
		return c
	}
	if missing == c.Len() || c.Kind() == table.Text {
		return spelled(c, "")
	}
	values := c.Values()
	for i, v := range values {
		if v.IsMissing() {
			values[i] = table.TextValue("")
		}
	}
	return table.FromValues(c.Name(), values)
}

// firstInt reads an integer, or the first word of a text.
func firstInt(v table.Value) (table.Value, bool) {
	switch v.Kind() {
	case table.Float64:
		return table.Value{}, false
	case table.Text:
		first := pytext.Fields(v.String())
		if len(first) == 0 {
			return table.Value{}, false
		}
		return pytext.Int(table.TextValue(first[0]))
	}
	return pytext.Int(v)
}

// integers converts a list of Python ints as numpy does: to int64, to uint64 if
// all are beyond that, to doubles if some are.
func integers(c *table.Column, read func(table.Value) (table.Value, bool)) (*table.Column, error) {
	if c.Kind() == table.Int64 {
		return c, nil
	}
	out, large := make([]table.Value, c.Len()), 0
	for i := range out {
		n, ok := read(c.Value(i))
		if !ok {
			return nil, invalid("column %q: row %d: %s is not an integer of at most 64 bits", c.Name(), i+1, cell(c, i))
		}
		if out[i] = n; n.Kind() == table.Uint64 && n.Int() < 0 {
			large++
		}
	}
	kind := table.Float64
	switch large {
	case 0:
		kind = table.Int64
	case len(out):
		kind = table.Uint64
	}
	return table.FromKind(c.Name(), kind, out), nil
}
