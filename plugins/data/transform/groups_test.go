package transform

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// TestCodesOf compares the codes of columns, in runs of equal cells and not,
// with those of a map from the cells' texts.
func TestCodesOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	cells := []table.Value{{}, table.IntValue(0), table.IntValue(1 << 40), table.IntValue(-7), table.FloatValue(-7), table.FloatValue(2.5), table.TextValue("2.5"), table.TextValue("")}
	texts := []string{"missing", "0", "1<<40", "-7", "-7", "2.5", "'2.5'", "''"} // -7 equals -7.0
	column := func(n, run int) (*table.Column, []int) {
		var values []table.Value
		var which []int
		for len(values) < n {
			k := rng.IntN(len(cells))
			for range 1 + rng.IntN(run) {
				values, which = append(values, cells[k]), append(which, k)
			}
		}
		return table.FromValues("cells", values[:n]), which[:n]
	}
	whole := cells[1:4] // of which a column is one of integers
	for _, run := range []int{1, 5, 3} {
		for _, missing := range []bool{false, true} {
			if run == 3 {
				cells, texts = whole, []string{"0", "1<<40", "-7"}
			}
			a, ka := column(300, run)
			b, kb := column(300, run)
			seen, want := map[string]int{}, make([]int, a.Len())
			for i := range want {
				if want[i] = -1; !missing && (texts[ka[i]] == "missing" || texts[kb[i]] == "missing") {
					continue
				}
				text := fmt.Sprint(texts[ka[i]], " ", texts[kb[i]])
				if _, ok := seen[text]; !ok {
					seen[text] = len(seen)
				}
				want[i] = seen[text]
			}
			got, count := codesOf(missing, a, b)
			if diff := cmp.Diff(want, got); diff != "" || count != len(seen) {
				t.Errorf("missing %v, runs of %d: %d codes, want %d\n%s", missing, run, count, len(seen), diff)
			}
		}
	}
}

// TestNumberGroups numbers groups by size of their cells and in order of first
// appearance; where_in keeps those of some cells.
func TestNumberGroups(t *testing.T) {
	c := table.FromValues("cells", []table.Value{table.IntValue(5), table.IntValue(5), {}, table.IntValue(2), table.IntValue(5), table.IntValue(2), {}, {}})
	number := numberGroupsVerb.Func.(func(*table.Column, *groupOptions) *table.Column)
	unsorted := false
	for name, tt := range map[string]struct {
		o    groupOptions
		want []int64
	}{
		"sorted":   {groupOptions{}, []int64{1, 1, 2, 0, 1, 0, 2, 2}},
		"unsorted": {groupOptions{Sort: &unsorted}, []int64{0, 0, 1, 2, 0, 2, 1, 1}},
	} {
		if diff := cmp.Diff(tt.want, number(c, &tt.o).Ints()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	rows, err := table.New(c, table.FromInts("row", []int64{0, 1, 2, 3, 4, 5, 6, 7}))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		values ListRows
		want   []int64
	}{
		"a number":      {ListRows{table.FloatValue(5)}, []int64{0, 1, 4}},
		"missing cells": {ListRows{{}}, []int64{2, 6, 7}},
		"none":          {ListRows{}, []int64{}},
		"large numbers": {ListRows{table.IntValue(1 << 40), table.IntValue(-5)}, []int64{}},
		"small ones":    {ListRows{table.IntValue(1), table.IntValue(2), table.IntValue(1 << 40)}, []int64{3, 5}},
	} {
		got, err := whereMember(TableRows{rows}, "cells", tt.values, true)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := got.(Columned).Column("row")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, kept.Ints()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
