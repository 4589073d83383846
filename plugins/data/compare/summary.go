package compare

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
)

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
	sum, size := sha256.New(), new(sizer)
	r := io.TeeReader(&stopper{ctx, f}, io.MultiWriter(sum, size))
	s.Table, err = summariseTable(r, tableFormat(name))
	if err == nil || errors.Is(err, errNotTable) {
		_, err = io.Copy(io.Discard, r)
	}
	if err != nil {
		return s, fmt.Errorf("read %s: %w", name, err)
	}
	s.Size, s.SHA256 = int64(*size), hex.EncodeToString(sum.Sum(nil))
	return s, nil
}

// sizer counts bytes.
type sizer int64

func (s *sizer) Write(p []byte) (int, error) {
	*s += sizer(len(p))
	return len(p), nil
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
