package table

import (
	"errors"
	"io"
)

var errSoon = errors.New("not written yet")

func readCSV(r io.Reader, o ReadOptions) (*Table, error)   { return nil, errSoon }
func writeCSV(w io.Writer, t *Table, o WriteOptions) error { return errSoon }
func (t *Table) argSort(names []string) ([]int, error)     { return nil, errSoon }
func concat(tables []*Table) (*Table, error)               { return nil, errSoon }
