package table

import (
	"encoding/binary"
	"io"
	"slices"
	"sync"
)

// window holds the lines of some rows of a table that are about to be written, so that
// a file is read again in order, and only so often. Lines come in the order of the file
// and are put into buckets, each of consecutive rows, and a bucket is then put in order.
// All this happens in the processor's cache, where copying lines of a large file to
// scattered places would wait for memory at each. Outputs take turns.
type window struct {
	mu      sync.Mutex
	lo, hi  int // the rows
	most    int // of them
	chunk   int // most rows of a chunk
	shift   int // logarithm of the rows in a bucket
	buckets []bucket
	wanted  [][]want // by chunk
	first   []int32  // by row of a chunk: 1 + the last row of the window that is it, negative if others are, too; or 0
	next    []int32  // by row of the window: such a number of the one before that is the same row of the file

	size      int    // bytes that a bucket will have
	buf, line []byte // memory for what is read
}

// want is a row of a chunk that is a row of the window.
type want struct{ row, at int32 }

// bucket is the lines of consecutive rows, in the order of the file. Before each is its
// row, counted from the bucket's first, and its length.
type bucket struct {
	text  []byte
	lines int
}

// headerBytes is the size of a row and a length.
const headerBytes = 8

const (
	// windowShare is the share of a table that a window holds. Smaller windows take less
	// memory, and read the file more often.
	windowShare = 4
	bucketBytes = 1 << 18
	// fewLines is how many lines of a chunk are read one by one.
	fewLines = 1 << 10
)

// newWindow returns a window of at most so many rows, or, if that is 0, as many as pay.
func newWindow(chunks []*retainedLines, most int) *window {
	rows, size, chunk := 1, 1, 0
	for _, l := range chunks {
		rows, size, chunk = rows+l.rows(), size+l.bytes(), max(chunk, l.rows())
	}
	w := &window{chunk: chunk, most: most, wanted: make([][]want, len(chunks))}
	for w.shift < 16 && size/rows<<(w.shift+1) <= bucketBytes {
		w.shift++
	}
	w.size = (size + rows*headerBytes) << w.shift / rows * 33 / 32
	if most == 0 {
		w.most = rows/windowShare + 1
	}
	return w
}

// reset makes the window empty, with no row before lo.
func (w *window) reset(lo int) {
	w.lo, w.hi = lo, lo
	for i := range w.wanted {
		w.wanted[i] = w.wanted[i][:0]
	}
	for i := range w.buckets {
		w.buckets[i].text, w.buckets[i].lines = w.buckets[i].text[:0], 0
	}
}

// want finds out which rows of the window are each row of a chunk.
func (w *window) want(wanted []want) {
	for _, v := range wanted {
		before := w.first[v.row]
		if w.first[v.row] = v.at + 1; before != 0 {
			w.first[v.row], w.next[v.at] = -v.at-1, before
		}
	}
}

// put adds a line to the buckets of its rows, the last of which is p.
func (w *window) put(p int32, line []byte) {
	for more := true; more; {
		at := max(p, -p) - 1
		b := &w.buckets[at>>w.shift]
		b.text = binary.LittleEndian.AppendUint32(b.text, uint32(at)&(1<<w.shift-1))
		b.text = append(binary.LittleEndian.AppendUint32(b.text, uint32(len(line))), line...)
		b.lines++
		if more = p < 0; more { // else a wait for memory
			p = w.next[at]
		}
	}
}

// lines appends the lines of rows lo up to hi, which are a bucket, to text, and where
// they end to ends.
func (w *window) lines(text []byte, ends []int, lo, hi int) ([]byte, []int) {
	b := w.buckets[(lo-w.lo)>>w.shift].text
	size := func(at int) int { return int(binary.LittleEndian.Uint32(b[at-headerBytes/2:])) }
	text, starts := slices.Grow(text, len(b)), make([]int, hi-lo)
	for at := headerBytes; at <= len(b); at += size(at) + headerBytes {
		starts[binary.LittleEndian.Uint32(b[at-headerBytes:])] = at
	}
	for _, at := range starts {
		if at > 0 {
			text = append(text, b[at:at+size(at)]...)
		}
		ends = append(ends, len(text))
	}
	return text, ends
}

// load fills the window with rows from lo on.
func (l *copier) load(lo int) error {
	c, w := l.of, l.of.retained.window
	w.reset(lo)
	for w.hi = min(lo+w.most, c.n); (w.hi-lo-1)>>w.shift >= len(w.buckets); {
		w.buckets = append(w.buckets, bucket{text: make([]byte, 0, w.size)})
	}
	for i := range w.hi - lo {
		if row := c.row(lo + i); row >= 0 {
			k := row >> c.shift
			w.wanted[k] = append(w.wanted[k], want{int32(row & (1<<c.shift - 1)), int32(i)})
		}
	}
	chunks := c.retained.chunks
	for i, wanted := range w.wanted {
		if len(wanted) == 0 {
			continue
		}
		w.want(wanted)
		if err := chunks[i].fill(w, w.first[:chunks[i].rows()], len(wanted) < fewLines); err != nil {
			return err
		}
	}
	return nil
}

// write writes all rows of the formatter's table, a window at a time.
func (w *window) write(to io.Writer, f *formatter) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.first, w.next = make([]int32, w.chunk), make([]int32, min(w.most, f.t.n))
	defer func() {
		w.first, w.next, w.buckets, w.buf = nil, nil, nil, nil
		clear(w.wanted)
	}()
	for lo := 0; lo < f.t.n; lo = w.hi {
		if err := f.lines.load(lo); err != nil {
			return err
		}
		err := writeBlocks(to, w.hi-lo, 1<<w.shift, func(b []byte, from, to int) []byte { return f.windowRows(b, lo+from, lo+to) })
		if err != nil {
			return err
		}
	}
	return nil
}

// windowRows appends rows lo up to hi, which are a bucket of the window.
func (f *formatter) windowRows(b []byte, lo, hi int) []byte {
	w := f.lines.of.retained.window
	if f.lines.whole && !f.o.Index && w.buckets[(lo-w.lo)>>w.shift].lines == hi-lo {
		b, _ = w.lines(b, nil, lo, hi)
		return b
	}
	text, ends := w.lines(nil, nil, lo, hi)
	from := 0
	var fields [][]byte
	for i, end := range ends {
		b, fields = f.row(b, lo+i, text[from:end], fields)
		from = end
	}
	return b
}
