package table

import (
	"runtime"
	"sync"
)

// job is a chunk on its way through the parsers.
type job struct {
	*chunk
	done chan struct{}
}

// each cuts the stream into chunks, parses them on all cores and gives them
// out in order, until the stream ends or there is an error.
func (s *schema) each(sp *splitter, give func(*chunk) error) error {
	workers := runtime.GOMAXPROCS(0)
	jobs, order := make(chan job), make(chan job, workers)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			p := newParser(s)
			for j := range jobs {
				p.parse(j.chunk)
				sp.recycle(j.raw)
				j.raw = nil
				close(j.done)
			}
		})
	}
	var readErr error
	wg.Go(func() {
		defer close(order)
		defer close(jobs)
		readErr = s.produce(sp, func(j job) bool {
			select {
			case order <- j:
			case <-stop:
				return false
			}
			jobs <- j
			return true
		})
	})
	var err error
	for j := range order {
		<-j.done
		if err != nil {
			continue
		}
		if err = j.err; err == nil {
			err = give(j.chunk)
		}
		if err != nil {
			close(stop)
		}
	}
	wg.Wait()
	if err == nil {
		err = readErr
	}
	return err
}

// produce cuts the stream into chunks until it ends or give returns false.
func (s *schema) produce(sp *splitter, give func(job) bool) error {
	for {
		p, err := sp.next(s.rows)
		if err != nil {
			return err
		}
		if p.rows == 0 || !give(job{&chunk{piece: p}, make(chan struct{})}) {
			return nil
		}
	}
}

// assemble makes the table of the chunks' vectors.
func (s *schema) assemble(chunks []*chunk) (*Table, error) {
	n := 0
	for _, c := range chunks {
		n += c.rows
	}
	all, lines := make([]*Column, s.width), s.lines(chunks)
	for i := range all {
		if lines != nil && lines.kinds[i] != Missing {
			all[i] = &Column{name: s.columnName(i), kind: lines.kinds[i], retained: &retainedColumn{retained: lines, field: i}, shift: s.shift(), n: n}
			if len(chunks) == 1 {
				all[i].shift = oneVector
			}
			continue
		}
		var t tally
		for _, c := range chunks {
			t.add(c.cols[i])
		}
		m := s.merger(i, &t, n)
		c := &Column{name: s.columnName(i), kind: m.kind, shift: s.shift(), n: n}
		if len(chunks) == 1 {
			c.shift = oneVector
		}
		for _, ch := range chunks {
			c.vecs = append(c.vecs, m.adapt(ch.cols[i]))
			ch.cols[i] = nil
		}
		all[i] = c
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

// shift returns the logarithm of the rows in a chunk.
func (s *schema) shift() uint8 {
	shift := uint8(0)
	for 1<<shift < s.rows {
		shift++
	}
	return shift
}
