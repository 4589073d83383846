package table

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"

	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/metadata"
	pschema "github.com/apache/arrow/go/v17/parquet/schema"
	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// groupRows is the number of rows of a row group that ParquetWriter writes.
const groupRows = 1 << 20

// ParquetWriter writes a table that is given to it in parts as a Parquet file,
// in row groups of 1,048,576 rows with Snappy compression. The same table gives
// the same bytes, whatever the parts.
type ParquetWriter struct {
	out    *file.Writer
	to     *keepError
	parts  []*Table
	rows   int
	column []*Column
}

// keepError is a writer that takes everything after the first error, since the
// library panics where a write fails.
type keepError struct {
	w   io.Writer
	err error
}

func (k *keepError) Write(p []byte) (int, error) {
	if k.err == nil {
		_, k.err = k.w.Write(p)
	}
	return len(p), nil
}

// NewParquetWriter begins a file with the columns of t, of which no rows are
// written. Mixed columns are refused.
func NewParquetWriter(w io.Writer, t *Table) (_ *ParquetWriter, err error) {
	defer doing("write Parquet", &err)
	to := &keepError{w: w}
	out, err := newParquetFile(to, t, nil, parquet.WithCompression(compress.Codecs.Snappy), parquet.WithMaxRowGroupLength(groupRows))
	return &ParquetWriter{out: out, to: to, column: t.Columns()}, errors.Join(to.err, err)
}

// Write writes rows; the columns must be those of the writer.
func (p *ParquetWriter) Write(t *Table) error {
	if len(t.Columns()) != len(p.column) {
		return fmt.Errorf("write Parquet: %d columns, the file has %d", len(t.Columns()), len(p.column))
	}
	for i, c := range t.Columns() {
		if want := p.column[i]; c.Name() != want.Name() || c.Kind() != want.Kind() {
			return fmt.Errorf("write Parquet: column %q of kind %s, the file has %q of kind %s", c.Name(), c.Kind(), want.Name(), want.Kind())
		}
	}
	for t.Len() > 0 {
		n := min(t.Len(), groupRows-p.rows)
		p.parts = append(p.parts, t.Slice(0, n))
		p.rows += n
		t = t.Slice(n, t.Len())
		if p.rows == groupRows {
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush writes a row group.
func (p *ParquetWriter) flush() (err error) {
	defer doing("write Parquet", &err)
	if p.rows == 0 {
		return nil
	}
	t, err := Concat(p.parts...)
	if err != nil {
		return err
	}
	p.parts, p.rows = nil, 0
	return errors.Join(writeGroup(p.out, t), p.to.err)
}

// Close writes the remaining rows and the footer.
func (p *ParquetWriter) Close() (err error) {
	defer doing("write Parquet", &err)
	return errors.Join(p.flush(), p.out.Close(), p.to.err)
}

// newParquetFile begins a file with the columns of t, all of them optional, and further ones.
func newParquetFile(w io.Writer, t *Table, further pschema.FieldList, more ...parquet.WriterProperty) (*file.Writer, error) {
	props := parquet.NewWriterProperties(append(more, parquet.WithCreatedBy("mleflow"), parquet.WithDictionaryDefault(false))...)
	var nodes pschema.FieldList
	for _, c := range t.Columns() {
		var logical pschema.LogicalType = pschema.NoLogicalType{}
		var physical parquet.Type
		switch c.Kind() {
		case Int64, Uint64:
			physical, logical = parquet.Types.Int64, pschema.NewIntLogicalType(64, c.Kind() == Int64)
		case Float64:
			physical = parquet.Types.Double
		case Bool:
			physical = parquet.Types.Boolean
		case Text:
			physical, logical = parquet.Types.ByteArray, pschema.StringLogicalType{}
			if c.as != Plain {
				physical, logical = parquet.Types.Int64, c.as.logical()
			}
		default:
			return nil, mixedError(c)
		}
		node, err := pschema.NewPrimitiveNodeLogical(c.Name(), parquet.Repetitions.Optional, logical, physical, -1, -1)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	root, err := pschema.NewGroupNode(props.RootName(), props.RootRepetition(), append(nodes, further...), -1)
	if err != nil {
		return nil, err
	}
	return file.NewParquetWriter(w, root, file.WithWriterProps(props), file.WithWriteMetadata(metadata.NewKeyValueMetadata())), nil
}

// writeGroup writes a table and columns of lists as one row group.
func writeGroup(out *file.Writer, t *Table, lists ...List) error {
	group := out.AppendRowGroup()
	for _, c := range t.Columns() {
		to, err := group.NextColumn()
		if err != nil {
			return err
		}
		if err := writeCells(to, c); err != nil {
			return err
		}
	}
	for _, l := range lists {
		to, err := group.NextColumn()
		if err == nil {
			err = l.write(to)
		}
		if err != nil {
			return err
		}
	}
	return group.Close()
}

// writeCells writes the cells of a column that are not missing, and which are.
func writeCells(to file.ColumnChunkWriter, c *Column) (err error) {
	if c.Len() == 0 {
		return nil
	}
	there := make([]int16, c.Len())
	for i := range there {
		if !c.IsMissing(i) {
			there[i] = 1
		}
	}
	switch to := to.(type) {
	case *file.Int64ColumnChunkWriter:
		_, err = to.WriteBatch(present(c, there, intCell(c)), there, nil)
	case *file.Float64ColumnChunkWriter:
		_, err = to.WriteBatch(present(c, there, c.Float), there, nil)
	case *file.BooleanColumnChunkWriter:
		_, err = to.WriteBatch(present(c, there, c.Bool), there, nil)
	case *file.ByteArrayColumnChunkWriter:
		_, err = to.WriteBatch(present(c, there, func(i int) parquet.ByteArray { return parquet.ByteArray(c.Text(i)) }), there, nil)
	default:
		err = mixedError(c)
	}
	return err
}

// present returns those cells of a column that are there.
func present[T any](c *Column, there []int16, at func(i int) T) []T {
	out := make([]T, 0, c.Len())
	for i, is := range there {
		if is == 1 {
			out = append(out, at(i))
		}
	}
	return out
}

// intCell reads integers of 64 bits, with or without a sign.
func intCell(c *Column) func(i int) int64 {
	switch c.Kind() {
	case Int64:
		return c.Int
	case Text:
		return func(i int) int64 { n, _ := c.as.read(c.Text(i)); return n }
	}
	values := c.Uints()
	return func(i int) int64 { return int64(values[i]) }
}

// ParquetContent returns a SHA-256 of a Parquet file's content, in hexadecimal
// digits: the number of rows, and name, kind and cells of each column in order.
// It does not depend on the library that wrote the file, on compression, encoding,
// row groups, the width of integers or metadata. NaN counts as missing.
func ParquetContent(ctx context.Context, r io.ReaderAt, size int64) (string, error) {
	p, err := OpenParquet(ctx, r, size)
	if err != nil {
		return "", err
	}
	sums := lists.Of(p.columns, func(parquetColumn) hash.Hash { return sha256.New() })
	err = p.Scan(ctx, p.Names(), func(t *Table) error {
		var buf []byte
		for i, c := range t.Columns() {
			buf = buf[:0]
			for row := range c.Len() {
				buf = appendCell(buf, c, row)
			}
			sums[i].Write(buf)
		}
		return nil
	})
	whole := sha256.New()
	fmt.Fprintf(whole, "table 1\nrows %d\n", p.rows)
	for i, c := range p.columns {
		fmt.Fprintf(whole, "column %q %s %x\n", c.name, c.kind, sums[i].Sum(nil))
	}
	return hex.EncodeToString(whole.Sum(nil)), err
}

// appendCell appends a cell so that no two different ones look alike.
func appendCell(b []byte, c *Column, row int) []byte {
	switch {
	case c.Kind() == Int64:
		return binary.LittleEndian.AppendUint64(b, uint64(c.Int(row)))
	case c.Kind() == Uint64:
		return binary.LittleEndian.AppendUint64(b, uint64(c.Value(row).Int()))
	case c.IsMissing(row):
		return append(b, 0)
	case c.Kind() == Float64:
		return binary.LittleEndian.AppendUint64(append(b, 1), math.Float64bits(c.Float(row)))
	case c.Kind() == Bool:
		if c.Bool(row) {
			return append(b, 2)
		}
		return append(b, 1)
	}
	text := c.Text(row)
	return append(binary.LittleEndian.AppendUint64(append(b, 1), uint64(len(text))), text...)
}
