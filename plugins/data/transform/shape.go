package transform

import (
	"fmt"
	"math"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// shapeVerbs change the shape of a table.
var shapeVerbs = []Verb{idxmaxVerb}

var idxmaxVerb = Verb{
	Name: "idxmax", Params: []string{"table"},
	Summary: "For each row of numbers, the name of the column with the greatest cell.",
	Detail:  "Of equals the first counts. Missing counts as minus infinity; a row without cells gives a missing one. Cells compare as integers if all columns hold integers of one type, else as floats.",
	Source:  "pandas.DataFrame.idxmax(axis=1)",
	Func:    idxmax,
}

func idxmax(t *table.Table) (*table.Column, error) {
	whole := true
	for _, c := range t.Columns() {
		if !isNumeric(c.Kind()) && c.Len() > 0 {
			return nil, fmt.Errorf("idxmax: column %q holds %s cells, not numbers", c.Name(), c.Kind())
		}
		whole = whole && c.Kind() == t.Columns()[0].Kind() && (c.Kind() == table.Int64 || c.Kind() == table.Uint64)
	}
	greater := func(x, y table.Value) bool { return orLeast(x) > orLeast(y) }
	if whole {
		greater = func(x, y table.Value) bool { return x.Compare(y) > 0 }
	}
	names := make([]table.Value, t.Len())
	for i := range names {
		best := 0
		some := false
		for k, c := range t.Columns() {
			some = some || !c.IsMissing(i)
			if greater(c.Value(i), t.Columns()[best].Value(i)) {
				best = k
			}
		}
		if some {
			names[i] = table.TextValue(t.Columns()[best].Name())
		}
	}
	return table.FromValues("idxmax", names), nil
}

// orLeast returns a cell as a float, a missing one as less than any number.
func orLeast(v table.Value) float64 {
	if v.IsMissing() {
		return math.Inf(-1)
	}
	return v.Float()
}
