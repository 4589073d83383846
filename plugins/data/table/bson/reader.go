package bson

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// minDocument is the size of a document without elements.
const minDocument = 5

// growth is how much of a document is read before more memory is asked for.
const growth = 1 << 20

// Reader reads the documents of a file in turn.
type Reader struct {
	r      *bufio.Reader
	buf    []byte
	offset int64
	count  int
}

// NewReader returns a reader of the documents in r.
func NewReader(r io.Reader) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, growth)}
}

// Offset is where the next document begins, counted from where the reader
// began.
func (r *Reader) Offset() int64 { return r.offset }

// Next returns the next document, which is valid until the next call, or
// io.EOF after the last one. Only the length and the last byte of the document
// are checked.
func (r *Reader) Next() (Document, error) {
	d, err := r.next()
	if err == nil {
		r.offset += int64(len(d))
		r.count++
	} else if !errors.Is(err, io.EOF) {
		err = fmt.Errorf("document %d at byte %d: %w", r.count, r.offset, err)
	}
	return d, err
}

func (r *Reader) next() (Document, error) {
	var head [4]byte
	n, err := io.ReadFull(r.r, head[:])
	switch {
	case err == io.EOF:
		return nil, io.EOF
	case err != nil:
		return nil, cut(n, 4, err)
	}
	size := int64(int32(binary.LittleEndian.Uint32(head[:])))
	if size < minDocument {
		return nil, fmt.Errorf("a length of %d bytes, the least is %d", size, minDocument)
	}
	r.buf = append(r.buf[:0], head[:]...)
	for have := int64(4); have < size; have = int64(len(r.buf)) {
		part := int(min(size-have, max(growth, have)))
		r.buf = append(r.buf, make([]byte, part)...)
		if n, err := io.ReadFull(r.r, r.buf[have:]); err != nil {
			return nil, cut(int(have)+n, size, err)
		}
	}
	if r.buf[size-1] != 0 {
		return nil, fmt.Errorf("its last byte is %#x, not 0", r.buf[size-1])
	}
	return r.buf, nil
}

// cut says that a file ended too early; other errors stay as they are.
func cut(have int, want int64, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("cut short after %d of %d bytes", have, want)
	}
	return err
}
