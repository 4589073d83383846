package table

import (
	"encoding/binary"
	"io"
	"math"
	"slices"
	"sync"
)

// fileLines are retained lines that stay in the file that they were read from. Of
// those that are not written as they were read, what differs is in memory.
type fileLines struct {
	file  io.ReaderAt
	at    int64    // of the first line
	lens  []uint16 // of the lines in the file, each with blank lines before it
	raw   int      // bytes in the file
	edits []edit   // the last one is that of the row behind all
	text  []byte   // of the edits
	line  []byte   // memory for a line
}

// edit puts a text, which ends at end, in the place of some bytes of a line.
type edit struct{ row, at, cut, end uint32 }

// add appends a batch whose spans are the cells to write. It returns false if these
// lines are better held in memory.
func (l *fileLines) add(b *batch, width int) bool {
	from := b.base
	for row := range b.rows {
		spans, end := b.spans[row*width:][:width], b.base+int(b.ends[row])
		if start, stop, ok := b.line(spans); !ok || start != from || stop != end || b.edited[row] {
			l.edit(b, spans, b.raw[from:end])
		}
		if end-from > math.MaxUint16 {
			return false
		}
		l.lens = append(l.lens, uint16(end-from))
		l.raw += end - from
		from = end
	}
	return 4*(len(l.text)+16*len(l.edits)) <= len(b.raw) && l.raw+len(l.text) <= math.MaxUint32
}

// finish ends the lines.
func (l *fileLines) finish() { l.edits, l.line = append(l.edits, edit{row: uint32(len(l.lens))}), nil }

// edit notes how the next line differs from raw.
func (l *fileLines) edit(b *batch, spans []span, raw []byte) {
	line := b.appendLine(l.line[:0], spans)
	at, tail, least := 0, 0, min(len(line), len(raw))
	for at+8 <= least && string(line[at:at+8]) == string(raw[at:at+8]) {
		at += 8
	}
	for at < least && line[at] == raw[at] {
		at++
	}
	for m, n := len(line), len(raw); tail+8 <= least-at && string(line[m-tail-8:m-tail]) == string(raw[n-tail-8:n-tail]); {
		tail += 8
	}
	l.text = append(l.text, line[at:len(line)-tail]...)
	l.edits = append(l.edits, edit{uint32(len(l.lens)), uint32(at), uint32(len(raw) - at - tail), uint32(len(l.text))})
	l.line = line
}

// edited returns the line of a row, made in memory if the given edit is its.
func (l *fileLines) edited(line []byte, edit, row int, memory *[]byte) []byte {
	e, from := l.edits[edit], uint32(0)
	if int(e.row) != row {
		return line
	}
	if edit > 0 {
		from = l.edits[edit-1].end
	}
	*memory = append(append(append((*memory)[:0], line[:e.at]...), l.text[from:e.end]...), line[e.at+e.cut:]...)
	return *memory
}

// readBytes is how much is read again at a time. It stays in the processor's cache.
const readBytes = 1 << 18

// fill copies lines to the window, few of them or most. first are their places, which
// are cleared.
func (l *fileLines) fill(w *window, first []int32, few bool) error {
	r := rereader{fileLines: l, block: readBytes, buf: w.buf}
	defer func() { w.buf = r.buf }()
	if few {
		r.block = 0
	}
	var found [256]struct{ row, at int } // gathered first: that takes no guesses at branches
	at, next := 0, 0
	for lo := 0; lo < len(l.lens); lo += len(found) {
		n := 0
		for i, size := range l.lens[lo:min(lo+len(found), len(l.lens))] {
			f := &found[n&(len(found)-1)]
			if f.row, f.at = lo+i, at; first[lo+i] != 0 {
				n++
			}
			at += int(size)
		}
		for _, f := range found[:n] {
			line, err := r.bytes(f.at, int(l.lens[f.row]))
			if err != nil {
				return err
			}
			for int(l.edits[next].row) < f.row {
				next++
			}
			w.put(first[f.row], l.edited(line, next, f.row, &w.line))
			first[f.row] = 0
		}
	}
	return nil
}

// rereader reads stored lines in ascending order.
type rereader struct {
	*fileLines
	block int    // bytes to read at once, if a line has no more
	buf   []byte // up to end
	end   int
}

// bytes returns n bytes from a place on.
func (r *rereader) bytes(at, n int) ([]byte, error) {
	if at+n > r.end {
		size := max(n, min(r.block, r.raw-at))
		r.buf = slices.Grow(r.buf[:0], size)[:size]
		r.end = at + size
		if got, err := r.file.ReadAt(r.buf, r.at+int64(at)); got < size {
			return nil, err
		}
	}
	return r.buf[len(r.buf)-(r.end-at):][:n], nil
}

// load returns the lines in memory. Those that cannot be read hold zero bytes: who
// gave the file must look for its errors.
func (l *fileLines) load() *retainedLines {
	out := &retainedLines{text: make([]byte, 0, l.raw+len(l.text)), starts: make([]uint32, 1, len(l.lens)+1)}
	r := rereader{fileLines: l, block: readBytes}
	var line, memory []byte
	var err error
	at, next := 0, 0
	for i, n := range l.lens {
		if err == nil {
			line, err = r.bytes(at, int(n))
		}
		if err != nil {
			line = make([]byte, n)
		}
		out.text = append(out.text, l.edited(line, next, i, &memory)...)
		out.starts = append(out.starts, uint32(len(out.text)))
		if at += int(n); int(l.edits[next].row) == i {
			next++
		}
	}
	return out
}

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
		err := WriteBlocks(to, w.hi-lo, 1<<w.shift, func(b []byte, from, to int) ([]byte, error) {
			return f.windowRows(b, lo+from, lo+to), nil
		})
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
