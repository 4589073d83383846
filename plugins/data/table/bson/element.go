package bson

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// Document is the bytes of a document.
type Document []byte

// Type is the type of an element.
type Type byte

// The types.
const (
	Double    Type = 0x01
	String    Type = 0x02
	Embedded  Type = 0x03
	Array     Type = 0x04
	Binary    Type = 0x05
	Undefined Type = 0x06 // out of use: read as Null
	ObjectID  Type = 0x07
	Boolean   Type = 0x08
	DateTime  Type = 0x09
	Null      Type = 0x0a
	Regex     Type = 0x0b
	DBPointer Type = 0x0c // out of use: read as a document with $ref and $id
	Code      Type = 0x0d
	Symbol    Type = 0x0e // out of use: read as String
	CodeScope Type = 0x0f
	Int32     Type = 0x10
	Timestamp Type = 0x11
	Int64     Type = 0x12
	Decimal   Type = 0x13
	MinKey    Type = 0xff
	MaxKey    Type = 0x7f
)

// Element is a field of a document. Its bytes belong to the document.
type Element struct {
	Type  Type
	Name  []byte
	Value []byte
}

var errCut = errors.New("its value is cut short")

// next returns the first element of the bytes between a document's length and
// its last byte, and those after it.
func next(body []byte) (e Element, rest []byte, err error) {
	e.Type = Type(body[0])
	end := bytes.IndexByte(body[1:], 0)
	if end < 0 {
		return e, nil, errors.New("a name without end")
	}
	e.Name, rest = body[1:1+end], body[2+end:]
	size, err := e.Type.size(rest)
	if err == nil && size > int64(len(rest)) {
		err = errCut
	}
	if err != nil {
		return e, nil, fmt.Errorf("field %q: %w", e.Name, err)
	}
	e.Value = rest[:size]
	return e, rest[size:], nil
}

// layouts say how many bytes values take. If least is not negative, a length comes first,
// which is at least that and is added.
var layouts = map[Type]struct{ bytes, least int64 }{
	Double: {8, -1}, DateTime: {8, -1}, Timestamp: {8, -1}, Int64: {8, -1}, Int32: {4, -1}, Boolean: {1, -1},
	ObjectID: {12, -1}, Decimal: {16, -1}, Undefined: {0, -1}, Null: {0, -1}, MinKey: {0, -1}, MaxKey: {0, -1},
	String: {4, 1}, Code: {4, 1}, Symbol: {4, 1}, DBPointer: {4 + 12, 1}, Binary: {4 + 1, 0},
	Embedded: {0, minDocument}, Array: {0, minDocument}, CodeScope: {0, 4 + 5 + minDocument},
}

// size returns how many bytes a value takes, which may be more than there are.
func (t Type) size(b []byte) (int64, error) {
	l, ok := layouts[t]
	switch {
	case t == Regex:
		pattern := bytes.IndexByte(b, 0)
		flags := bytes.IndexByte(b[pattern+1:], 0)
		if pattern < 0 || flags < 0 {
			return 0, errCut
		}
		return int64(pattern + flags + 2), nil
	case !ok:
		return 0, fmt.Errorf("unknown type %#02x", byte(t))
	case l.least < 0:
		return l.bytes, nil
	}
	return sized(b, l.bytes, l.least)
}

// sized reads a length, to which extra is added.
func sized(b []byte, extra, least int64) (int64, error) {
	if len(b) < 4 {
		return 0, errCut
	}
	n := int64(int32(binary.LittleEndian.Uint32(b)))
	if n < least {
		return 0, fmt.Errorf("a length of %d", n)
	}
	return n + extra, nil
}

// Each visits the elements of a document in order, not those of the documents
// in it.
func (d Document) Each(visit func(Element) error) error {
	if len(d) < minDocument || int64(binary.LittleEndian.Uint32(d)) != int64(len(d)) || d[len(d)-1] != 0 {
		return errors.New("not a document")
	}
	for body := d[4 : len(d)-1]; len(body) > 0; {
		e, rest, err := next(body)
		if err != nil {
			return err
		}
		if err := visit(e); err != nil {
			return err
		}
		body = rest
	}
	return nil
}

// Int returns the number of an Int32 or Int64.
func (e Element) Int() (int64, bool) {
	switch e.Type {
	case Int32:
		return int64(int32(binary.LittleEndian.Uint32(e.Value))), true
	case Int64:
		return int64(binary.LittleEndian.Uint64(e.Value)), true
	}
	return 0, false
}

// Cell returns a number, a string, a boolean, null or, by its hexadecimal digits, an
// ObjectID as a cell.
func (e Element) Cell() (table.Value, error) {
	switch e.Type {
	case Int32, Int64:
		n, _ := e.Int()
		return table.IntValue(n), nil
	case Double:
		return table.FloatValue(math.Float64frombits(binary.LittleEndian.Uint64(e.Value))), nil
	case String, Symbol:
		if text := string(e.Value[4 : len(e.Value)-1]); utf8.ValidString(text) {
			return table.TextValue(text), nil
		}
	case ObjectID:
		return table.TextValue(fmt.Sprintf("%x", e.Value)), nil
	case Boolean:
		return table.BoolValue(e.Value[0] == 1), nil
	case Null, Undefined:
		return table.Value{}, nil
	}
	return table.Value{}, fmt.Errorf("type %#02x is not a number, string or boolean", byte(e.Type))
}

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
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, growth)} }

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
