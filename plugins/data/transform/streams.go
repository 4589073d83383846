package transform

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"iter"
	"math/bits"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// stream holds the numbers of rows that stay in their file. Verbs that choose rows
// or fields return streams again; any other verb reads the rows into a table.
type stream interface {
	Rows
	Columned
	// Select returns the fields of those names in that order, as a table or as
	// a stream.
	Select(names ...string) (Rows, error)
	// Where returns the rows for whose field of that name keep holds.
	Where(name string, keep func(table.Value) bool) (Rows, error)
}

// allAmong returns a *table.NoColumnError for the first of the names that is no column.
func allAmong(columns, names []string) error {
	for _, name := range names {
		if !slices.Contains(columns, name) {
			return &table.NoColumnError{Name: name, Have: columns}
		}
	}
	return nil
}

// Tabular is rows that can be read into memory as a table.
type Tabular interface {
	Table() (*table.Table, error)
}

// Picker is rows of which some can be chosen without a list of their numbers.
type Picker interface {
	// Pick returns the rows for whose position keep holds.
	Pick(keep func(position int) bool) Rows
}

// pickRows returns the rows for whose position keep holds.
func pickRows(rows Rows, keep func(position int) bool) Rows {
	if p, ok := rows.(Picker); ok {
		return p.Pick(keep)
	}
	return rows.Take(where(rows.Len(), keep))
}

// whereCell is Where for a stream of which a whole column is read for it.
func whereCell(s stream, name string, keep func(table.Value) bool) (Rows, error) {
	c, err := s.Column(name)
	if err != nil {
		return nil, err
	}
	return pickRows(s, func(position int) bool { return keep(c.Value(position)) }), nil
}

// openAt opens a file of the raw folder to be read at any place. A file that
// is read from its beginning on only (one in an archive) gives an error when a
// place before the last one is asked for.
func (in *Input) openAt(path string) (io.ReaderAt, io.Closer, error) {
	f, err := in.Raw.Open(path)
	if err != nil {
		return nil, nil, err
	}
	if at, ok := f.(io.ReaderAt); ok {
		return at, f, nil
	}
	return &forward{f: f}, f, nil
}

// forward reads a file at ascending places.
type forward struct {
	f  fs.File
	at int64
}

// ReadAt implements io.ReaderAt for ascending places.
func (r *forward) ReadAt(p []byte, offset int64) (int, error) {
	if offset < r.at {
		return 0, errors.New("a file in an archive can only be read in its order; unpack it first")
	}
	if _, err := io.CopyN(io.Discard, r.f, offset-r.at); err != nil {
		return 0, err
	}
	n, err := io.ReadFull(r.f, p)
	r.at = offset + int64(n)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

// selection is numbers of rows of a file: all, a set in the order of the file,
// or a list in any order. The zero value is none.
type selection struct {
	n    int
	set  []uint64
	list []int32
}

// all picks the rows 0 to n-1.
func all(n int) selection { return selection{n: n} }

// pick picks those of p for whose position in p keep holds.
func (p selection) pick(keep func(position int) bool) selection {
	b := newSelector(p.last() + 1)
	position := 0
	for row := range p.rows() {
		if keep(position) {
			b.add(row)
		}
		position++
	}
	return b.selection
}

// take picks the rows of p at the given places.
func (p selection) take(places []int) selection {
	list := p.list
	if p.set != nil {
		list = p.expand(p.n)
	}
	b := newSelector(p.last() + 1)
	for _, at := range places {
		if list != nil {
			at = int(list[at])
		}
		b.add(at)
	}
	return b.selection
}

// expand returns the rows as a list.
func (p selection) expand(capacity int) []int32 {
	out := make([]int32, 0, capacity)
	for row := range p.rows() {
		out = append(out, int32(row))
	}
	return out
}

// last is no less than the greatest row; -1 without any.
func (p selection) last() int {
	switch {
	case len(p.list) > 0:
		return int(slices.Max(p.list))
	case p.list != nil:
		return -1
	case p.set != nil:
		return 64*len(p.set) - 1
	}
	return p.n - 1
}

// ordered reports whether the rows are in the order of the file, each once.
func (p selection) ordered() bool { return p.list == nil }

// whole reports whether all rows of the file are selected, or the first.
func (p selection) whole() bool { return p.list == nil && p.set == nil }

// has reports whether a row is selected; it is for ordered ones.
func (p selection) has(row int) bool {
	if p.set == nil {
		return row < p.n
	}
	return row>>6 < len(p.set) && p.set[row>>6]>>(row&63)&1 == 1
}

// rows walks the selected rows in their order.
func (p selection) rows() iter.Seq[int] {
	if p.set != nil {
		return p.members
	}
	return func(yield func(int) bool) {
		for i := range p.n {
			row := i
			if p.list != nil {
				row = int(p.list[i])
			}
			if !yield(row) {
				return
			}
		}
	}
}

// members walks a set.
func (p selection) members(yield func(int) bool) {
	for i, word := range p.set {
		for ; word != 0; word &= word - 1 {
			if !yield(i<<6 + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}

// selector collects numbers of rows: a set as long as they ascend, then a list.
type selector struct {
	selection
	at int
}

// newSelector returns a selector of rows below a number.
func newSelector(below int) *selector {
	return &selector{selection: selection{set: make([]uint64, (max(below, 1)+63)/64)}, at: -1}
}

func (b *selector) add(row int) {
	switch {
	case b.list != nil:
	case row > b.at:
		b.set[row>>6] |= 1 << (row & 63)
		b.at, b.n = row, b.n+1
		return
	default:
		b.list = b.expand(2*b.n + 1)
		b.set = nil
	}
	b.list = append(b.list, int32(row))
	b.n++
}

// readAhead reads a file in a goroutine of its own, so that unpacking continues
// while the bytes already read are processed.
type readAhead struct {
	*io.PipeReader
	done chan struct{}
}

// aheadBytes is how much of a file is read at once.
const aheadBytes = 1 << 18

func newReadAhead(r io.Reader) *readAhead {
	out, in := io.Pipe()
	a := &readAhead{out, make(chan struct{})}
	go func() {
		defer close(a.done)
		w := bufio.NewWriterSize(in, aheadBytes)
		_, err := w.ReadFrom(r)
		in.CloseWithError(errors.Join(w.Flush(), err))
	}()
	return a
}

// Close ends the goroutine and waits for it; the file is the caller's again.
func (a *readAhead) Close() {
	a.PipeReader.Close()
	<-a.done
}
