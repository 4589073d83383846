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

// buckets is how many files the rest goes to, by the top bits of the place.
const buckets = 64

// sorter writes lines in the order of their places, and those of one place as
// they came. Lines that do not fit in memory go to files, one for each part of
// the places.
type sorter struct {
	work  string
	limit int
	held  []placed
	bytes int
	spill []*bufio.Writer
	files []*os.File
}

type placed struct {
	place uint64
	line  []byte
}

func (m *masker) newSorter() *sorter { return &sorter{work: m.work, limit: m.spillAt} }

func (s *sorter) add(place uint64, line []byte) error {
	if s.spill != nil {
		return s.toFile(place, line)
	}
	s.held = append(s.held, placed{place, slices.Clone(line)})
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
		if err := s.toFile(p.place, p.line); err != nil {
			return err
		}
	}
	s.held = nil
	return nil
}

func (s *sorter) toFile(place uint64, line []byte) error {
	var head [12]byte
	binary.BigEndian.PutUint64(head[:8], place)
	binary.BigEndian.PutUint32(head[8:], uint32(len(line)))
	w := s.spill[place/(1<<64/buckets)]
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
		lines, err := readPlaced(bufio.NewReaderSize(f, 1<<16))
		if err != nil {
			return err
		}
		if err := writeSorted(w, lines); err != nil {
			return err
		}
	}
	return nil
}

func readPlaced(r io.Reader) (lines []placed, err error) {
	for {
		var head [12]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return lines, ignoreEOF(err)
		}
		line := make([]byte, binary.BigEndian.Uint32(head[8:]))
		if _, err := io.ReadFull(r, line); err != nil {
			return nil, err
		}
		lines = append(lines, placed{binary.BigEndian.Uint64(head[:8]), line})
	}
}

func writeSorted(w io.Writer, lines []placed) error {
	slices.SortStableFunc(lines, func(a, b placed) int { return cmp.Compare(a.place, b.place) })
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
