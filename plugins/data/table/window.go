package table

import (
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
	rows    int // of the file
	shift   int // logarithm of the rows in a bucket
	buckets []bucket
	first   []int32 // by row of the file: 1 + the last row of the window that is it, negative if others are, too; or 0
	next    []int32 // by row of the window: such a number of the one before that is the same row of the file
	wanted  []int   // by chunk: lines

	size      int    // bytes that a bucket will have
	buf, line []byte // memory for what is read
}

// bucket is the lines of consecutive rows, in the order of the file.
type bucket struct {
	text   []byte
	places []place
}

// place is the row of a line, counted from the bucket's first, and its length.
type place struct{ row, n uint32 }

const (
	// windowShare is the share of a table that a window holds. Smaller windows take less
	// memory, and read the file more often.
	windowShare = 4
	bucketBytes = 1 << 18
	// fewLines is how many lines of a chunk are read one by one.
	fewLines = 1 << 10
)

// newWindow returns a window of at most so many rows, or, if that is 0, as many as pay.
func newWindow(chunks []*keptLines, most int) *window {
	rows, size := 1, 1
	for _, l := range chunks {
		rows, size = rows+l.rows(), size+l.bytes()
	}
	w := &window{rows: rows, most: most, wanted: make([]int, len(chunks))}
	for w.shift < 16 && size/rows<<(w.shift+1) <= bucketBytes {
		w.shift++
	}
	w.size = size << w.shift / rows * 33 / 32
	if most == 0 {
		w.most = rows/windowShare + 1
	}
	return w
}

// reset makes the window empty, with no row before lo.
func (w *window) reset(lo int) {
	w.lo, w.hi, w.next = lo, lo, w.next[:0]
	clear(w.wanted)
	for i := range w.buckets {
		b := &w.buckets[i]
		b.text, b.places = b.text[:0], b.places[:0]
	}
}

// want adds a row of the file, or a missing one.
func (w *window) want(row int) {
	at, before := w.hi-w.lo, int32(0)
	if row >= 0 {
		if before, w.first[row] = w.first[row], int32(at+1); before != 0 {
			w.first[row] = -w.first[row]
		}
	}
	w.next = append(w.next, before)
	if at>>w.shift == len(w.buckets) {
		w.buckets = append(w.buckets, bucket{make([]byte, 0, w.size), make([]place, 0, 1<<w.shift)})
	}
	w.hi++
}

// put adds a line to the buckets of its rows, the last of which is p.
func (w *window) put(p int32, line []byte) {
	for more := true; more; {
		at := max(p, -p) - 1
		b := &w.buckets[at>>w.shift]
		b.text = append(b.text, line...)
		b.places = append(b.places, place{uint32(at) & (1<<w.shift - 1), uint32(len(line))})
		if more = p < 0; more { // else a wait for memory
			p = w.next[at]
		}
	}
}

// lines appends the lines of rows lo up to hi, which are a bucket, to text, and where
// they end to ends.
func (w *window) lines(text []byte, ends []int, lo, hi int) ([]byte, []int) {
	b, end := &w.buckets[(lo-w.lo)>>w.shift], len(text)
	text = slices.Grow(text, len(b.text))[:end+len(b.text)]
	ends = append(ends, make([]int, hi-lo)...)
	for _, p := range b.places {
		ends[p.row] = int(p.n)
	}
	for i, n := range ends {
		end += n
		ends[i] = end
	}
	from := 0
	for _, p := range b.places {
		copy(text[ends[p.row]-int(p.n):], b.text[from:from+int(p.n)])
		from += int(p.n)
	}
	return text, ends
}

// load fills the window with rows from lo on.
func (l *copier) load(lo int) error {
	c, w := l.of, l.of.kept.window
	w.reset(lo)
	for hi := min(lo+w.most, c.n); w.hi < hi; {
		row := c.row(w.hi)
		if w.want(row); row >= 0 {
			w.wanted[row>>c.shift]++
		}
	}
	chunks := c.kept.chunks
	for i, wanted := range w.wanted {
		if wanted == 0 {
			continue
		}
		at := i << c.shift
		if err := chunks[i].fill(w, w.first[at:at+chunks[i].rows()], wanted < fewLines); err != nil {
			return err
		}
	}
	return nil
}

// write writes all rows of the formatter's table, a window at a time.
func (w *window) write(to io.Writer, f *formatter) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.first = make([]int32, w.rows)
	defer func() { w.first, w.next, w.buckets, w.buf = nil, nil, nil, nil }()
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
	w := f.lines.of.kept.window
	if f.lines.whole && !f.o.Index && len(w.buckets[(lo-w.lo)>>w.shift].places) == hi-lo {
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
