package table

import "errors"

var errSoon = errors.New("not written yet")

// ArgSort returns the row numbers in the order of pandas sort_values on the
// named columns: one column by numpy's quicksort, which is not stable,
// several by a stable lexicographic sort. Missing values come last.
func (t *Table) ArgSort(names ...string) ([]int, error) {
	return nil, errSoon
}

// SortBy returns the rows in ArgSort's order.
func (t *Table) SortBy(names ...string) (*Table, error) {
	rows, err := t.ArgSort(names...)
	if err != nil {
		return nil, err
	}
	return t.Take(rows), nil
}
