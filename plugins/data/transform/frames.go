package transform

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
)

var dropDuplicatesVerb = Verb{
	Name: "drop_duplicates", Params: []string{"table", "columns"},
	Summary: "The first row of those with the same cells in the columns (a name or list; [] for all), in order.",
	Detail:  "Missing cells are equal.",
	Source:  "table.drop_duplicates(columns)",
	Func: func(t *table.Table, columns []string) (*table.Table, error) {
		keys, err := t, error(nil)
		if len(columns) > 0 {
			keys, err = t.Select(columns...)
		}
		if err != nil {
			return nil, err
		}
		return t.Take(firstOf(rowsByCode(codesOf(true, keys.Columns()...)))), nil
	},
}

var sortDescendingVerb = Verb{
	Name: "sort_descending", Params: []string{"table", "column"},
	Summary: "The table sorted by a column, the greatest first.",
	Detail:  "It is numpy's introsort of the reversed rows, which is not stable. Missing cells come last.",
	Source:  "table.sort_values(column, ascending=False)",
	Func: func(t *table.Table, column string) (*table.Table, error) {
		c, err := t.Column(column)
		if err != nil {
			return nil, err
		}
		order, err := descending(c)
		return t.Take(order), err
	},
}

func descending(c *table.Column) ([]int, error) {
	present, missing := where(c.Len(), func(i int) bool { return !c.IsMissing(i) }), where(c.Len(), c.IsMissing)
	slices.Reverse(present)
	order, err := takeColumn(c, present).ArgSort(false)
	rows := lists.Of(order, func(at int32) int { return present[at] })
	slices.Reverse(rows)
	return append(rows, missing...), err
}

var valueCountsVerb = Verb{
	Name: "value_counts", Params: []string{"column"},
	Summary: "A table of the distinct cells and their count, the most frequent first.",
	Detail:  "Missing cells are left out. Equal counts come as sort_descending leaves them.",
	Source:  "column.value_counts().reset_index()",
	Func: func(c *table.Column) (*table.Table, error) {
		groups := rowsByCode(codesOf(false, c))
		counts := table.FromInts("count", lists.Of(groups, func(rows []int) int64 { return int64(len(rows)) }))
		order, err := descending(counts)
		if err != nil {
			return nil, err
		}
		t, err := table.New(takeColumn(c, firstOf(groups)), counts)
		if err != nil {
			return nil, err
		}
		return t.Take(order), nil
	},
}

var groupMeanVerb = Verb{
	Name: "group_mean", Params: []string{"table", "columns", "column", "options"},
	Summary: "A row for each group with the same cells in the columns (a name or list): those cells, and the mean of column.",
	Detail:  "Missing cells are skipped; a group of them has a missing mean. Groups are sorted and left out as in group_first. Sums are compensated, as pandas' are.",
	Source:  "table.groupby(columns, sort=)[column].mean().reset_index()",
	Func: func(t *table.Table, columns []string, column string, o *groupOptions) (*table.Table, error) {
		keys, err := t.Select(columns...)
		if err != nil {
			return nil, err
		}
		c, err := t.Column(column)
		if err != nil {
			return nil, err
		}
		if !isNumeric(c.Kind()) {
			return nil, fmt.Errorf("group_mean: column %q holds %s cells, not numbers", column, c.Kind())
		}
		groups := groupRows(keys, !isFalse(o.Sort))
		means := lists.Of(groups, func(rows []int) float64 {
			sum, lost, n := 0.0, 0.0, 0.0
			for _, i := range rows {
				if c.IsMissing(i) {
					continue
				}
				y := c.Float(i) - lost // Kahan 1965
				next := sum + y
				if lost = next - sum - y; lost != lost {
					lost = 0
				}
				sum, n = next, n+1
			}
			return sum / n
		})
		return keys.Take(firstOf(groups)).With(table.FromFloats(column, means))
	},
}

var meltVerb = Verb{
	Name: "melt", Params: []string{"table", "columns"},
	Summary: "A row for each cell that is not in the columns (a name or list): their cells, the name of its column as variable, and the cell as value.",
	Detail:  "Rows come column by column.",
	Source:  "table.melt(id_vars=columns)",
	Func: func(t *table.Table, columns []string) (*table.Table, error) {
		keys, err := t.Select(columns...)
		if err != nil {
			return nil, err
		}
		rest, err := t.Drop(columns...)
		if err != nil {
			return nil, err
		}
		if len(rest.Columns()) == 0 {
			return nil, errors.New("melt: there is no other column")
		}
		var rows []int
		var names []string
		for _, name := range rest.Names() {
			rows, names = append(rows, span(0, t.Len())...), append(names, slices.Repeat([]string{name}, t.Len())...)
		}
		values, err := concatRows(lists.Of(rest.Columns(), func(c *table.Column) Rows { return ColumnRows{c} })...)
		if err != nil {
			return nil, err
		}
		return table.New(slices.Concat(keys.Take(rows).Columns(), []*table.Column{table.FromTexts("variable", names, nil), values.(ColumnRows).Rename("value")})...)
	},
}

var pivotVerb = Verb{
	Name: "pivot", Params: []string{"table", "index", "columns", "values"},
	Summary: "A row for each value of the column index, sorted, with a column for each value of the column columns, sorted, which has the cell of the column values.",
	Detail:  "Two rows for one place, and a missing index or column, are errors. A place without a row is missing.",
	Source:  "table.pivot(index=index, columns=columns, values=values).reset_index()",
	Func: func(t *table.Table, index, columns, values string) (*table.Table, error) {
		used, err := t.Select(index, columns, values)
		if err != nil {
			return nil, err
		}
		at, groups := [2][]int{}, [2][][]int{}
		for k, c := range used.Columns()[:2] {
			codes, count := codesOf(true, c)
			if c.MissingCount() > 0 {
				return nil, fmt.Errorf("pivot: column %q has missing cells", c.Name())
			}
			sortCodes(codes, count, c)
			at[k], groups[k] = codes, rowsByCode(codes, count)
		}
		if len(groups[0])*len(groups[1]) > 1<<24 {
			return nil, fmt.Errorf("pivot: %d times %d cells are too many", len(groups[0]), len(groups[1]))
		}
		c := used.Columns()[2]
		cells, filled := make([][]table.Value, len(groups[1])), map[[2]int]bool{}
		for k := range cells {
			cells[k] = make([]table.Value, len(groups[0]))
		}
		for i := range c.Len() {
			place := [2]int{at[0][i], at[1][i]}
			if filled[place] {
				return nil, fmt.Errorf("pivot: row %d has the index and column of an earlier row", i)
			}
			filled[place], cells[place[1]][place[0]] = true, c.Value(i)
		}
		if c.Kind() == table.Int64 && len(filled) < len(groups[0])*len(groups[1]) { // with a gap, pandas makes all floats
			for _, column := range cells {
				for i, v := range column {
					if !v.IsMissing() {
						column[i] = table.FloatValue(v.Float())
					}
				}
			}
		}
		out := []*table.Column{takeColumn(used.Columns()[0], firstOf(groups[0]))}
		for k, rows := range groups[1] {
			out = append(out, table.FromValues(used.Columns()[1].Text(rows[0]), cells[k]))
		}
		return table.New(out...)
	},
}
