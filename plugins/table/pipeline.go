package table

import (
	"runtime"
	"sync"
)

// readChunks reads all chunks, parsing them on all cores.
func readChunks(s *splitter, sch *schema) ([]*chunk, error) {
	var (
		chunks []*chunk
		jobs   = make(chan *chunk)
		wg     sync.WaitGroup
		failed = make(chan struct{})
		once   sync.Once
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			p := newParser(sch)
			for c := range jobs {
				p.parse(c)
				s.recycle(c.raw)
				c.raw = nil
				if c.err != nil {
					once.Do(func() { close(failed) })
				}
			}
		})
	}
	err := produce(s, sch.rows, func(c *chunk) bool {
		chunks = append(chunks, c)
		select {
		case jobs <- c:
			return true
		case <-failed:
			chunks = chunks[:len(chunks)-1]
			return false
		}
	})
	close(jobs)
	wg.Wait()
	for _, c := range chunks {
		if c.err != nil {
			return nil, c.err
		}
	}
	return chunks, err
}

// produce cuts the stream into chunks until it ends or give returns false.
func produce(s *splitter, rows int, give func(*chunk) bool) error {
	for {
		p, err := s.next(rows)
		if err != nil {
			return err
		}
		if p.rows == 0 || !give(&chunk{piece: p}) {
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
	shift := uint8(0)
	for 1<<shift < s.rows {
		shift++
	}
	all := make([]*Column, s.width)
	for i := range all {
		c := &Column{name: s.columnName(i), kind: Text, shift: shift, n: n}
		for _, ch := range chunks {
			c.parts = append(c.parts, ch.cols[i])
			ch.cols[i] = nil
		}
		if n > 0 {
			c.kind = mergeKinds(c.parts)
		} else if k := s.forced[i]; k != Missing {
			c.kind = k
		}
		all[i] = c
	}
	return build(all[s.leading:], all[:s.leading], n)
}
