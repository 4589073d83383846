package table

import (
	"io"
	"runtime"
	"sync"
)

const blockCells = 1 << 14 // cells formatted at a time

// writeRows formats blocks of rows side by side and writes them in order.
func (f *formatter) writeRows(w io.Writer) error {
	if f.lines != nil && f.lines.of.retained.window != nil {
		return f.lines.of.retained.window.write(w, f)
	}
	step := max(1, blockCells/(len(f.t.cols)+1))
	if f.t.n <= step {
		_, err := w.Write(f.rows(nil, 0, f.t.n))
		return err
	}
	return writeBlocks(w, f.t.n, step, f.rows)
}

// block is a run of rows on its way through writeBlocks.
type block struct {
	lo   int
	done chan []byte
}

// writeBlocks has n rows formatted, step of them at a time, on all cores and
// writes them in order.
func writeBlocks(w io.Writer, n, step int, format func(b []byte, lo, hi int) []byte) error {
	workers := runtime.GOMAXPROCS(0)
	todo, order := make(chan block), make(chan block, workers)
	free := make(chan []byte, 2*workers+2)
	for range cap(free) {
		free <- nil
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for bl := range todo {
				bl.done <- format((<-free)[:0], bl.lo, min(bl.lo+step, n))
			}
		})
	}
	wg.Go(func() {
		defer close(order)
		defer close(todo)
		for lo := 0; lo < n; lo += step {
			bl := block{lo, make(chan []byte, 1)}
			select {
			case order <- bl:
			case <-stop:
				return
			}
			todo <- bl
		}
	})
	var err error
	for bl := range order {
		buf := <-bl.done
		if err == nil {
			if _, err = w.Write(buf); err != nil {
				close(stop)
			}
		}
		free <- buf
	}
	wg.Wait()
	return err
}

// warmRows is how many rows are fetched ahead: few enough to stay in the
// first cache levels until they are formatted.
const warmRows = 128

// warm touches the cells of scattered rows, a column at a time: the
// processor then fetches many of them at once, where the rows' formatting
// would wait for each. It returns a value made of them so that the compiler keeps
// the reads.
func (f *formatter) warm(lo, hi int) (seen int) {
	if f.lines != nil {
		seen = f.lines.warm(lo, hi)
	}
	for k, c := range f.t.cols {
		if c.rows == nil || f.lines != nil && f.lines.fields[k] >= 0 || len(c.parts()) == 0 {
			continue
		}
		rows := c.rows[lo:hi]
		switch c.kind {
		case Float64:
			seen += touch(c, rows, func(v *vector) []float64 { return v.floats })
		case Int64:
			seen += touch(c, rows, func(v *vector) []int64 { return v.ints })
		case Text:
			seen += touchTexts(c, rows)
		}
	}
	return seen
}

func touch[T float64 | int64](c *Column, rows []int32, data func(*vector) []T) int {
	mask, parts := int32(1)<<c.shift-1, c.parts()
	var sum T
	for _, r := range rows {
		if d := data(parts[max(r, 0)>>c.shift]); int(r&mask) < len(d) { // vectors of decimals have none
			sum += d[r&mask]
		}
	}
	return int(sum)
}

// touchTexts fetches the places of the strings first and then the strings.
func touchTexts(c *Column, rows []int32) (sum int) {
	mask, parts := int32(1)<<c.shift-1, c.parts()
	var first [warmRows]byte
	var ends [warmRows]int32
	for k, r := range rows {
		if v := parts[max(r, 0)>>c.shift]; v.offs != nil {
			ends[k] = v.offs[max(r, 0)&mask]
		}
	}
	for k, r := range rows {
		if v := parts[max(r, 0)>>c.shift]; int(ends[k]) < len(v.text) {
			first[k] = v.text[ends[k]]
		}
	}
	return int(first[0])
}
