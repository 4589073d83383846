package bson

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is how deep documents may be nested; MongoDB allows 100.
const MaxDepth = 500

// Append appends the document as pymongo 4 writes what it read, without the
// named top fields, to dst: _id comes first, of fields of one name the last
// value stands in the place of the first, members of arrays are numbered from
// 0, Undefined becomes Null, Symbol a String, DBPointer a document, flags of a
// Regex are those it knows in its order. A clean document stays as it is, byte
// for byte. Everything is checked.
func Append(dst []byte, d Document, without ...string) ([]byte, error) {
	return appendDocument(dst, d, 0, without)
}

func appendDocument(dst []byte, d Document, depth int, without []string) ([]byte, error) {
	if depth > MaxDepth {
		return dst, fmt.Errorf("nested deeper than %d", MaxDepth)
	}
	elements, err := d.distinct()
	if err != nil {
		return dst, err
	}
	elements = order(elements, depth == 0)
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for _, e := range elements {
		if slices.Contains(without, string(e.Name)) {
			continue
		}
		if dst, err = appendElement(dst, e, depth); err != nil && depth == 0 {
			return dst, fmt.Errorf("field %q: %w", e.Name, err)
		} else if err != nil {
			return dst, err
		}
	}
	return finish(dst, start), nil
}

// finish ends a document that began at start.
func finish(dst []byte, start int) []byte {
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst
}

// few is up to how many names are compared one by one.
const few = 16

// distinct returns the elements of a document, of those of one name the last
// one in the place of the first.
func (d Document) distinct() ([]Element, error) {
	var out []Element
	var places map[string]int
	err := d.Each(func(e Element) error {
		at := -1
		switch {
		case places != nil:
			if i, ok := places[string(e.Name)]; ok {
				at = i
			}
		default:
			at = slices.IndexFunc(out, func(o Element) bool { return bytes.Equal(o.Name, e.Name) })
		}
		if at >= 0 {
			out[at] = e
			return nil
		}
		out = append(out, e)
		if places != nil {
			places[string(e.Name)] = len(out) - 1
		} else if len(out) == few {
			places = map[string]int{}
			for i, o := range out {
				places[string(o.Name)] = i
			}
		}
		return nil
	})
	return out, err
}

// order moves the fields that pymongo writes first to the front: _id of a
// whole document, and $ref, $id and $db of a reference, without a $db of null.
func order(elements []Element, whole bool) []Element {
	first := []string{"_id"}
	if !whole {
		first = []string{"$ref", "$id", "$db"}
		if !isReference(elements) {
			return elements
		}
		elements = slices.DeleteFunc(elements, func(e Element) bool { return string(e.Name) == "$db" && e.isNull() })
	}
	slices.SortStableFunc(elements, func(a, b Element) int { return rank(first, a) - rank(first, b) })
	return elements
}

// isReference reports whether pymongo reads a document as a DBRef: the strings
// $ref and, where there is one that is not null, $db, and an $id.
func isReference(elements []Element) bool {
	collection, id, database := false, false, true
	for _, e := range elements {
		text := slices.Contains([]Type{String, Symbol, Code, CodeScope}, e.Type)
		switch string(e.Name) {
		case "$ref":
			collection = text
		case "$id":
			id = true
		case "$db":
			database = text || e.isNull()
		}
	}
	return collection && id && database
}

func (e Element) isNull() bool { return e.Type == Null || e.Type == Undefined }

func rank(first []string, e Element) int {
	if at := slices.Index(first, string(e.Name)); at >= 0 {
		return at
	}
	return len(first)
}

func appendElement(dst []byte, e Element, depth int) ([]byte, error) {
	if !utf8.Valid(e.Name) {
		return dst, errors.New("a name that is not UTF-8")
	}
	t := e.Type
	switch t {
	case Undefined:
		t = Null
	case Symbol:
		t = String
	case DBPointer:
		t = Embedded
	}
	dst = append(dst, byte(t))
	dst = append(append(dst, e.Name...), 0)
	return appendValue(dst, e, depth)
}

func appendValue(dst []byte, e Element, depth int) ([]byte, error) {
	switch e.Type {
	case Embedded:
		return appendDocument(dst, e.Value, depth+1, nil)
	case Array:
		return appendArray(dst, e.Value, depth+1)
	case CodeScope:
		return appendCodeScope(dst, e.Value, depth+1)
	case DBPointer:
		return appendPointer(dst, e.Value)
	case Regex:
		return appendRegex(dst, e.Value)
	}
	return append(dst, e.Value...), check(e)
}

// check checks a value that is copied.
func check(e Element) error {
	switch e.Type {
	case String, Symbol, Code:
		return checkText(e.Value)
	case Boolean:
		if e.Value[0] > 1 {
			return fmt.Errorf("a condition that is %d", e.Value[0])
		}
	case DateTime:
		if ms := int64(binary.LittleEndian.Uint64(e.Value)); ms < firstDate || ms > lastDate {
			return errors.New("a date outside the years 1 to 9999")
		}
	case Binary:
		if b := e.Value; b[4] == oldBinary {
			if n, err := sized(b[5:], 4, 0); err != nil || n != int64(len(b)-5) {
				return errors.New("old binary data whose two lengths differ")
			}
		}
	}
	return nil
}

// The first and the last date of Python, in milliseconds since 1970.
const (
	firstDate = -62135596800000
	lastDate  = 253402300799999
)

// oldBinary is the kind of Binary that holds its length twice.
const oldBinary = 2

// checkText checks the length, the bytes and the final 0 of a String.
func checkText(b []byte) error {
	text := b[4:]
	if text[len(text)-1] != 0 {
		return errors.New("a text without 0 at its end")
	}
	if !utf8.Valid(text) {
		return errors.New("a text that is not UTF-8")
	}
	return nil
}

func appendArray(dst []byte, d Document, depth int) ([]byte, error) {
	if depth > MaxDepth {
		return dst, fmt.Errorf("nested deeper than %d", MaxDepth)
	}
	start, n := len(dst), 0
	dst = append(dst, 0, 0, 0, 0)
	err := d.Each(func(e Element) (err error) {
		var name [20]byte
		e.Name = strconv.AppendInt(name[:0], int64(n), 10)
		n++
		dst, err = appendElement(dst, e, depth)
		return err
	})
	return finish(dst, start), err
}

// appendCodeScope appends a length, a string and a document.
func appendCodeScope(dst, value []byte, depth int) ([]byte, error) {
	size, err := sized(value[4:], 4, 1)
	if err == nil && size+4+minDocument > int64(len(value)) {
		err = errCut
	}
	if err != nil {
		return dst, err
	}
	code, scope := value[4:4+size], value[4+size:]
	if err := checkText(code); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = append(append(dst, 0, 0, 0, 0), code...)
	dst, err = appendDocument(dst, scope, depth, nil)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst, err
}

// appendPointer appends a DBPointer, a string and an ObjectID, as a document.
func appendPointer(dst, value []byte) ([]byte, error) {
	collection, id := value[:len(value)-12], value[len(value)-12:]
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = append(append(dst, byte(String)), "$ref\x00"...)
	dst = append(dst, collection...)
	dst = append(append(dst, byte(ObjectID)), "$id\x00"...)
	dst = append(dst, id...)
	return finish(dst, start), checkText(collection)
}

// regexFlags are the flags of a Regex in the order in which they are written.
const regexFlags = "ilmsux"

func appendRegex(dst, value []byte) ([]byte, error) {
	end := bytes.IndexByte(value, 0)
	pattern, flags := value[:end+1], value[end+1:]
	if !utf8.Valid(value) {
		return dst, errors.New("a pattern that is not UTF-8")
	}
	dst = append(dst, pattern...)
	for _, f := range []byte(regexFlags) {
		if bytes.IndexByte(flags, f) >= 0 {
			dst = append(dst, f)
		}
	}
	return append(dst, 0), nil
}
