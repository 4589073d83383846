package transform

import (
	"fmt"

	"github.com/mleflow/mleflow/plugins/table"
)

// shapeVerbs change the shape of a table.
var shapeVerbs = []Verb{idxmaxVerb}

var idxmaxVerb = Verb{
	Name: "idxmax", Params: []string{"table"},
	Summary: "A column that names, for each row of a table of numbers, the column with the row's greatest cell.",
	Detail:  "The first of equal cells counts. Missing cells are skipped; a row without others is missing.",
	Source:  "pandas.DataFrame.idxmax(axis=1)",
	Func:    idxmax,
}

func idxmax(t *table.Table) (*table.Column, error) {
	cells := make([]table.Value, t.Len())
	for _, c := range t.Columns() {
		if !isNumeric(c.Kind()) {
			return nil, fmt.Errorf("idxmax: column %q holds %s cells, not numbers", c.Name(), c.Kind())
		}
	}
	for i := range cells {
		var best table.Value
		for _, c := range t.Columns() {
			if v := c.Value(i); !v.IsMissing() && (best.IsMissing() || compareValues(v, best) > 0) {
				best, cells[i] = v, table.TextValue(c.Name())
			}
		}
	}
	return table.FromValues("idxmax", cells), nil
}
