package table

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

// InOrder makes a result of each job, on all cores, and passes the results on in the order
// of the jobs until one is refused. Each goroutine gets a function of its own from worker.
// The error of pass comes before that of jobs, which must end when yield returns false.
func InOrder[J, R any](jobs func(yield func(J) bool) error, worker func() func(J) R, pass func(R) error) error {
	type task struct {
		job  J
		done chan R
	}
	workers := runtime.GOMAXPROCS(0)
	todo, order := make(chan task), make(chan task, workers)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			work := worker()
			for t := range todo {
				t.done <- work(t.job)
			}
		})
	}
	var jobsErr, err error
	wg.Go(func() {
		defer close(order)
		defer close(todo)
		jobsErr = jobs(func(j J) bool {
			t := task{j, make(chan R, 1)}
			select {
			case order <- t:
			case <-stop:
				return false
			}
			todo <- t
			return true
		})
	})
	for t := range order {
		if r := <-t.done; err == nil {
			if err = pass(r); err != nil {
				close(stop)
			}
		}
	}
	wg.Wait()
	return cmp.Or(err, jobsErr)
}

// each cuts the stream into chunks, parses them on all cores and gives them
// out in order, until the stream ends or there is an error.
func (s *schema) each(sp *splitter, give func(*chunk) error) error {
	cut := func(yield func(*chunk) bool) error {
		for {
			p, err := sp.next(s.rows)
			if err != nil || p.rows == 0 || !yield(&chunk{piece: p}) {
				return err
			}
		}
	}
	worker := func() func(*chunk) *chunk {
		p := newParser(s)
		return func(c *chunk) *chunk {
			p.parse(c)
			sp.recycle(c.raw)
			c.raw = nil
			return c
		}
	}
	return InOrder(cut, worker, func(c *chunk) error {
		if c.err != nil {
			return c.err
		}
		return give(c)
	})
}

// assemble makes the table of the chunks' vectors.
func (s *schema) assemble(chunks []*chunk) (*Table, error) {
	n := lists.Sum(chunks, func(c *chunk) int { return c.rows })
	shift := uint8(bits.Len(uint(s.rows - 1)))
	if len(chunks) == 1 {
		shift = oneVector
	}
	all, lines := make([]*Column, s.width), s.lines(chunks)
	for i := range all {
		c := &Column{name: s.columnName(i), shift: shift, n: n}
		all[i] = c
		if lines != nil && lines.kinds[i] != Missing {
			c.kind, c.retained = lines.kinds[i], &retainedColumn{retained: lines, field: i}
			continue
		}
		var t tally
		for _, ch := range chunks {
			t.add(ch.cols[i])
		}
		m := s.merger(i, &t, n)
		c.kind = m.kind
		for _, ch := range chunks {
			c.vecs = append(c.vecs, m.adapt(ch.cols[i]))
			ch.cols[i] = nil
		}
	}
	return build(all[s.leading:], all[:s.leading], n)
}

// merger decides on column i of a table of n rows. Without rows a column is
// Text, pandas' object.
func (s *schema) merger(i int, t *tally, n int) merger {
	switch {
	case n > 0:
		return t.merger()
	case s.forced[i] != Missing:
		return merger{kind: s.forced[i]}
	}
	return merger{kind: Text}
}

// Pandas types a column again in each chunk of some hundred thousand rows. Most
// large files of few columns need no such chunks: each record has a field for each column, and
// all cells of a column have one kind, whichever of them are looked at together.
// Such a file is read in pieces that fit the processor's cache, in a few buffers
// that are used again and again. Any other file is read a second time, in chunks.

const (
	piecesFile = 1 << 20 // the least file that is read so
	pieceBytes = 1 << 19 // about the size of a piece
	pieceRead  = 1 << 17 // read at once
	// pieceColumns is the greatest number of columns: each has a vector in each piece.
	pieceColumns = 8
	// pieceRows is the least number of rows of a piece: a vector has a header.
	pieceRows   = 1 << 11
	pieceSample = 1 << 8 // rows from which kinds are guessed
)

// errUneven says that a file is to be read in chunks.
var errUneven = errors.New("not all pieces of the file are alike")

// readPieces reads a large regular file in pieces. It returns no table, and the
// file as it was, unless the table is that of the chunks.
func readPieces(f *os.File, o ReadOptions) (*Table, error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() < piecesFile {
		return nil, nil // the file says so itself when it is read
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	o.pieces = true
	t, err := o.read(f)
	if err == nil {
		return t, nil
	}
	_, err = f.Seek(at, io.SeekStart)
	return nil, err
}

// uneven reports whether some record of a piece lacks fields or has too many, or
// some line is blank.
func (c *chunk) uneven() bool {
	return c.fields != len(c.cols) || len(c.long) > 0 || c.filled > 0 || c.cols[0].n != c.rows
}

// sameKinds reports whether two pieces may be parts of one chunk of their kinds.
func sameKinds(a, b *chunk) bool {
	return slices.EqualFunc(a.cols, b.cols, func(v, w *vector) bool { return v.kind == w.kind })
}

// cellwise reads a piece of a narrow table cell by cell, each into its column at
// once. It takes plain text only and returns false, with new builders, if there is
// something else in it.
func (p *parser) cellwise(c *chunk, builders []builder) bool {
	n := len(c.raw)
	if !p.bare(c) || c.raw[n-1] != '\n' || cap(c.raw) < n+wordBytes || bytes.IndexByte(c.raw, 0) >= 0 || slices.Contains(builders, nil) {
		return false
	}
	if p.cellwiseRows(c, builders) {
		return true
	}
	for i := range builders {
		builders[i] = p.builder(i, c)
	}
	return false
}

func (p *parser) cellwiseRows(c *chunk, builders []builder) bool {
	raw, at, rows := c.raw[:len(c.raw)+wordBytes], 0, 0
	t := tokenizer{dialect: p.dialect, raw: c.raw}
	last := len(builders) - 1
	for ; at < len(c.raw); rows++ {
		if raw[at] <= ' ' {
			return false
		}
		for i, b := range builders {
			end, ok := at, false
			switch b := b.(type) {
			case *intGuess:
				end, ok = b.out.read(raw, at)
			case *floatGuess:
				end = t.fieldEnd(t.raw, at)
				ok = b.addCell(raw[at:end])
			case *textGuess:
				end, ok = b.read(&t, at, c.rows)
			}
			if !ok || raw[end] != ',' && i < last || raw[end] != '\n' && i == last {
				return false
			}
			at = end + 1
		}
	}
	c.fields = len(builders)
	return rows == c.rows
}

// read adds the integer at raw[at:], of which eight bytes can be read, and
// returns where it ends.
func (l *intList) read(raw []byte, at int) (end int, ok bool) {
	x := binary.LittleEndian.Uint64(raw[at:]) ^ zeros
	other := (x&^highBits + (0x80-10)*lowBits | x) & highBits
	n := bits.TrailingZeros64(other) / 8
	switch {
	case n == 1 && l.wide == nil:
		l.small = append(l.small, int8(x))
	case n > 0 && n < 8:
		l.add(int64(sumDigits(x << (64 - 8*n))))
	default:
		n = 0
		for c := raw[at]; isDigit(c) || c == '-' && n == 0; c = raw[at+n] {
			n++
		}
		v, res := parseInt(raw[at : at+n])
		if res != okay {
			return at, false
		}
		l.add(v)
	}
	return at + n, true
}
