package table

import (
	"io"
	"math"
	"slices"
)

// storedLines are kept lines that stay in the file that they were read from. Of
// those that are not written as they were read, what differs is in memory.
type storedLines struct {
	file  io.ReaderAt
	at    int64    // of the first line
	lens  []uint16 // of the lines as they are written
	raw   int      // bytes in the file
	edits []edit
	text  []byte // of the edits
	line  []byte // memory for a line
}

// edit puts a text, which ends at end, in the place of some bytes of a line.
type edit struct{ row, at, cut, end uint32 }

// add appends a batch whose spans are the cells to write. It returns false if these
// lines are better kept in memory.
func (l *storedLines) add(b *batch, width int) bool {
	from := b.base
	for row := range b.rows {
		spans, end := b.spans[row*width:][:width], b.base+int(b.ends[row])
		n := end - from
		if start, stop, ok := b.line(spans); !ok || start != from || stop != end || b.edited[row] {
			n = l.edit(b, spans, b.raw[from:end])
		}
		if n > math.MaxUint16 {
			return false
		}
		l.lens = append(l.lens, uint16(n))
		l.raw += end - from
		from = end
	}
	return 4*(len(l.text)+16*len(l.edits)) <= len(b.raw)
}

// edit notes how the next line differs from raw and returns its length.
func (l *storedLines) edit(b *batch, spans []span, raw []byte) int {
	line := l.line[:0]
	for _, s := range spans {
		line = append(append(line, b.cell(s)...), ',')
	}
	line[len(line)-1] = '\n'
	at, tail, least := 0, 0, min(len(line), len(raw))
	for at < least && line[at] == raw[at] {
		at++
	}
	for tail < least-at && line[len(line)-1-tail] == raw[len(raw)-1-tail] {
		tail++
	}
	l.text = append(l.text, line[at:len(line)-tail]...)
	l.edits = append(l.edits, edit{uint32(len(l.lens)), uint32(at), uint32(len(raw) - at - tail), uint32(len(l.text))})
	l.line = line
	return len(line)
}

// readBytes is how much is read again at a time. It stays in the processor's cache.
const readBytes = 1 << 18

// fill copies lines to the window, few of them or most. first are their places, which
// are cleared.
func (l *storedLines) fill(w *window, first []int32, few bool) error {
	r := rereader{storedLines: l, block: readBytes}
	if few {
		r.block = 0
	}
	var line []byte
	at, begin, edits := 0, uint32(0), l.edits
	for i, n := range l.lens {
		raw, e := int(n), edit{end: begin}
		edited := len(edits) > 0 && int(edits[0].row) == i
		if edited {
			e, edits = edits[0], edits[1:]
			raw += int(e.cut) - int(e.end-begin)
		}
		if p := first[i]; p > 0 {
			read, err := r.bytes(at, raw)
			if err != nil {
				return err
			}
			if edited {
				line = append(append(append(line[:0], read[:e.at]...), l.text[begin:e.end]...), read[e.at+e.cut:]...)
				read = line
			}
			w.put(p, read)
			first[i] = 0
		}
		at, begin = at+raw, e.end
	}
	return nil
}

// rereader reads stored lines in ascending order.
type rereader struct {
	*storedLines
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

// load returns the lines in memory. If they cannot be read, they are empty: the file
// notes the error, and who wrote what came of it asks.
func (l *storedLines) load() *keptLines {
	w := &window{starts: make([]uint32, 1, len(l.lens)+1), next: make([]int32, len(l.lens)), first: make([]int32, len(l.lens))}
	for i, n := range l.lens {
		w.first[i] = int32(i + 1)
		w.starts = append(w.starts, w.starts[i]+uint32(n))
	}
	w.text = make([]byte, w.starts[len(l.lens)])
	_ = l.fill(w, w.first, false)
	return &keptLines{text: w.text, starts: w.starts}
}
