package table

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	pschema "github.com/apache/arrow/go/v17/parquet/schema"
)

// Quoting says which fields WriteCSV quotes.
type Quoting uint8

// The quoting styles of Python's csv module.
const (
	QuoteMinimal    Quoting = iota // fields with a separator, a quote or a line feed
	QuoteNonNumeric                // all fields but numbers
	QuoteAll                       // all fields
)

// WriteOptions says how WriteCSV writes. The zero value writes as
// DataFrame.to_csv(path, index=False).
type WriteOptions struct {
	Comma       byte    // separator, ',' if 0
	NoHeader    bool    // leave out the header line
	Quoting     Quoting // which fields are quoted
	FloatFormat string  // a C format for floats, such as "%.10g"; empty: FormatFloat
	Index       bool    // a first column of row numbers under an empty name
}

// WriteCSV writes t to w as pandas does: "\n" ends a line, floats are written
// as FormatFloat spells them, booleans True and False, quotes in quoted
// fields doubled. A carriage return alone is not quoted, as in Python before
// 3.13, though readers then take it for a line end. It formats on all cores and holds a few thousand rows of
// text at a time.
func WriteCSV(w io.Writer, t *Table, o WriteOptions) (err error) {
	defer doing("write CSV", &err)
	f, err := newFormatter(t, o)
	if err != nil {
		return err
	}
	if _, err := w.Write(f.header()); err != nil {
		return err
	}
	return f.writeRows(w)
}

// WriteCSVFile writes t to a new file at path.
func WriteCSVFile(path string, t *Table, o WriteOptions) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(WriteCSV(f, t, o), f.Close())
}

const blockCells = 1 << 14 // cells formatted at a time

// writeRows formats blocks of rows side by side and writes them in order.
func (f *formatter) writeRows(w io.Writer) error {
	if f.lines != nil && f.lines.of.retained.window != nil {
		return f.lines.of.retained.window.write(w, f)
	}
	step := max(1, blockCells/(len(f.t.cols)+1))
	if f.t.n <= step {
		_, err := w.Write(f.rows(nil, 0, f.t.n))
		return err
	}
	return WriteBlocks(w, f.t.n, step, func(b []byte, lo, hi int) ([]byte, error) { return f.rows(b, lo, hi), nil })
}

// WriteBlocks has n rows formatted, step of them at a time, on all cores and
// writes them in order.
func WriteBlocks(w io.Writer, n, step int, format func(b []byte, lo, hi int) ([]byte, error)) error {
	type block struct {
		text []byte
		err  error
	}
	free := make(chan []byte, 2*runtime.GOMAXPROCS(0)+2)
	blocks := func(yield func(lo int) bool) error {
		for lo := 0; lo < n && yield(lo); lo += step {
		}
		return nil
	}
	worker := func() func(int) block {
		return func(lo int) (b block) {
			select {
			case b.text = <-free:
			default:
			}
			b.text, b.err = format(b.text[:0], lo, min(lo+step, n))
			return b
		}
	}
	return InOrder(blocks, worker, func(b block) error {
		if b.err == nil {
			_, b.err = w.Write(b.text)
		}
		select {
		case free <- b.text:
		default:
		}
		return b.err
	})
}

// warmRows is how many rows are fetched ahead: few enough to stay in the
// first cache levels until they are formatted.
const warmRows = 128

// warm touches the cells of scattered rows, a column at a time: the
// processor then fetches many of them at once, where the rows' formatting
// would wait for each. It returns a value made of them so that the compiler keeps
// the reads.
func (f *formatter) warm(lo, hi int) (seen int) {
	if f.lines != nil {
		seen = f.lines.warm(lo, hi)
	}
	for k, c := range f.t.cols {
		if c.rows == nil || f.lines != nil && f.lines.fields[k] >= 0 || len(c.parts()) == 0 {
			continue
		}
		rows := c.rows[lo:hi]
		switch c.kind {
		case Float64:
			seen += touch(c, rows, func(v *vector) []float64 { return v.floats })
		case Int64:
			seen += touch(c, rows, func(v *vector) []int64 { return v.ints })
		case Text:
			seen += touchTexts(c, rows)
		}
	}
	return seen
}

func touch[T float64 | int64](c *Column, rows []int32, data func(*vector) []T) int {
	mask, parts := int32(1)<<c.shift-1, c.parts()
	var sum T
	for _, r := range rows {
		if d := data(parts[max(r, 0)>>c.shift]); int(r&mask) < len(d) { // vectors of decimals have none
			sum += d[r&mask]
		}
	}
	return int(sum)
}

// touchTexts fetches the places of the strings first and then the strings.
func touchTexts(c *Column, rows []int32) (sum int) {
	mask, parts := int32(1)<<c.shift-1, c.parts()
	var first [warmRows]byte
	var ends [warmRows]int32
	for k, r := range rows {
		if v := parts[max(r, 0)>>c.shift]; v.offs != nil {
			ends[k] = v.offs[max(r, 0)&mask]
		}
	}
	for k, r := range rows {
		if v := parts[max(r, 0)>>c.shift]; int(ends[k]) < len(v.text) {
			first[k] = v.text[ends[k]]
		}
	}
	return int(first[0])
}

// WriteArrow writes t as an Arrow IPC file (also known as Feather version 2),
// one record batch without compression. Columns are int64, uint64, double,
// bool and utf8, all nullable; Mixed columns are refused. Missing cells are
// nulls, NaN of a Float64 column among them. Column.As gives other types.
func WriteArrow(w io.Writer, t *Table) (err error) {
	defer doing("write Arrow", &err)
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
func WriteParquet(w io.Writer, t *Table) (err error) {
	defer doing("write Parquet", &err)
	to := &keepError{w: w}
	out, err := newParquetFile(to, t, nil)
	if err != nil {
		return err
	}
	return errors.Join(writeGroup(out, t), out.Close(), to.err)
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

// As is the type of a column of strings in a file whose format has types: Parquet
// and Arrow. Everywhere else the column stays strings.
type As uint8

// The types.
const (
	Plain    As = iota // text
	Integers           // 64-bit integers, missing ones null
	Times              // instants of RFC 3339 as timestamps in UTC, in microseconds
)

// As returns the column as another type in files that have types. If a string is
// not exactly the written form of a value of the type, the column stays unchanged.
func (c *Column) As(as As) *Column {
	for i := range c.Len() {
		if _, exact := as.read(c.Text(i)); !exact && as != Plain && !c.IsMissing(i) {
			return c
		}
	}
	d := *c
	d.as = as
	return &d
}

// read returns the number that stands for a text, and whether the text is exactly
// that.
func (as As) read(text string) (n int64, exact bool) {
	if as == Times {
		t, err := time.Parse(time.RFC3339Nano, text)
		return t.UnixMicro(), err == nil && t.Nanosecond()%1000 == 0 && t.UTC().Format(time.RFC3339Nano) == text
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

// logical is the type in Parquet.
func (as As) logical() pschema.LogicalType {
	if as == Times {
		return pschema.NewTimestampLogicalType(true, pschema.TimeUnitMicros)
	}
	return pschema.NewIntLogicalType(64, true)
}
