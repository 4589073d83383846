// Package spill sorts records that may not fit in memory.
//
// It is a leaf package: it imports only the standard library.
package spill

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// Sorter returns records in the order of the bytes of their keys, and those of
// one key as they came. Records that exceed the memory are sorted and written to
// files without a name, which disappear with the Sorter or the process. It is
// not safe for concurrent use.
type Sorter struct {
	// Memory is the number of bytes to hold before they are written out.
	Memory int
	// Temp creates such a file. See File.
	Temp func() (*os.File, error)

	data []byte // the records that are held
	at   []int  // where each of them begins
	runs []*os.File
}

// File creates a file in a folder, or in that of the system for temporary files,
// and removes its name.
func File(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "mleflow-sort-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// maxRuns is the number of files that are merged at once. Each is an open file
// with a read buffer.
const maxRuns = 64

// A record is written as the length of its key as a varint, the key, the length
// of its value, and the value.
type record struct{ key, value []byte }

// cursor returns records in order, and then io.EOF. A record is valid until the
// next call.
type cursor func() (record, error)

func appendPart(buf, part []byte) []byte {
	return append(binary.AppendUvarint(buf, uint64(len(part))), part...)
}

// cutPart returns the part at the beginning of data, and what follows it.
func cutPart(data []byte) (part, rest []byte) {
	length, n := binary.Uvarint(data)
	end := n + int(length)
	return data[n:end], data[end:]
}

// Add adds a copy of a record. It fails only if records cannot be written out.
func (s *Sorter) Add(key, value []byte) error {
	s.at = append(s.at, len(s.data))
	s.data = appendPart(appendPart(s.data, key), value)
	if len(s.data)+8*len(s.at) < s.Memory {
		return nil
	}
	if err := s.write(s.held()); err != nil {
		return err
	}
	s.data, s.at = s.data[:0], s.at[:0]
	if len(s.runs) < maxRuns {
		return nil
	}
	many := s.runs
	if err := s.write(merge(cursors(many))); err != nil {
		return err
	}
	s.runs = s.runs[len(many):]
	closeAll(many)
	return nil
}

// Each passes all records to fn, in order. They are valid until fn returns.
func (s *Sorter) Each(fn func(key, value []byte) error) error {
	next := merge(append(cursors(s.runs), s.held()))
	for {
		r, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = fn(r.key, r.value)
		}
		if err != nil {
			return err
		}
	}
}

// Close removes the files.
func (s *Sorter) Close() {
	closeAll(s.runs)
	s.runs = nil
}

func closeAll(runs []*os.File) {
	for _, f := range runs {
		_ = f.Close() // the data is not kept
	}
}

// held sorts the records in memory and returns them.
func (s *Sorter) held() cursor {
	slices.SortFunc(s.at, func(i, j int) int {
		x, _ := cutPart(s.data[i:])
		y, _ := cutPart(s.data[j:])
		return cmp.Or(bytes.Compare(x, y), i-j)
	})
	rest := s.at
	return func() (r record, err error) {
		if len(rest) == 0 {
			return r, io.EOF
		}
		r.key, r.value = cutPart(s.data[rest[0]:])
		r.value, _ = cutPart(r.value)
		rest = rest[1:]
		return r, nil
	}
}

// write writes records to another run.
func (s *Sorter) write(from cursor) error {
	f, err := s.Temp()
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 256<<10)
	var buf []byte
	for err == nil {
		var r record
		if r, err = from(); err == nil {
			buf = appendPart(appendPart(buf[:0], r.key), r.value)
			_, err = w.Write(buf)
		}
	}
	if errors.Is(err, io.EOF) {
		err = w.Flush()
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	s.runs = append(s.runs, f)
	return nil
}

// read reads a run from its beginning.
func read(f *os.File) cursor {
	in := bufio.NewReaderSize(io.NewSectionReader(f, 0, 1<<62), 64<<10)
	var r record
	return func() (record, error) {
		if _, err := in.Peek(1); err != nil {
			return r, err
		}
		for _, part := range []*[]byte{&r.key, &r.value} {
			n, err := binary.ReadUvarint(in)
			if err == nil {
				*part = slices.Grow((*part)[:0], int(n))[:n]
				_, err = io.ReadFull(in, *part)
			}
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				return r, fmt.Errorf("read back sorted entries: %w", err)
			}
		}
		return r, nil
	}
}

func cursors(runs []*os.File) (list []cursor) {
	for _, f := range runs {
		list = append(list, read(f))
	}
	return list
}

// merge returns the records of all cursors in order; those of one key in the
// order of the cursors.
func merge(from []cursor) cursor {
	if len(from) == 1 {
		return from[0]
	}
	var sorted []*head
	var moved []*head // those whose next record was not read yet
	for i, c := range from {
		moved = append(moved, &head{next: c, place: i})
	}
	return func() (record, error) {
		if len(sorted) > 0 {
			moved = append(moved[:0], sorted[0])
			sorted = slices.Delete(sorted, 0, 1)
		}
		for _, h := range moved {
			var err error
			if h.record, err = h.next(); errors.Is(err, io.EOF) {
				continue
			}
			if err != nil {
				return record{}, err
			}
			at, _ := slices.BinarySearchFunc(sorted, h, func(a, b *head) int {
				return cmp.Or(bytes.Compare(a.key, b.key), a.place-b.place)
			})
			sorted = slices.Insert(sorted, at, h)
		}
		moved = moved[:0]
		if len(sorted) == 0 {
			return record{}, io.EOF
		}
		return sorted[0].record, nil
	}
}

// head is a cursor at a record.
type head struct {
	record
	next  cursor
	place int
}
