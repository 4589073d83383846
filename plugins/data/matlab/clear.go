package matlab

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ErrFormat says that the bytes are no file of format 5.
var ErrFormat = errors.New("not a readable MATLAB file of format 5")

// maxBytes bounds a file and the data compressed in it.
const maxBytes = 1 << 30

// headBytes is the size of a file's head.
const headBytes = 128

// The types of elements, and the class of arrays, that matter here.
const (
	typeInt8       = 1
	typeInt32      = 5
	typeUint32     = 6
	typeDouble     = 9
	typeMatrix     = 14
	typeCompressed = 15

	classStruct = 2
	classDouble = 6
	classOpaque = 17 // objects of classes; they have no dimensions
)

// Clear returns the file with the arrays at the given paths made empty, 0 by 0
// doubles, as MATLAB's []. A field is emptied in every element of its struct.
// Variables that hold none of them keep their bytes; the others are no longer
// compressed. Each path must be there.
func Clear(file []byte, paths ...string) ([]byte, error) {
	if len(file) < headBytes {
		return nil, fmt.Errorf("%w: %d bytes", ErrFormat, len(file))
	}
	c := &clearer{found: make([]bool, len(paths))}
	switch head := file[124:headBytes]; {
	case bytes.Equal(head, []byte{0, 1, 'I', 'M'}):
		c.order = binary.LittleEndian
	case bytes.Equal(head, []byte{1, 0, 'M', 'I'}):
		c.order = binary.BigEndian
	default:
		return nil, fmt.Errorf("%w: version and order of bytes are %q", ErrFormat, head)
	}
	for i, p := range paths {
		c.todo = append(c.todo, target{i, strings.Split(p, ".")})
	}
	out := bytes.Clone(file[:headBytes])
	for rest := file[headBytes:]; len(rest) > 0; {
		e, err := c.next(&rest)
		if err != nil {
			return nil, err
		}
		if out, err = c.variable(out, e); err != nil {
			return nil, err
		}
	}
	for i, found := range c.found {
		if !found {
			return nil, fmt.Errorf("there is no %s", paths[i])
		}
	}
	return out, nil
}

// target is the rest of a path below an array.
type target struct {
	index int
	names []string
}

type clearer struct {
	order byteOrder
	todo  []target
	found []bool // by the index of a target
}

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// element is one element of a file.
type element struct {
	kind uint32
	data []byte
	raw  []byte // with tag and padding
}

// next cuts the first element off.
func (c *clearer) next(rest *[]byte) (element, error) {
	b := *rest
	if len(b) < 8 {
		return element{}, fmt.Errorf("%w: it is cut off", ErrFormat)
	}
	word := c.order.Uint32(b)
	if small := word >> 16; small != 0 { // up to four bytes within the tag
		if small > 4 {
			return element{}, fmt.Errorf("%w: a small element of %d bytes", ErrFormat, small)
		}
		*rest = b[8:]
		return element{word & 0xffff, b[4 : 4+small], b[:8]}, nil
	}
	size := uint64(c.order.Uint32(b[4:]))
	end := 8 + size
	if word != typeCompressed {
		end = (end + 7) &^ 7
	}
	if 8+size > uint64(len(b)) {
		return element{}, fmt.Errorf("%w: it is cut off", ErrFormat)
	}
	end = min(end, uint64(len(b)))
	*rest = b[end:]
	return element{word, b[8 : 8+size], b[:end]}, nil
}

// expect cuts an element of a type off.
func (c *clearer) expect(rest *[]byte, kind uint32, size int) (element, error) {
	e, err := c.next(rest)
	if err == nil && (e.kind != kind || size >= 0 && len(e.data) != size) {
		err = fmt.Errorf("%w: an element of type %d and %d bytes where type %d was expected", ErrFormat, e.kind, len(e.data), kind)
	}
	return e, err
}

// variable appends a top-level element to out.
func (c *clearer) variable(out []byte, e element) ([]byte, error) {
	matrix := e
	if e.kind == typeCompressed {
		z, err := zlib.NewReader(bytes.NewReader(e.data))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		data, err := io.ReadAll(io.LimitReader(z, maxBytes+1))
		if err == nil && len(data) > maxBytes {
			err = errors.New("it is too long")
		}
		if err != nil {
			return nil, fmt.Errorf("%w: a compressed variable: %w", ErrFormat, err)
		}
		if matrix, err = c.next(&data); err != nil {
			return nil, err
		}
	}
	if matrix.kind != typeMatrix {
		return append(out, e.raw...), nil
	}
	a, err := c.array(matrix.data)
	if err != nil {
		return nil, err
	}
	below := c.below(c.todo, a.name)
	if len(below) == 0 {
		return append(out, e.raw...), nil
	}
	return c.cleared(out, matrix, below)
}

// below returns the targets that go through a name, without it.
func (c *clearer) below(todo []target, name string) []target {
	var out []target
	for _, t := range todo {
		if t.names[0] == name {
			out = append(out, target{t.index, t.names[1:]})
		}
	}
	return out
}

// array is the beginning of an array.
type array struct {
	class  uint32
	count  int
	name   string
	before []byte // flags, dimensions and name
	rest   []byte
}

func (c *clearer) array(data []byte) (array, error) {
	rest := data
	flags, err := c.expect(&rest, typeUint32, 8)
	if err != nil {
		return array{}, err
	}
	class := c.order.Uint32(flags.data) & 0xff
	var dims element
	if class != classOpaque {
		if dims, err = c.expect(&rest, typeInt32, -1); err != nil {
			return array{}, err
		}
	}
	name, err := c.expect(&rest, typeInt8, -1)
	if err != nil {
		return array{}, err
	}
	a := array{class: class, count: 1, name: string(name.data), before: data[:len(data)-len(rest)], rest: rest}
	for d := dims.data; len(d) >= 4; d = d[4:] {
		n := int(int32(c.order.Uint32(d)))
		if n < 0 || n > 0 && a.count > maxBytes/n {
			return array{}, fmt.Errorf("%w: an array of %d by %d elements", ErrFormat, a.count, n)
		}
		a.count *= n
	}
	return a, nil
}

// cleared appends an array in which the targets are empty. The array itself is
// emptied where nothing is left of a path.
func (c *clearer) cleared(out []byte, matrix element, todo []target) ([]byte, error) {
	var name string
	var a array
	var err error
	if len(matrix.data) > 0 { // else an empty array, which needs no more
		if a, err = c.array(matrix.data); err != nil {
			return nil, err
		}
		name = a.name
	}
	if at := slices.IndexFunc(todo, func(t target) bool { return len(t.names) == 0 }); at >= 0 {
		for _, t := range todo {
			c.found[t.index] = true
		}
		return c.empty(out, name), nil
	}
	if a.class != classStruct {
		return append(out, matrix.raw...), nil
	}
	body, err := c.fields(bytes.Clone(a.before), a, todo)
	if err != nil {
		return nil, err
	}
	return append(c.tag(out, typeMatrix, len(body)), body...), nil
}

// fields appends the fields of a struct's elements to body.
func (c *clearer) fields(body []byte, a array, todo []target) ([]byte, error) {
	rest := a.rest
	width, err := c.expect(&rest, typeInt32, 4)
	if err != nil {
		return nil, err
	}
	names, err := c.expect(&rest, typeInt8, -1)
	if err != nil {
		return nil, err
	}
	size := int(c.order.Uint32(width.data))
	if size < 1 || len(names.data)%size != 0 {
		return nil, fmt.Errorf("%w: %d bytes of field names of %d", ErrFormat, len(names.data), size)
	}
	body = append(body, a.rest[:len(a.rest)-len(rest)]...)
	var below [][]target
	for n := range slices.Chunk(names.data, size) {
		name, _, _ := strings.Cut(string(n), "\x00")
		below = append(below, c.below(todo, name))
	}
	if len(rest)/8 < a.count*min(len(below), 1) {
		return nil, fmt.Errorf("%w: a struct of %d elements in %d bytes", ErrFormat, a.count, len(rest))
	}
	for range a.count * min(len(below), 1) {
		for _, todo := range below {
			field, err := c.expect(&rest, typeMatrix, -1)
			if err != nil {
				return nil, err
			}
			if len(todo) == 0 {
				body = append(body, field.raw...)
			} else if body, err = c.cleared(body, field, todo); err != nil {
				return nil, err
			}
		}
	}
	return append(body, rest...), nil
}

// empty appends an array of 0 by 0 doubles.
func (c *clearer) empty(out []byte, name string) []byte {
	var body []byte
	body = c.order.AppendUint64(c.tag(body, typeUint32, 8), 0)
	c.order.PutUint32(body[8:], classDouble)
	body = c.order.AppendUint64(c.tag(body, typeInt32, 8), 0)
	if n := len(name); n > 0 && n <= 4 {
		body = c.order.AppendUint32(body, uint32(n)<<16|typeInt8)
		body = append(body, (name + "\x00\x00\x00")[:4]...)
	} else {
		body = append(c.tag(body, typeInt8, n), name...)
		body = append(body, make([]byte, -len(body)&7)...)
	}
	body = c.tag(body, typeDouble, 0)
	return append(c.tag(out, typeMatrix, len(body)), body...)
}

func (c *clearer) tag(out []byte, kind uint32, size int) []byte {
	return c.order.AppendUint32(c.order.AppendUint32(out, kind), uint32(size))
}
