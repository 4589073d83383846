package mask

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
)

// spillAt is the number of bytes that a sorter keeps in memory.
const spillAt = 256 << 20

// buckets is how many files the rest goes to, by the top bits of the order.
const buckets = 64

// sorter writes lines in their order, and those of equal order as
// they came. Lines that do not fit in memory go to files, one for each part of
// the orders.
type sorter struct {
	work  string
	limit int
	held  []sortedLine
	bytes int
	spill []*bufio.Writer
	files []*os.File
}

type sortedLine struct {
	order uint64
	line  []byte
}

func (m *masker) newSorter() *sorter { return &sorter{work: m.work, limit: m.spillAt} }

func (s *sorter) add(order uint64, line []byte) error {
	if s.spill != nil {
		return s.toFile(order, line)
	}
	s.held = append(s.held, sortedLine{order, slices.Clone(line)})
	if s.bytes += len(line) + 48; s.bytes < s.limit {
		return nil
	}
	for range buckets {
		f, err := os.CreateTemp(s.work, "rows-")
		if err != nil {
			return err
		}
		s.files, s.spill = append(s.files, f), append(s.spill, bufio.NewWriterSize(f, 1<<15))
	}
	for _, p := range s.held {
		if err := s.toFile(p.order, p.line); err != nil {
			return err
		}
	}
	s.held = nil
	return nil
}

func (s *sorter) toFile(order uint64, line []byte) error {
	var head [12]byte
	binary.BigEndian.PutUint64(head[:8], order)
	binary.BigEndian.PutUint32(head[8:], uint32(len(line)))
	w := s.spill[order/(1<<64/buckets)]
	_, err := w.Write(head[:])
	_, err2 := w.Write(line)
	return errors.Join(err, err2)
}

// writeTo writes all lines.
func (s *sorter) writeTo(w io.Writer) error {
	if s.spill == nil {
		return writeSorted(w, s.held)
	}
	for i, f := range s.files {
		if err := s.spill[i].Flush(); err != nil {
			return err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		lines, err := readLines(bufio.NewReaderSize(f, 1<<16))
		if err != nil {
			return err
		}
		if err := writeSorted(w, lines); err != nil {
			return err
		}
	}
	return nil
}

func readLines(r io.Reader) (lines []sortedLine, err error) {
	for {
		var head [12]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return lines, ignoreEOF(err)
		}
		line := make([]byte, binary.BigEndian.Uint32(head[8:]))
		if _, err := io.ReadFull(r, line); err != nil {
			return nil, err
		}
		lines = append(lines, sortedLine{binary.BigEndian.Uint64(head[:8]), line})
	}
}

func writeSorted(w io.Writer, lines []sortedLine) error {
	slices.SortStableFunc(lines, func(a, b sortedLine) int { return cmp.Compare(a.order, b.order) })
	for _, l := range lines {
		if _, err := w.Write(l.line); err != nil {
			return err
		}
	}
	return nil
}

// close removes the files.
func (s *sorter) close() {
	for _, f := range s.files {
		f.Close()
		os.Remove(f.Name())
	}
}
