package tree

import (
	"bufio"
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/mleflow/mleflow/cache/digest"
)

// marker is the type of a record that only says that a folder exists.
const marker Type = '.'

// A record is an entry with its key: the path with zero bytes for slashes, so
// that the order of the bytes is the order of the entries, folder by folder.
// The key of a marker ends with a zero byte, before everything in the folder.
//
// A record is written as the length of its key as a varint, the key, the type,
// size and number of files as varints, and the digest; a marker ends with its
// type.
type record struct {
	key   []byte
	entry Entry // without name
}

// cursor returns records in the order of their keys, and then io.EOF. A record
// is valid until the next call.
type cursor func() (record, error)

func appendRecord[T string | []byte](buf []byte, path T, e Entry) []byte {
	buf = binary.AppendUvarint(buf, uint64(len(path)))
	at := len(buf)
	buf = append(buf, path...)
	for i, c := range buf[at:] {
		if c == '/' {
			buf[at+i] = 0
		}
	}
	buf = append(buf, byte(e.Type))
	if e.Type == marker {
		return buf
	}
	buf = binary.AppendUvarint(buf, uint64(e.Size))
	buf = binary.AppendUvarint(buf, uint64(e.Files))
	return append(buf, e.ID[:]...)
}

// parseRecord reads the record at the beginning of data, which must be
// complete, and returns its length.
func parseRecord(data []byte) (record, int) {
	key, at := keyOf(data)
	r := record{key: key, entry: Entry{Type: Type(data[at])}}
	at++
	if r.entry.Type == marker {
		return r, at
	}
	size, n := binary.Uvarint(data[at:])
	at += n
	files, n := binary.Uvarint(data[at:])
	at += n
	r.entry.Size, r.entry.Files = int64(size), int64(files)
	at += copy(r.entry.ID[:], data[at:])
	return r, at
}

// keyOf returns the key of the record at the beginning of data, and the offset
// of its end.
func keyOf(data []byte) (key []byte, end int) {
	length, n := binary.Uvarint(data)
	end = n + int(length)
	return data[n:end], end
}

// batch is a sequence of records in memory.
type batch struct {
	data []byte
	at   []int
}

func (b *batch) add(path string, e Entry) {
	b.at = append(b.at, len(b.data))
	b.data = appendRecord(b.data, path, e)
}

// size is what the batch takes in memory.
func (b *batch) size() int { return len(b.data) + 8*len(b.at) }

func (b *batch) reset() { b.data, b.at = b.data[:0], b.at[:0] }

// sorted sorts the records and returns them.
func (b *batch) sorted() cursor {
	slices.SortFunc(b.at, func(i, j int) int {
		x, _ := keyOf(b.data[i:])
		y, _ := keyOf(b.data[j:])
		return bytes.Compare(x, y)
	})
	rest := b.at
	return func() (record, error) {
		if len(rest) == 0 {
			return record{}, io.EOF
		}
		r, _ := parseRecord(b.data[rest[0]:])
		rest = rest[1:]
		return r, nil
	}
}

// run is sorted records in a file without a name.
type run struct{ file *os.File }

func closeRuns(runs []*run) {
	for _, r := range runs {
		_ = r.file.Close() // the data is not kept
	}
}

// writeRun writes records to a file in dir, whose name it removes.
func writeRun(dir string, from cursor) (*run, error) {
	f, err := os.CreateTemp(dir, "mleflow-tree-")
	if err != nil {
		return nil, err
	}
	err = os.Remove(f.Name())
	w := bufio.NewWriterSize(f, 256<<10)
	var buf []byte
	for err == nil {
		var r record
		if r, err = from(); err == nil {
			buf = appendRecord(buf[:0], r.key, r.entry)
			_, err = w.Write(buf)
		}
	}
	if errors.Is(err, io.EOF) {
		err = w.Flush()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &run{f}, nil
}

// cursor reads the run from its beginning.
func (r *run) cursor() cursor {
	in := bufio.NewReaderSize(io.NewSectionReader(r.file, 0, 1<<62), 64<<10)
	var buf []byte
	return func() (record, error) {
		var err error
		buf, err = readRecord(in, buf[:0])
		if err != nil {
			return record{}, err
		}
		rec, _ := parseRecord(buf)
		return rec, nil
	}
}

// readRecord appends the bytes of the next record to buf.
func readRecord(in *bufio.Reader, buf []byte) ([]byte, error) {
	length, err := binary.ReadUvarint(in)
	if err != nil {
		return buf, err // io.EOF only before the first byte
	}
	buf = binary.AppendUvarint(buf, length)
	if buf, err = appendFrom(in, buf, int(length)+1); err != nil || Type(buf[len(buf)-1]) == marker {
		return buf, err
	}
	for range 2 {
		v, err := binary.ReadUvarint(in)
		if err != nil {
			return buf, fmt.Errorf("read back entries of a tree: %w", noEOF(err))
		}
		buf = binary.AppendUvarint(buf, v)
	}
	return appendFrom(in, buf, digest.Size)
}

func appendFrom(in io.Reader, buf []byte, n int) ([]byte, error) {
	buf = slices.Grow(buf, n)
	m, err := io.ReadFull(in, buf[len(buf):len(buf)+n])
	if err != nil {
		err = fmt.Errorf("read back entries of a tree: %w", noEOF(err))
	}
	return buf[:len(buf)+m], err
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func mergeRuns(runs []*run) cursor {
	cursors := make([]cursor, len(runs))
	for i, r := range runs {
		cursors[i] = r.cursor()
	}
	return merge(cursors)
}

// merge returns the records of all cursors in order.
func merge(cursors []cursor) cursor {
	if len(cursors) == 1 {
		return cursors[0]
	}
	var h heads
	started := false
	return func() (record, error) {
		if !started {
			started = true
			for _, c := range cursors {
				if err := h.push(c); err != nil {
					return record{}, err
				}
			}
		} else if err := h.advance(); err != nil {
			return record{}, err
		}
		if len(h) == 0 {
			return record{}, io.EOF
		}
		return h[0].record, nil
	}
}

// head is a cursor at a record.
type head struct {
	record
	from cursor
}

// heads is a heap of cursors by key.
type heads []head

func (h heads) Len() int           { return len(h) }
func (h heads) Less(i, j int) bool { return bytes.Compare(h[i].key, h[j].key) < 0 }
func (h heads) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heads) Push(x any)        { *h = append(*h, x.(head)) }

func (h *heads) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// push adds a cursor that is not at its end.
func (h *heads) push(c cursor) error {
	r, err := c()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		heap.Push(h, head{r, c})
	}
	return err
}

// advance moves the cursor at the top.
func (h *heads) advance() error {
	top := &(*h)[0]
	r, err := top.from()
	if errors.Is(err, io.EOF) {
		heap.Pop(h)
		return nil
	}
	if err == nil {
		top.record = r
		heap.Fix(h, 0)
	}
	return err
}
