package table

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// FloatParser says how ReadCSV turns digits into doubles.
type FloatParser uint8

// The float parsers of pandas.
const (
	RoundTrip FloatParser = iota // float_precision="round_trip": the nearest double
	Fast                         // the default of pandas.read_csv, off by some units in the last place
)

// ReadOptions says how ReadCSV reads. The zero value reads as
// pandas.read_csv(path, float_precision="round_trip") and gives a table
// without columns for an empty file.
type ReadOptions struct {
	Comma       byte            // separator, ',' if 0
	NoHeader    bool            // the first line is data; columns are named "0", "1", …, or by Names
	Names       []string        // column names; they take the header's place unless NoHeader is set
	Floats      FloatParser     // how digits become doubles
	Kinds       map[string]Kind // Text, Float64, Int64 or Bool to use instead of inference, by column name
	AllText     bool            // dtype=str: every column is read as Text
	NoQuotes    bool            // quoting=csv.QUOTE_NONE: the quote is a plain character
	KeepNA      bool            // na_filter=False: no text stands for a missing value
	Memory      int64           // most bytes of the columns in memory; 0 is no limit
	RetainLines bool            // most cells will only be written again: retain lines, and make columns when they are asked for

	// File, if set, has the bytes of the stream, and can be read while the table is in
	// use. Retained lines then stay in it if few of them are written otherwise. An error
	// of it fails WriteCSV. Columns do not report it: who gives the file must look for
	// its errors.
	File io.ReaderAt

	window     int  // most rows that are written at a time, for tests
	chunkCells int  // pandas' DEFAULT_BUFFER_HEURISTIC, for tests
	pieces     bool // read small pieces; see readPieces
}

// pandas reads at most this many cells, rounded down, before it types them.
const chunkCells = 1 << 20

// maxColumns bounds the fields of a line. pandas takes minutes for more.
const maxColumns = 1 << 18

// tooWide is the error of a line with too many fields.
func tooWide(line int) error { return fmt.Errorf("line %d: more than %d fields", line, maxColumns) }

// meter adds up the memory of the columns.
type meter struct{ most, used int64 }

func (m *meter) add(c *chunk) error {
	for _, v := range c.cols {
		m.used += v.size()
	}
	if c.lines != nil {
		m.used += c.lines.size()
	}
	if m.most > 0 && m.used > m.most {
		return fmt.Errorf("line %d: the columns take more than %d bytes of memory", c.firstLine+c.rows, m.most)
	}
	return nil
}

// ReadCSV reads a table from r as pandas' C parser does: a column is typed
// int64, uint64, float64 or bool if all its cells fit, text otherwise; the
// strings pandas takes for missing are missing. Files of more than about 2^20
// cells are typed chunk by chunk as pandas does (low_memory), so that a column
// may come out Mixed.
//
// If the first record has more fields than the header, the leading fields of
// all records become the table's Index. Shorter records are filled up with
// missing cells; a longer one is an error.
//
// It differs from pandas in two rare cases: a line with leading blanks in a
// file with bare carriage returns for line ends, and one across the edge of
// pandas' 256 Ki character buffer; pandas garbles both.
func ReadCSV(r io.Reader, o ReadOptions) (_ *Table, err error) {
	defer doing("read CSV", &err)
	return readCSV(r, o)
}

// doing says in an error what failed.
func doing(what string, err *error) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", what, *err)
	}
}

// ReadCSVFile reads a table from the regular file at path. Anything else, such
// as a folder or a pipe, is an error at once.
func ReadCSVFile(path string, o ReadOptions) (_ *Table, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read CSV %s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	defer doing("read CSV "+path, &err)
	return readCSV(f, o)
}

func (o ReadOptions) dialect() (dialect, error) {
	d := dialect{comma: o.Comma, quote: '"'}
	switch {
	case o.Comma == 0:
		d.comma = ','
	case o.Comma == '"' || o.Comma == '\n' || o.Comma == '\r' || o.Comma >= 0x80:
		return d, fmt.Errorf("%q cannot be a separator", rune(o.Comma))
	}
	if o.NoQuotes {
		d.quote = 0
	}
	return d, nil
}

func readCSV(r io.Reader, o ReadOptions) (*Table, error) {
	if f, ok := r.(*os.File); ok && o.chunkCells == 0 && !o.RetainLines {
		if t, err := readPieces(f, o); t != nil || err != nil {
			return t, err
		}
	}
	return o.read(r)
}

func (o ReadOptions) read(r io.Reader) (*Table, error) {
	d, err := o.dialect()
	if err != nil {
		return nil, err
	}
	sp, err := newSplitter(r, d)
	if err != nil {
		return nil, err
	}
	sch, rag, err := o.schema(sp)
	if err != nil {
		return nil, err
	}
	if sch.width == 0 {
		return New()
	}
	g, m := gatherer{wide: sch.rows < tallRows && !sch.retains.Load()}, meter{most: o.Memory}
	err = sch.each(sp, func(c *chunk) error {
		if err := rag.check(c); err != nil {
			return err
		}
		if len(g.chunks) > 0 && sch.pieces && !sameKinds(c, g.chunks[0]) {
			return errUneven
		}
		if err := m.add(c); err != nil {
			return err
		}
		g.add(c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sch.assemble(g.finish())
}

// schema reads the header and looks at the first record.
func (o ReadOptions) schema(s *splitter) (*schema, *ragged, error) {
	sch := &schema{dialect: s.dialect, file: o.File, window: o.window, rules: rules{fast: o.Floats == Fast, keepNA: o.KeepNA}}
	header, inHeader, err := o.header(s)
	if err != nil {
		return nil, nil, err
	}
	first, err := s.peekFields()
	if err != nil {
		return nil, nil, err
	}
	rag := &ragged{header: !o.NoHeader, named: len(o.Names), fields: max(inHeader, first), first: first}
	sch.width = rag.fields
	switch {
	case o.Names != nil:
		header = o.Names
		sch.width = max(sch.width, len(o.Names))
		if first == 0 {
			sch.width = len(o.Names)
		}
	case o.NoHeader:
		header = numberNames(first)
	}
	if sch.width > maxColumns {
		return nil, nil, tooWide(s.lines)
	}
	sch.names = header
	sch.leading = sch.width - len(header)
	cells := cmp.Or(o.chunkCells, chunkCells)
	for sch.rows = 1; sch.width > 0 && sch.rows*2 < cells/sch.width; sch.rows *= 2 {
	}
	if o.pieces {
		if sch.width > pieceColumns {
			return nil, nil, errUneven
		}
		for s.pieces, sch.pieces = true, true; sch.rows > pieceRows && sch.rows*s.first > pieceBytes; sch.rows /= 2 {
		}
	}
	sch.retains.Store(o.RetainLines && o.Floats == RoundTrip && (sch.rows >= tallRows || o.chunkCells > 0))
	sch.forced, err = o.forced(sch)
	return sch, rag, err
}

// header reads the header line, if there is to be one.
func (o ReadOptions) header(s *splitter) (names []string, fields int, err error) {
	if o.NoHeader {
		return nil, 0, nil
	}
	p, err := s.next(1)
	if err != nil || p.rows == 0 {
		return nil, 0, err
	}
	if at := InvalidUTF8(p.raw); at >= 0 {
		return nil, 0, fmt.Errorf("line %d: byte 0x%02x is not UTF-8", s.lines, p.raw[at])
	}
	t := tokenizer{dialect: s.dialect, raw: p.raw, nul: true, most: maxColumns}
	b := batch{raw: p.raw}
	t.record(&b)
	if t.wide {
		return nil, 0, tooWide(s.lines)
	}
	if t.open {
		return nil, 0, fmt.Errorf("line %d: a quoted field of the header is not closed", s.lines)
	}
	names = lists.Of(b.spans, func(s span) string { return string(b.cell(s)) })
	return headerNames(names), len(names), nil
}

// peekFields returns the number of fields of the next record, 0 if there is
// none.
func (s *splitter) peekFields() (int, error) {
	scan := scanner{dialect: s.dialect}
	for {
		scan.raw, scan.eof = s.buf, s.eof
		scan.run(1)
		if scan.rows == 1 || s.eof {
			break
		}
		if len(s.buf) > maxRecord {
			return 0, fmt.Errorf("line %d: %w", s.lines+1, errLongRecord)
		}
		if err := s.fill(len(s.buf)); err != nil {
			return 0, err
		}
	}
	t := tokenizer{dialect: s.dialect, raw: s.buf[:scan.pos], most: maxColumns}
	s.first = scan.pos
	var b batch
	if !t.record(&b) {
		return 0, nil
	}
	if t.wide {
		return 0, tooWide(s.lines + t.lines)
	}
	return len(b.spans), nil
}

// forced returns the kinds asked for, by column.
func (o ReadOptions) forced(s *schema) ([]Kind, error) {
	kinds := make([]Kind, s.width)
	for i := range kinds {
		if o.AllText {
			kinds[i] = Text
		}
		if i >= s.leading {
			if k, ok := o.Kinds[s.names[i-s.leading]]; ok {
				kinds[i] = k
			}
		}
		switch kinds[i] {
		case Missing, Text, Float64, Int64, Bool:
		default:
			return nil, fmt.Errorf("column %q: cannot be read as %v", s.columnName(i), kinds[i])
		}
	}
	return kinds, nil
}

// ragged is the rule on records that are longer than those before, whose
// state goes from chunk to chunk.
type ragged struct {
	header bool
	named  int // names given
	fields int // of the first record, filled up to the header
	first  int // of the first record
	width  int // allowed now

	bytes, filled int // so far, and missing cells that fill up short records
}

var errNames = errors.New("more column names are given than the file has fields")

// check applies the C parser's rule to the next chunk: a record may have as
// many fields as the record before it, shorter ones having been filled up.
// The first record of a chunk may have more, and sets the measure again.
func (r *ragged) check(c *chunk) error {
	if r.header && r.named > r.fields {
		return fmt.Errorf("%w: %d and %d", errNames, r.named, r.fields)
	}
	switch {
	case r.header:
		r.width = max(r.fields, r.width, c.fields)
	case r.named > 0:
		r.width = max(r.first, r.named)
	default:
		r.width = c.fields
	}
	for _, l := range c.long {
		if l.fields > r.width {
			return fmt.Errorf("line %d: expected %d fields, saw %d", l.line, r.width, l.fields)
		}
	}
	r.bytes, r.filled = r.bytes+c.bytes, r.filled+c.filled
	if r.filled > maxFilled && r.filled > 16*r.bytes {
		return fmt.Errorf("line %d: %w", c.firstLine+c.rows, errFilled)
	}
	return nil
}

// headerNames turns the fields of a header line into column names as pandas
// does: empty ones become "Unnamed: i", repeated ones get ".1", ".2", ….
func headerNames(fields []string) []string {
	names, taken, counts := slices.Clone(fields), map[string]bool{}, map[string]int{}
	var order, unnamed []int
	for i, name := range names {
		if name == "" {
			names[i] = "Unnamed: " + strconv.Itoa(i)
			unnamed = append(unnamed, i)
		} else {
			order = append(order, i)
		}
		taken[names[i]] = true
	}
	for _, i := range append(order, unnamed...) {
		dedupe(names, i, counts, taken)
	}
	return names
}

// dedupe renames column i if its name was seen before.
func dedupe(names []string, i int, counts map[string]int, taken map[string]bool) {
	name := names[i]
	n := counts[name]
	for n > 0 {
		counts[names[i]] = n + 1
		name = names[i] + "." + strconv.Itoa(n)
		if taken[name] {
			n++
		} else {
			n = counts[name]
		}
	}
	names[i] = name
	taken[name] = true
	counts[name] = n + 1
}

// numberNames returns "0", "1", …, the names of columns without a header.
func numberNames(n int) []string { return Collect(n, strconv.Itoa) }
