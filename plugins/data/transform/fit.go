package transform

import (
	"fmt"

	"github.com/mleflow/mleflow/plugins/data/table"
)

var firstFitVerb = Verb{
	Name: "first_fit", Params: []string{"column", "size"},
	Summary: "A boolean column: whether a row is among the at most size rows taken group by group.",
	Detail:  "A group is all rows with one cell, missing included. Groups are taken whole, in order of first appearance; one that would exceed size is skipped.",
	Func: func(c *table.Column, size int) (*table.Column, error) {
		if size < 0 {
			return nil, fmt.Errorf("first_fit: size %d is negative", size)
		}
		keys, n := codesOf(true, c)
		count := sizes(keys, n)
		fits := make([]bool, len(count))
		for k, n := range count {
			if fits[k] = n <= size; fits[k] {
				size -= n
			}
		}
		return table.FromBools(c.Name(), taken(fits, keys), nil), nil
	},
}
