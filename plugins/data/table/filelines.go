package table

import (
	"io"
	"math"
	"slices"
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
func (l *fileLines) finish() {
	l.edits, l.line = append(l.edits, edit{row: uint32(len(l.lens))}), nil
}

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
