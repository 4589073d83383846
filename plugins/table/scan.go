package table

import (
	"fmt"
	"io"
)

// ScanCSV gives out the rows that ReadCSV would return, in order, as tables
// of at most a few hundred thousand rows with the columns' final kinds. It
// holds only some of them at a time, so that files larger than memory can be
// read; for that it reads the file twice, first to learn the kinds. open is
// called for each time and must give the same bytes. An error of each ends
// the scan and is returned.
func ScanCSV(open func() (io.ReadCloser, error), o ReadOptions, each func(*Table) error) error {
	var tallies []tally
	rows := 0
	err := scan(open, o, func(s *schema, c *chunk) error {
		if tallies == nil {
			tallies = make([]tally, s.width)
		}
		rows += c.rows
		for i, v := range c.cols {
			tallies[i].add(v)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("scan CSV: %w", err)
	}
	err = scan(open, o, func(s *schema, c *chunk) error {
		if len(tallies) != s.width {
			return fmt.Errorf("the file changed while it was read")
		}
		t, err := s.page(c, tallies, rows)
		if err != nil {
			return err
		}
		return each(t)
	})
	if err != nil {
		return fmt.Errorf("scan CSV: %w", err)
	}
	return nil
}

func scan(open func() (io.ReadCloser, error), o ReadOptions, each func(*schema, *chunk) error) error {
	r, err := open()
	if err != nil {
		return err
	}
	defer r.Close()
	sp, sch, rag, err := o.start(r)
	if err != nil || sch.width == 0 {
		return err
	}
	return sch.each(sp, func(c *chunk) error {
		if err := rag.check(c); err != nil {
			return err
		}
		return each(sch, c)
	})
}

// page makes a table of one chunk, with kinds decided over all of them.
func (s *schema) page(c *chunk, tallies []tally, rows int) (*Table, error) {
	all := make([]*Column, s.width)
	for i, v := range c.cols {
		m := s.merger(i, &tallies[i], rows)
		all[i] = wrap(s.columnName(i), m.adapt(v))
		all[i].kind = m.kind
	}
	return build(all[s.leading:], all[:s.leading], c.rows)
}
