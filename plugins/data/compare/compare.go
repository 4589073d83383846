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
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// Opener opens a file from its beginning.
type Opener func(ctx context.Context) (fs.File, error)

// Difference describes how a file differs from the expected one.
type Difference struct {
	// Same says that the content is equal though the bytes differ.
	Same bool
	// Text says all that is known in one line.
	Text string
}

// Files says how the file got differs from the file want.
func Files(ctx context.Context, name string, want, got Opener) (Difference, error) {
	w, err := Summarise(ctx, name, want)
	if err != nil {
		return Difference{}, err
	}
	g, err := Summarise(ctx, name, got)
	if err != nil {
		return Difference{}, err
	}
	d := w.against(g)
	if d.Same {
		return d, nil
	}
	if w.Table == nil || g.Table == nil {
		err = pair(ctx, want, got, func(want, got io.Reader) error {
			d.Text, err = firstByte(want, got)
			return err
		})
		return d, err
	}
	walk, err := walkTables(ctx, tableFormat(name), want, got)
	if err != nil {
		return d, err
	}
	d.Text = strings.Join(slices.Concat(walk.news(w.Table.Rows, g.Table.Rows), tableNews(w.Table, g.Table)), "; ")
	return d, nil
}

// WithSummary says how a file differs from the one that a summary was made of.
func WithSummary(ctx context.Context, name string, want Summary, got Opener) (Difference, error) {
	found, err := Summarise(ctx, name, got)
	if err != nil {
		return Difference{}, err
	}
	return want.against(found), nil
}

// against describes the difference of two files of one name by their summaries.
func (s Summary) against(got Summary) Difference {
	switch {
	case s.SHA256 == got.SHA256:
		return Difference{Same: true, Text: "the bytes are equal"}
	case s.Table != nil && got.Table != nil:
		return s.Table.against(got.Table)
	case s.Table != nil || got.Table != nil:
		return Difference{Text: "one of the files cannot be read as a table"}
	}
	return Difference{Text: "where they differ is not known"}
}

// pair opens two files and closes them after use.
func pair(ctx context.Context, want, got Opener, use func(want, got io.Reader) error) error {
	w, err := want(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	g, err := got(ctx)
	if err != nil {
		return err
	}
	defer g.Close()
	return use(&stopper{ctx, w}, &stopper{ctx, g})
}

// firstByte finds the first byte that differs.
func firstByte(want, got io.Reader) (string, error) {
	a, b := make([]byte, 1<<16), make([]byte, 1<<16)
	var at int64
	for {
		n, err := full(want, a)
		if err != nil {
			return "", err
		}
		m, err := full(got, b)
		if err != nil {
			return "", err
		}
		short := min(n, m)
		if !bytes.Equal(a[:short], b[:short]) {
			i := 0
			for a[i] == b[i] {
				i++
			}
			return fmt.Sprintf("the first byte that differs is at offset %s: want 0x%02x, got 0x%02x", humanize.Comma(at+int64(i)), a[i], b[i]), nil
		}
		at += int64(short)
		switch {
		case n > m:
			return fmt.Sprintf("the file ends too early, at offset %s; all before is equal", humanize.Comma(at)), nil
		case n < m:
			return fmt.Sprintf("bytes follow after offset %s, where it should end; all before is equal", humanize.Comma(at)), nil
		case n == 0:
			return "the bytes are equal", nil
		}
	}
}

// full reads until buf is full or the file ends.
func full(r io.Reader, buf []byte) (int, error) {
	n, err := io.ReadFull(r, buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return n, err
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

// maxListed is the largest number of columns that a Summary names.
const maxListed = 256

// Summary is the record of a file that later explains how another one differs.
type Summary struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Table describes the content of a table; nil for other files.
	Table *Table `json:"table,omitempty"`
}

// Table is the summary of a table. Sums are half of a SHA-256, over cells in
// the spelling that all equal cells share.
type Table struct {
	Rows int64 `json:"rows"`
	// Columns are the first maxListed columns in order, Count is how many
	// there are.
	Columns []Column `json:"columns"`
	Count   int      `json:"count"`
	// Unordered is the sum of the rows whatever the order of rows and columns.
	Unordered string `json:"unordered"`
	Form      Form   `json:"form"`
}

// Column is the summary of a column.
type Column struct {
	Name string `json:"name"`
	Sum  string `json:"sum"`
}

// Summarise reads a file and returns its summary. The name says whether it is a
// table.
func Summarise(ctx context.Context, name string, open Opener) (s Summary, err error) {
	f, err := open(ctx)
	if err != nil {
		return s, err
	}
	defer f.Close()
	sum := digest.NewWriter()
	r := io.TeeReader(&stopper{ctx, f}, sum)
	s.Table, err = summariseTable(r, tableFormat(name))
	if err == nil || errors.Is(err, errNotTable) {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		return s, fmt.Errorf("read %s: %w", name, err)
	}
	s.Size, s.SHA256 = sum.Size(), sum.ID().String()
	return s, nil
}

// summariseTable returns the summary of a table, or nil with errNotTable.
func summariseTable(r io.Reader, format string) (*Table, error) {
	t, err := newRows(format, r)
	if err != nil {
		return nil, err
	}
	var sums tableSums
	for {
		row, err := t.next()
		if err == io.EOF {
			if _, err := io.Copy(io.Discard, t.in.r); err != nil { // what follows a JSON array
				return nil, err
			}
			return sums.finish(t), nil
		}
		if err != nil {
			return nil, err
		}
		sums.add(t.names, row)
	}
}

// tableSums makes a Table.
type tableSums struct {
	rows      int64
	columns   []hash.Hash
	unordered [2]uint64
	byName    []int // columns in the order of their names
	val, line []byte
	ends      []int // of cells in val
}

func (t *tableSums) add(names, row []string) {
	if len(t.columns) != len(names) {
		t.widen(names)
	}
	t.val, t.ends = t.val[:0], t.ends[:0]
	for i, cell := range row {
		start := len(t.val)
		if isMissing(cell) {
			t.val = append(t.val, 0)
		} else {
			t.line = appendCanonical(t.line[:0], cell)
			t.val = appendCell(t.val, t.line)
		}
		t.ends = append(t.ends, len(t.val))
		t.columns[i].Write(t.val[start:])
	}
	sum := sha256.Sum256(t.named(names))
	t.unordered[0] += binary.BigEndian.Uint64(sum[:8])
	t.unordered[1] += binary.BigEndian.Uint64(sum[8:16])
	t.rows++
}

// widen adds the columns met first in this row.
func (t *tableSums) widen(names []string) {
	for range len(names) - len(t.columns) {
		h := sha256.New()
		if t.rows > 0 {
			h.Write(binary.AppendUvarint(nil, uint64(t.rows)))
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
func (t *tableSums) named(names []string) []byte {
	t.line = t.line[:0]
	for _, i := range t.byName {
		start := 0
		if i > 0 {
			start = t.ends[i-1]
		}
		if cell := t.val[start:t.ends[i]]; len(cell) > 1 || cell[0] != 0 {
			t.line = appendCell(t.line, []byte(names[i]))
			t.line = append(t.line, cell...)
		}
	}
	return t.line
}

func (t *tableSums) finish(r *rows) *Table {
	if len(t.columns) != len(r.names) {
		t.widen(r.names)
	}
	out := &Table{Rows: t.rows, Count: len(t.columns), Columns: []Column{}, Form: r.in.end(),
		Unordered: fmt.Sprintf("%016x%016x", t.unordered[0], t.unordered[1])}
	for i, h := range t.columns[:min(len(t.columns), maxListed)] {
		out.Columns = append(out.Columns, Column{Name: r.names[i], Sum: hex.EncodeToString(h.Sum(nil)[:16])})
	}
	return out
}

// appendCell writes a cell with its length, so that no two lists of cells look
// alike. A missing one is a single 0.
func appendCell(dst, cell []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(cell))+1)
	return append(dst, cell...)
}

// isMissing reports whether pandas.read_csv reads a cell as missing.
func isMissing(cell string) bool { return table.IsNA([]byte(cell)) }

// appendCanonical appends the spelling that all equal cells share.
func appendCanonical(dst []byte, cell string) []byte {
	v, ok := number(cell)
	switch {
	case !ok:
		return append(dst, cell...)
	case v == 0:
		return append(dst, '0') // -0 too
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return strconv.AppendInt(dst, int64(v), 10)
	}
	return strconv.AppendFloat(dst, v, 'g', -1, 64)
}

// number reads a cell as a double. A string that only looks like a number, such
// as 007, and an integer that a double may not hold are none.
func number(cell string) (float64, bool) {
	digits := strings.TrimPrefix(cell, "-")
	switch digits {
	case "inf", "Inf", "Infinity", "infinity":
		return math.Inf(1 - 2*(len(cell)-len(digits))), true
	}
	if len(digits) == 0 || len(digits) > 64 || digits[0] > '9' {
		return 0, false
	}
	whole := len(digits) - len(strings.TrimLeft(digits, "0123456789"))
	if whole > 1 && digits[0] == '0' || whole == len(digits) && whole > 15 || strings.Trim(digits[whole:], "0123456789.eE+-") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(cell, 64)
	return v, err == nil
}
