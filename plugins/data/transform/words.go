package transform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

var explodeWordsVerb = Verb{
	Name: "explode_words", Params: []string{"table", "column", "names"},
	Summary: "The table with a column of strings split into words, which fill new columns with the given names: a row for every len(names) words, with the other cells of the row repeated.",
	Detail: "Words are separated by white space. The new columns hold strings and come last; rows made from one row stay together, in the order of its words. " +
		"A string without words gives no row. It is an error if a string is missing, or if its number of words is not a multiple of the number of names.",
	Source: "string.split(), words[k::n] for k in range(n)",
	Func:   explodeWords,
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
		words := strings.FieldsFunc(c.Text(i), metric.IsPythonSpace)
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
	Summary: "The table with a column that lists classes replaced by one column per class, 1 where the string, split at every separator, contains that class and 0 elsewhere. The new columns come last, in the order of the classes.",
	Detail:  "Items are not trimmed. An item that is not one of the classes is ignored; a missing string contains no class. The new columns hold integers.",
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
