package table

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// WriteArrow writes t as an Arrow IPC file (also known as Feather version 2),
// one record batch without compression. Columns are int64, uint64, double,
// bool and utf8, all nullable; Mixed columns are refused. Missing cells are
// nulls, NaN of a Float64 column among them. Column.As gives other types.
func WriteArrow(w io.Writer, t *Table) error {
	if err := writeArrow(w, t); err != nil {
		return fmt.Errorf("write Arrow: %w", err)
	}
	return nil
}

func writeArrow(w io.Writer, t *Table) error {
	rec, err := record(t)
	if err != nil {
		return err
	}
	defer rec.Release()
	// The writer would seek to close a file; the bytes are the same.
	out, err := ipc.NewFileWriter(&writeSeeker{w: w}, ipc.WithSchema(rec.Schema()))
	if err == nil {
		err = errors.Join(out.Write(rec), out.Close())
	}
	return err
}

// WriteParquet writes t as a Parquet file, one row group without compression,
// with the columns of WriteArrow, which it holds in memory. The same table
// gives the same bytes.
func WriteParquet(w io.Writer, t *Table) error {
	to := &keepError{w: w}
	out, err := newParquetFile(to, t)
	if err == nil {
		err = errors.Join(writeGroup(out, t), out.Close(), to.err)
	}
	if err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	return nil
}

// writeSeeker answers where it is; it cannot go elsewhere.
type writeSeeker struct {
	w  io.Writer
	at int64
}

func (s *writeSeeker) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	s.at += int64(n)
	return n, err
}

func (s *writeSeeker) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, fmt.Errorf("seek to %d: not a file", offset)
	}
	return s.at, nil
}

// record copies the table into one Arrow record.
func record(t *Table) (arrow.Record, error) {
	fields := make([]arrow.Field, len(t.Columns()))
	columns := make([]arrow.Array, len(t.Columns()))
	for i, c := range t.Columns() {
		data, err := arrowArray(c)
		if err != nil {
			return nil, err
		}
		defer data.Release()
		fields[i] = arrow.Field{Name: c.Name(), Type: data.DataType(), Nullable: true}
		columns[i] = data
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), columns, int64(t.Len())), nil
}

func arrowArray(c *Column) (arrow.Array, error) {
	var b array.Builder
	var add func(i int)
	switch kind := c.Kind(); {
	case kind == Int64, c.as == Integers:
		of, at := array.NewInt64Builder(memory.DefaultAllocator), intCell(c)
		b, add = of, func(i int) { of.Append(at(i)) }
	case c.as == Times:
		of, at := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}), intCell(c)
		b, add = of, func(i int) { of.Append(arrow.Timestamp(at(i))) }
	case kind == Uint64:
		of := array.NewUint64Builder(memory.DefaultAllocator)
		values := c.Uints()
		b, add = of, func(i int) { of.Append(values[i]) }
	case kind == Float64:
		of := array.NewFloat64Builder(memory.DefaultAllocator)
		b, add = of, func(i int) { of.Append(c.Float(i)) }
	case kind == Bool:
		of := array.NewBooleanBuilder(memory.DefaultAllocator)
		b, add = of, func(i int) { of.Append(c.Bool(i)) }
	case kind == Text:
		of := array.NewStringBuilder(memory.DefaultAllocator)
		b, add = of, func(i int) { of.Append(c.Text(i)) }
	default:
		return nil, mixedError(c)
	}
	defer b.Release()
	b.Reserve(c.Len())
	for i := range c.Len() {
		if c.IsMissing(i) {
			b.AppendNull()
		} else {
			add(i)
		}
	}
	return b.NewArray(), nil
}

func mixedError(c *Column) error {
	return fmt.Errorf("column %q holds values of several kinds", c.Name())
}
