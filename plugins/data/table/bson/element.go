package bson

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
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

// fixed are the sizes of the types that have one.
var fixed = map[Type]int64{
	Double: 8, Undefined: 0, ObjectID: 12, Boolean: 1, DateTime: 8, Null: 0, Int32: 4, Timestamp: 8, Int64: 8, Decimal: 16, MinKey: 0, MaxKey: 0,
}

// size returns how many bytes a value takes, which may be more than there are.
func (t Type) size(b []byte) (int64, error) {
	switch t {
	case Double, DateTime, Timestamp, Int64:
		return 8, nil
	case Int32:
		return 4, nil
	case Regex:
		pattern := bytes.IndexByte(b, 0)
		flags := bytes.IndexByte(b[pattern+1:], 0)
		if pattern < 0 || flags < 0 {
			return 0, errCut
		}
		return int64(pattern + flags + 2), nil
	case String, Code, Symbol:
		return sized(b, 4, 1)
	case DBPointer:
		return sized(b, 4+12, 1)
	case Binary:
		return sized(b, 4+1, 0)
	case Embedded, Array:
		return sized(b, 0, minDocument)
	case CodeScope:
		return sized(b, 0, 4+5+minDocument)
	}
	if n, ok := fixed[t]; ok {
		return n, nil
	}
	return 0, fmt.Errorf("unknown type %#02x", byte(t))
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

// Text returns the text of a String or Symbol, the hexadecimal digits of an
// ObjectID.
func (e Element) Text() (string, bool) {
	switch e.Type {
	case String, Symbol:
		return string(e.Value[4 : len(e.Value)-1]), true
	case ObjectID:
		return fmt.Sprintf("%x", e.Value), true
	}
	return "", false
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

// Float returns the number of a Double.
func (e Element) Float() (float64, bool) {
	if e.Type != Double {
		return 0, false
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(e.Value)), true
}

// Bool returns the value of a Boolean.
func (e Element) Bool() (value, ok bool) {
	return e.Type == Boolean && e.Value[0] == 1, e.Type == Boolean
}
