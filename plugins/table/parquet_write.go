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
	"github.com/apache/arrow/go/v17/parquet/pqarrow"
)

// groupRows is the number of rows of a row group that ParquetWriter writes.
const groupRows = 1 << 20

// ParquetWriter writes a table that is given to it in parts as a Parquet file,
// in row groups of 1,048,576 rows with Snappy compression. The same table gives
// the same bytes, whatever the parts.
type ParquetWriter struct {
	out    *pqarrow.FileWriter
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
func NewParquetWriter(w io.Writer, t *Table) (*ParquetWriter, error) {
	rec, err := record(t.Slice(0, 0))
	if err != nil {
		return nil, fmt.Errorf("write Parquet: %w", err)
	}
	defer rec.Release()
	to := &keepError{w: w}
	props := parquet.NewWriterProperties(parquet.WithCreatedBy("mleflow"), parquet.WithDictionaryDefault(false),
		parquet.WithCompression(compress.Codecs.Snappy), parquet.WithMaxRowGroupLength(groupRows))
	out, err := pqarrow.NewFileWriter(rec.Schema(), to, props, pqarrow.DefaultWriterProps())
	if err != nil {
		return nil, fmt.Errorf("write Parquet: %w", errors.Join(to.err, err))
	}
	return &ParquetWriter{out: out, to: to, column: t.Columns()}, nil
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
func (p *ParquetWriter) flush() error {
	if p.rows == 0 {
		return nil
	}
	t, err := Concat(p.parts...)
	if err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	p.parts, p.rows = nil, 0
	rec, err := record(t)
	if err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	defer rec.Release()
	if err := errors.Join(p.out.Write(rec), p.to.err); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	return nil
}

// Close writes what is left and the footer.
func (p *ParquetWriter) Close() error {
	err := p.flush()
	if err = errors.Join(err, p.out.Close(), p.to.err); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	return nil
}

// ParquetContent returns a SHA-256 of what a Parquet file holds, in hexadecimal
// digits: the number of rows, and name, kind and cells of each column in order.
// It does not hang on the library that wrote the file, on compression, encoding,
// row groups, the width of whole numbers or metadata. NaN counts as missing.
func ParquetContent(ctx context.Context, r io.ReaderAt, size int64) (string, error) {
	p, err := OpenParquet(ctx, r, size)
	if err != nil {
		return "", err
	}
	sums := make([]hash.Hash, len(p.columns))
	for i := range sums {
		sums[i] = sha256.New()
	}
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
