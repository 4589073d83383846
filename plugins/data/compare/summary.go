package compare

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// maxListed is the largest number of columns, or of an archive's members, that
// a Summary names.
const maxListed = 256

// Opener opens a file from its beginning. A file that is an io.ReaderAt can be
// looked into when it is an archive.
type Opener func(ctx context.Context) (fs.File, error)

// Summary is what is kept of a file to explain later how another one differs.
type Summary struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Table, Members or Inner say what the file holds, by its name; Pages of
	// 64 KiB stand for anything else.
	Table   *Table   `json:"table,omitempty"`
	Members *Members `json:"members,omitempty"`
	Inner   *Summary `json:"inner,omitempty"`
	// Gzip is the header of a gzip file, whose content Inner is.
	Gzip  *Gzip   `json:"gzip,omitempty"`
	Pages *Blocks `json:"pages,omitempty"`
}

// Table is the summary of a table. Sums are half of a SHA-256, over cells in
// the spelling that all equal cells share unless something else is said.
type Table struct {
	Rows int64 `json:"rows"`
	// Columns are the first maxListed columns in order, Count is how many
	// there are.
	Columns []Column `json:"columns"`
	Count   int      `json:"count"`
	Blocks  Blocks   `json:"blocks,omitzero"`
	// Texts is the sum of all cells as they are written, Known of the same
	// but for missing values, Values of the values.
	Texts  string `json:"texts"`
	Known  string `json:"known"`
	Values string `json:"values"`
	// Unordered is the sum of the rows whatever the order of rows and columns.
	Unordered string `json:"unordered"`
	Form      Form   `json:"form"`
}

// Column is the summary of a column.
type Column struct {
	Name string `json:"name"`
	Sum  string `json:"sum"`
}

func (c Column) named() (name, sum string) { return c.Name, c.Sum }

// Summarise reads a file and returns its summary. The name says whether it is
// a table or an archive.
func Summarise(ctx context.Context, name string, open Opener) (Summary, error) {
	return summarise(ctx, name, open, 0)
}

// deepest is how far files in gzip files in gzip files are looked into.
const deepest = 2

func summarise(ctx context.Context, name string, open Opener, depth int) (Summary, error) {
	s, err := summariseBytes(ctx, name, open)
	if err != nil {
		return s, err
	}
	switch {
	case s.Table != nil:
	case innerName(name) != "" && depth < deepest:
		inner, err := summarise(ctx, innerName(name), gunzip(open), depth+1)
		if err == nil {
			s.Inner = &inner
			s.Gzip, err = gzipHeader(ctx, open)
			return s.settled(), err
		}
		if !errors.Is(err, errNotGzip) {
			return s, err
		}
	case archiveFormat(name) != "":
		m, err := membersOf(ctx, name, open)
		switch {
		case err == nil:
			s.Members = m.summary(ctx, name, open)
		case ctx.Err() != nil:
			return s, err
		}
	}
	return s.settled(), nil
}

// WithoutBlocks returns the summary without the sums of parts. What is left
// says no more of a part than the digest of the whole does.
func (s Summary) WithoutBlocks() Summary {
	s.Pages = nil
	if s.Table != nil {
		t := *s.Table
		t.Blocks = Blocks{}
		s.Table = &t
	}
	if s.Inner != nil {
		inner := s.Inner.WithoutBlocks()
		s.Inner = &inner
	}
	return s
}

// settled drops the pages of what is known better.
func (s Summary) settled() Summary {
	if s.Table != nil || s.Members != nil || s.Inner != nil {
		s.Pages = nil
	}
	return s
}

// page is the number of bytes that are summed at once.
const page = 1 << 16

// summariseBytes reads the bytes once, as a table if they are one.
func summariseBytes(ctx context.Context, name string, open Opener) (s Summary, err error) {
	f, err := open(ctx)
	if err != nil {
		return s, err
	}
	defer f.Close()
	return summariseReader(name, &stopper{ctx, f})
}

func summariseReader(name string, file io.Reader) (s Summary, err error) {
	sum := sha256.New()
	in := &pager{sums: blockSums{each: 1}}
	r := io.TeeReader(file, io.MultiWriter(sum, in))
	s.Table, err = summariseTable(r, tableFormat(name))
	if err != nil && !errors.Is(err, errNotTable) {
		return s, fmt.Errorf("read %s: %w", name, err)
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return s, fmt.Errorf("read %s: %w", name, err)
	}
	blocks := in.finish()
	s.Size, s.SHA256, s.Pages = in.size, hex.EncodeToString(sum.Sum(nil)), &blocks
	return s, nil
}

// summariseTable returns the summary of a table, or nil with errNotTable.
func summariseTable(r io.Reader, format string) (*Table, error) {
	rows, err := newRecords(format, r)
	if err != nil {
		return nil, err
	}
	sums := newTableSums()
	for {
		row, err := rows.next()
		if err == io.EOF {
			return sums.finish(rows), nil
		}
		if err != nil {
			return nil, err
		}
		sums.add(rows.names(), row)
	}
}

// tableSums makes a Table.
type tableSums struct {
	rows                  int64
	columns               []hash.Hash
	blocks                blockSums
	texts, known, values  hash.Hash
	unordered             multiset
	byName                []int // columns in the order of their names
	names                 []string
	text, some, val, line []byte
	ends                  []int // of cells in val
}

func newTableSums() *tableSums {
	return &tableSums{blocks: blockSums{each: 1024}, texts: sha256.New(), known: sha256.New(), values: sha256.New()}
}

func (t *tableSums) add(names []string, row [][]byte) {
	if len(t.names) != len(names) {
		t.widen(names)
	}
	t.text, t.some, t.ends = t.text[:0], t.some[:0], t.ends[:0]
	t.val = binary.BigEndian.AppendUint64(t.val[:0], uint64(t.rows))
	for i, cell := range row {
		t.text = appendCell(t.text, cell)
		shown := cell
		if isMissing(cell) {
			shown = nil
		}
		t.some = appendCell(t.some, shown)
		start := len(t.val)
		t.val = appendCell(t.val, canonicalCell(&t.line, shown))
		t.ends = append(t.ends, len(t.val))
		t.columns[i].Write(t.val[start:])
	}
	t.texts.Write(t.text)
	t.known.Write(t.some)
	t.values.Write(t.val)
	t.blocks.add(t.val)
	t.unordered.add(t.named())
	t.rows++
}

// canonicalCell returns the shared spelling of a cell, in buf.
func canonicalCell(buf *[]byte, cell []byte) []byte {
	if cell == nil {
		return nil
	}
	*buf = canonical((*buf)[:0], cell)
	return *buf
}

// widen makes place for the columns met first in this row.
func (t *tableSums) widen(names []string) {
	t.names = slices.Clone(names)
	for range len(names) - len(t.columns) {
		h := sha256.New()
		var missing [binary.MaxVarintLen64]byte
		if t.rows > 0 {
			h.Write(missing[:binary.PutUvarint(missing[:], uint64(t.rows))])
		}
		t.columns = append(t.columns, h)
	}
	t.byName = t.byName[:0]
	for i := range names {
		t.byName = append(t.byName, i)
	}
	slices.SortStableFunc(t.byName, func(a, b int) int { return strings.Compare(names[a], names[b]) })
}

// named returns the row with its columns' names, in their order.
func (t *tableSums) named() []byte {
	t.line = t.line[:0]
	for _, i := range t.byName {
		start := 8
		if i > 0 {
			start = t.ends[i-1]
		}
		if cell := t.val[start:t.ends[i]]; len(cell) > 1 || cell[0] != 0 {
			t.line = appendCell(t.line, []byte(t.names[i]))
			t.line = append(t.line, cell...)
		}
	}
	return t.line
}

func (t *tableSums) finish(rows records) *Table {
	if len(t.names) != len(rows.names()) {
		t.widen(rows.names())
	}
	out := &Table{Rows: t.rows, Count: len(t.columns), Columns: []Column{}, Blocks: t.blocks.blocks(), Form: rows.form(),
		Texts: short(t.texts), Known: short(t.known), Values: short(t.values), Unordered: t.unordered.String()}
	for i, h := range t.columns[:min(len(t.columns), maxListed)] {
		out.Columns = append(out.Columns, Column{Name: t.names[i], Sum: short(h)})
	}
	return out
}

// pager sums what is written to it by pages.
type pager struct {
	sums blockSums
	part bytes.Buffer
	size int64
}

func (p *pager) Write(data []byte) (int, error) {
	p.size += int64(len(data))
	for rest := data; len(rest) > 0; {
		n := min(len(rest), page-p.part.Len())
		p.part.Write(rest[:n])
		if rest = rest[n:]; p.part.Len() == page {
			p.sums.add(p.part.Bytes())
			p.part.Reset()
		}
	}
	return len(data), nil
}

func (p *pager) finish() Blocks {
	if p.part.Len() > 0 {
		p.sums.add(p.part.Bytes())
	}
	return p.sums.blocks()
}

// stopper reads until its context is cancelled.
type stopper struct {
	ctx context.Context
	r   io.Reader
}

func (s *stopper) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.r.Read(p)
}
