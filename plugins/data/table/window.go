package table

import (
	"errors"
	"io"
	"slices"
)

// window holds the lines of some rows of a table, in the order in which they will be
// written, so that a file of any size is read again in order, and only so often.
type window struct {
	lo, hi int // the rows
	text   []byte
	starts []uint32 // of the lines; the last one is the end
	next   []int32  // of each line: 1 + another one of the same row of the file, or 0
	first  []int32  // by row of the file: 1 + the last of its lines in the window, or 0
	wanted []int    // by chunk: lines
	gaps   bool     // some rows are missing
}

// windowShare is the share of a table's lines that a window holds, and leastWindow the
// least it holds. Smaller windows take less memory, and read the file more often.
const (
	windowShare = 4
	leastWindow = 1 << 25
)

// fewLines is how many lines of a chunk are read one by one.
const fewLines = 1 << 10

func newWindow(k *kept) *window {
	rows := 0
	for _, l := range k.chunks {
		rows += l.rows()
	}
	return &window{first: make([]int32, rows), wanted: make([]int, len(k.chunks))}
}

// reset makes the window empty, with no row before lo.
func (w *window) reset(lo int) {
	w.lo, w.hi, w.gaps = lo, lo, false
	w.starts, w.next = append(w.starts[:0], 0), w.next[:0]
	clear(w.wanted)
}

// want adds n bytes for a row of the file, or for a missing one.
func (w *window) want(row, n int) {
	last := int32(0)
	if row >= 0 {
		last, w.first[row] = w.first[row], int32(len(w.next)+1)
	}
	w.next = append(w.next, last)
	w.starts = append(w.starts, w.starts[len(w.starts)-1]+uint32(n))
}

// put copies a line to its places, the last of which is p.
func (w *window) put(p int32, line []byte) {
	for ; p > 0; p = w.next[p-1] {
		copy(w.text[w.starts[p-1]:], line)
	}
}

// load fills the window with rows from lo on.
func (l *copier) load(lo int) error {
	c, w := l.of, l.window
	chunks, mask := c.kept.chunks, 1<<c.shift-1
	w.reset(lo)
	for size := 0; w.hi < c.n; w.hi++ {
		row := c.row(w.hi)
		if row < 0 {
			w.gaps = true
			w.want(row, 0)
			continue
		}
		n := chunks[row>>c.shift].length(row & mask)
		if size += n; size > c.kept.window && w.hi > lo {
			break
		}
		w.want(row, n)
		w.wanted[row>>c.shift]++
	}
	size := int(w.starts[len(w.starts)-1])
	w.text = slices.Grow(w.text[:0], size)[:size]
	errs := make([]error, len(chunks))
	onAllCores(len(chunks), func(i int) {
		if wanted := w.wanted[i]; wanted > 0 {
			at := i << c.shift
			errs[i] = chunks[i].fill(w, w.first[at:at+chunks[i].rows()], wanted < fewLines)
		}
	})
	return errors.Join(errs...)
}

// write writes all rows of the formatter's table, a window at a time.
func (w *window) write(to io.Writer, f *formatter) error {
	for lo := 0; lo < f.t.n; lo = w.hi {
		if err := f.lines.load(lo); err != nil {
			return err
		}
		if f.lines.whole && !f.o.Index && !w.gaps {
			for part := range slices.Chunk(w.text, readSize) {
				if _, err := to.Write(part); err != nil {
					return err
				}
			}
		} else if err := f.writeRange(to, lo, w.hi); err != nil {
			return err
		}
	}
	return nil
}
