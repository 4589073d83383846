package transform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
)

var explodeWordsVerb = Verb{
	Name: "explode_words", Params: []string{"table", "column", "names"},
	Summary: "The table with a column of strings split at white space into new last columns, names: a row for every len(names) words, other cells repeated.",
	Detail:  "Order stays. A string without words gives no row. A missing string, or words that do not fill a row, are errors.",
	Source:  "string.split(), words[k::n] for k in range(n)",
	Func:    explodeWords,
}

func explodeWords(t *table.Table, column string, names []string) (*table.Table, error) {
	c, err := t.Column(column)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("explode_words: name at least one new column")
	}
	var rows []int
	cells := make([][]string, len(names))
	for i := range c.Len() {
		if c.IsMissing(i) || c.Kind() != table.Text {
			return nil, fmt.Errorf("explode_words: row %d of column %q is not a string", i, column)
		}
		words := pytext.Fields(c.Text(i))
		if len(words)%len(names) != 0 {
			return nil, fmt.Errorf("explode_words: row %d of column %q has %d words, which is not a multiple of %d", i, column, len(words), len(names))
		}
		for k, word := range words {
			cells[k%len(names)] = append(cells[k%len(names)], word)
		}
		rows = append(rows, slices.Repeat([]int{i}, len(words)/len(names))...)
	}
	rest, err := t.Drop(column)
	if err != nil {
		return nil, err
	}
	cols := slices.Clone(rest.Take(rows).Columns())
	for k, name := range names {
		cols = append(cols, table.FromTexts(name, cells[k], nil))
	}
	return table.New(cols...)
}

var multiHotVerb = Verb{
	Name: "multi_hot", Params: []string{"table", "column", "classes", "separator"},
	Summary: "The table with a column that lists classes replaced by a last column per class, in their order: 1 where the string, split at every separator, has the class, else 0.",
	Detail:  "Items are not trimmed, other items ignored; a missing string has no class.",
	Source:  "table[column].str.get_dummies(sep=separator).reindex(columns=classes, fill_value=0)",
	Func: func(t *table.Table, column string, classes []string, separator string) (*table.Table, error) {
		c, err := t.Column(column)
		if err != nil {
			return nil, err
		}
		if separator == "" {
			return nil, fmt.Errorf("multi_hot: the separator is empty")
		}
		return hot(t, column, classes, func(i int) []string {
			if c.IsMissing(i) {
				return nil
			}
			return strings.Split(c.Text(i), separator)
		})
	},
}

// hot replaces a column by one of zeros and ones for each class.
func hot(t *table.Table, column string, classes []string, classesOf func(row int) []string) (*table.Table, error) {
	place := map[string]int{}
	flags := make([][]int64, len(classes))
	for k, class := range classes {
		place[class] = k
		flags[k] = make([]int64, t.Len())
	}
	for i := range t.Len() {
		for _, class := range classesOf(i) {
			if k, ok := place[class]; ok {
				flags[k][i] = 1
			}
		}
	}
	rest, err := t.Drop(column)
	if err != nil {
		return nil, err
	}
	cols := slices.Clone(rest.Columns())
	for k, class := range classes {
		cols = append(cols, table.FromInts(class, flags[k]))
	}
	return table.New(cols...)
}
