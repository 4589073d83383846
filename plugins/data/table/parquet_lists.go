package table

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	pschema "github.com/apache/arrow/go/v17/parquet/schema"
)

// List is a column with a list in each row: Ints, or Floats, in which NaN is a missing item.
type List struct {
	Name   string
	Ints   [][]int64
	Floats [][]float64
}

// ListWriter writes tables with further columns of lists as a Parquet file, each as a row
// group with Snappy compression.
type ListWriter struct {
	out   *file.Writer
	to    *keepError
	lists int
}

// NewListWriter begins a file with the columns of t and those of lists, of which nothing is
// written.
func NewListWriter(w io.Writer, t *Table, lists ...List) (_ *ListWriter, err error) {
	defer doing("write Parquet", &err)
	to := &keepError{w: w}
	var nodes pschema.FieldList
	for _, l := range lists {
		var item pschema.Node = pschema.NewInt64Node("element", parquet.Repetitions.Optional, -1)
		if l.Floats != nil {
			item = pschema.NewFloat64Node("element", parquet.Repetitions.Optional, -1)
		}
		node, err := pschema.ListOfWithName(l.Name, item, parquet.Repetitions.Required, -1)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	out, err := newParquetFile(to, t, nodes, parquet.WithCompression(compress.Codecs.Snappy))
	return &ListWriter{out, to, len(lists)}, errors.Join(to.err, err)
}

// Write writes a row group. The columns must be those of the writer.
func (l *ListWriter) Write(t *Table, lists ...List) (err error) {
	defer doing("write Parquet", &err)
	if len(lists) != l.lists {
		return fmt.Errorf("%d columns of lists, the file has %d", len(lists), l.lists)
	}
	return errors.Join(writeGroup(l.out, t, lists...), l.to.err)
}

// Close writes the footer.
func (l *ListWriter) Close() (err error) {
	defer doing("write Parquet", &err)
	return errors.Join(l.out.Close(), l.to.err)
}

// write writes the lists of a column.
func (l *List) write(to file.ColumnChunkWriter) (err error) {
	switch to := to.(type) {
	case *file.Int64ColumnChunkWriter:
		values, there, begins := levels(l.Ints, func(int64) bool { return true })
		_, err = to.WriteBatch(values, there, begins)
	case *file.Float64ColumnChunkWriter:
		values, there, begins := levels(l.Floats, func(v float64) bool { return !math.IsNaN(v) })
		_, err = to.WriteBatch(values, there, begins)
	}
	return err
}

// levels returns the items that are there, and Parquet's levels: 0 for an empty list, 1 for
// an item that is missing and 2 for one that is there; and 0 where a list begins.
func levels[T any](lists [][]T, is func(T) bool) (values []T, there, begins []int16) {
	for _, list := range lists {
		if len(list) == 0 {
			there, begins = append(there, 0), append(begins, 0)
		}
		for i, v := range list {
			level := int16(1)
			if is(v) {
				values, level = append(values, v), 2
			}
			there, begins = append(there, level), append(begins, int16(min(i, 1)))
		}
	}
	return values, there, begins
}
