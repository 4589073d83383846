package table

import (
	"bytes"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/parallel"
)

// retainedLines are the records of a chunk as WriteCSV writes them by default. A
// text that holds a separator, a quote or a line feed is quoted; a missing
// value is nothing.
type retainedLines struct {
	text   []byte
	starts []uint32   // of the lines; the last one is the end
	inFile *fileLines // in place of text and starts
}

func (l *retainedLines) size() int64 {
	if s := l.inFile; s != nil {
		return int64(len(s.text) + 2*len(s.lens) + 16*len(s.edits))
	}
	return int64(len(l.text) + 4*len(l.starts))
}

func (l *retainedLines) rows() int {
	if l.inFile != nil {
		return len(l.inFile.lens)
	}
	return len(l.starts) - 1
}

// bytes estimates the bytes of all lines.
func (l *retainedLines) bytes() int {
	if l.inFile != nil {
		return l.inFile.raw
	}
	return len(l.text)
}

// fill copies lines to the window, few of them or most. first are their places, which
// are cleared.
func (l *retainedLines) fill(w *window, first []int32, few bool) error {
	if l.inFile != nil {
		return l.inFile.fill(w, first, few)
	}
	for i, p := range first {
		if p != 0 {
			w.put(p, l.text[l.starts[i]:l.starts[i+1]])
			first[i] = 0
		}
	}
	return nil
}

// retained holds the lines of a table whose columns are made only on demand: most
// tables are split and written again.
type retained struct {
	chunks  []*retainedLines
	kinds   []Kind // of the columns
	keepNA  bool
	window  *window // where lines are written, if some chunks' are in a file
	mu      sync.Mutex
	columns [][]*vector
	asked   int // how many columns were asked for
}

// retainedColumn is one column of retained lines.
type retainedColumn struct {
	*retained
	field int
	made  atomic.Pointer[[]*vector]
}

// lazyColumns is the number of columns that are parsed one at a time. The next request
// parses all the rest, which bounds the passes over a wide table.
const lazyColumns = 3

// vectors returns the column's vectors.
func (k *retainedColumn) vectors() []*vector {
	if v := k.made.Load(); v != nil {
		return *v
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.columns[k.field] == nil {
		only := -1
		if k.asked < lazyColumns {
			only = k.field
		}
		k.asked++
		k.fill(only)
	}
	k.made.Store(&k.columns[k.field])
	return k.columns[k.field]
}

// fill makes the columns that are not there yet, or only one of them.
func (k *retained) fill(only int) {
	fields := make([]int, 0, len(k.kinds))
	for i := range k.kinds {
		if k.kinds[i] != Missing && k.columns[i] == nil && (only < 0 || only == i) {
			fields = append(fields, i)
			k.columns[i] = make([]*vector, len(k.chunks))
		}
	}
	parallel.Do(len(k.chunks), runtime.GOMAXPROCS(0), func(n int) {
		for i, v := range k.chunks[n].vectors(k.kinds, fields, k.keepNA) {
			k.columns[fields[i]][n] = v
		}
	})
}

// vectors cuts the lines into fields and returns the columns that are named.
func (l *retainedLines) vectors(kinds []Kind, fields []int, keepNA bool) []*vector {
	if l.inFile != nil {
		l = l.inFile.load()
	}
	r, n := rules{keepNA: keepNA}, l.rows()
	add, finish := make([]func([]byte), len(fields)), make([]func() *vector, len(fields))
	for i, f := range fields {
		add[i], finish[i] = r.sink(kinds[f], n)
	}
	for row := range n {
		line, at := l.text[l.starts[row]:l.starts[row+1]], 0
		for i, f := range fields {
			var cell []byte
			for ; at <= f; at++ {
				cell, line = cutField(line)
			}
			add[i](unquoted(cell))
		}
	}
	return lists.Of(finish, func(finish func() *vector) *vector { return finish() })
}

// cutField returns the first field of a retained line, with its quotes, and the rest.
func cutField(line []byte) (field, rest []byte) {
	i := 0
	for i < len(line) && line[i] == '"' { // after a closing quote comes an end or, doubled, another quote
		i += indexByte(line[i+1:], '"') + 2
	}
	if i == 0 {
		var ends uint64
		for ; i < len(line) && ends == 0; i += 8 {
			x := eightBytes(line[i:])
			ends = firstZero(x^lowBits*',') | firstZero(x^lowBits*'\n')
		}
		if ends != 0 {
			i += bits.TrailingZeros64(ends)/8 - 8
		}
		i = min(i, len(line))
	}
	return line[:i], line[min(i+1, len(line)):]
}

// unquoted returns the text of a field.
func unquoted(field []byte) []byte {
	if len(field) == 0 || field[0] != '"' {
		return field
	}
	field = field[1 : len(field)-1]
	if bytes.IndexByte(field, '"') < 0 {
		return field
	}
	return bytes.ReplaceAll(field, []byte(`""`), []byte(`"`))
}

// sink returns a function that adds a cell of a column, of which there are n, and one that
// returns them all.
func (r rules) sink(kind Kind, n int) (add func(cell []byte), finish func() *vector) {
	switch kind {
	case Int64:
		out := make([]int64, 0, n)
		return func(cell []byte) {
			v, _ := parseInt(cell)
			out = append(out, v)
		}, func() *vector { return intVector(out) }
	case Float64:
		out := make([]float64, 0, n)
		return func(cell []byte) {
			f, _, ok := parseRoundTrip(cell)
			if !ok {
				f = nan()
			}
			out = append(out, f)
		}, func() *vector { return floatVector(out) }
	case Bool:
		var b boolBuilder
		return func(cell []byte) { b.add(r, cell) }, b.vector
	}
	var b textBuilder
	return func(cell []byte) { b.add(r, cell) }, b.vector
}

// lines returns the retained lines of all chunks, nil unless all have some. A
// column whose kind is not the same in all chunks has no kind there, and the
// chunks get its data.
func (s *schema) lines(chunks []*chunk) *retained {
	k := &retained{kinds: make([]Kind, s.width), keepNA: s.keepNA, columns: make([][]*vector, s.width)}
	same, stored := len(chunks) > 0, false
	for _, c := range chunks {
		if same = same && c.lines != nil; same {
			stored = stored || c.lines.inFile != nil
		}
		k.chunks = append(k.chunks, c.lines)
	}
	var differ []int
	for i := range k.kinds {
		if same {
			k.kinds[i] = chunks[0].cols[i].kind
		}
		if !same || slices.ContainsFunc(chunks, func(c *chunk) bool { return c.cols[i].kind != k.kinds[i] }) {
			k.kinds[i] = Missing
			differ = append(differ, i)
		}
	}
	parallel.Do(len(chunks), runtime.GOMAXPROCS(0), func(n int) {
		if c := chunks[n]; c.lines != nil && len(differ) > 0 {
			c.make(differ, s.keepNA)
		}
	})
	if !same {
		return nil
	}
	if stored {
		k.window = newWindow(k.chunks, s.window)
	}
	return k
}

// make reads columns from the chunk's lines.
func (c *chunk) make(fields []int, keepNA bool) {
	kinds := lists.Of(c.cols, func(v *vector) Kind { return v.kind })
	for i, v := range c.lines.vectors(kinds, fields, keepNA) {
		c.cols[fields[i]] = v
	}
}
