package transform

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/pattern"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// Array is an array of a .npy file as rows along its first axis. Its bytes
// are read when they are needed.
type Array struct {
	// Descr is numpy's name of the element type, such as "<f4".
	Descr string
	// Shape is the size along each axis.
	Shape []int
	data  io.ReaderAt
	start int64
	// fortran says that the first axis runs fastest.
	fortran bool
	// selection holds the rows of the file that are rows of the array; nil
	// stands for all.
	selection []int
}

var npyVerb = Verb{
	Name: "npy", Params: []string{"path"},
	Summary: "The array in a .npy file of the raw data, rows along its first axis.",
	Detail:  "It holds numbers, booleans or fixed-length strings in C order. Rows are read when they are written.",
	Source:  "numpy.load(path, allow_pickle=False)",
	Func:    openNpy,
}

func openNpy(in *Input, path string) (_ Rows, err error) {
	defer reading("npy", path, &err)
	at, size, err := in.readable(path)
	if err != nil {
		return nil, err
	}
	a := &Array{data: at}
	if err := a.readHeader(size); err != nil {
		return nil, err
	}
	if len(a.Shape) == 0 || a.fortran && len(a.Shape) > 1 {
		return nil, errors.New("the array has no rows or is in Fortran order")
	}
	return a, nil
}

var npyHeader = pattern.New(`^\{'descr': '([^']*)', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\), \} *\n$`)

// readHeader reads the header of a file of size bytes, which must hold the
// whole array.
func (a *Array) readHeader(size int64) error {
	head := make([]byte, 12)
	if _, err := a.data.ReadAt(head, 0); err != nil {
		return err
	}
	if string(head[:6]) != "\x93NUMPY" || head[6] < 1 || head[6] > 3 {
		return fmt.Errorf("not a .npy file of version 1 to 3")
	}
	length, from := int64(binary.LittleEndian.Uint16(head[8:])), int64(10)
	if head[6] > 1 {
		length, from = int64(binary.LittleEndian.Uint32(head[8:])), 12
	}
	if length > 1<<20 {
		return fmt.Errorf("header of %d bytes", length)
	}
	text := make([]byte, length)
	if _, err := a.data.ReadAt(text, from); err != nil {
		return err
	}
	m := npyHeader.Regexp().FindSubmatch(text)
	if m == nil {
		return fmt.Errorf("the header %q cannot be read", text)
	}
	a.start = from + length
	a.Descr = string(m[1])
	for s := range strings.SplitSeq(string(m[3]), ",") {
		if s = strings.TrimSpace(s); s != "" {
			n, err := strconv.Atoi(s)
			if err != nil {
				return fmt.Errorf("shape %q: %w", m[3], err)
			}
			a.Shape = append(a.Shape, n)
		}
	}
	a.fortran = string(m[2]) == "True"
	return a.complete(size)
}

// complete rejects a file of size bytes that is too short for the array.
func (a *Array) complete(size int64) error {
	element, err := a.elementSize()
	if err != nil {
		return err
	}
	left := int(size - a.start)
	for _, n := range append([]int{element}, a.Shape...) {
		if n == 0 {
			return nil
		}
		left /= n
	}
	if left < 1 {
		return fmt.Errorf("the file is cut off: it has %d bytes of elements, too few for shape %v", size-a.start, a.Shape)
	}
	return nil
}

// elementSize returns the bytes of an element.
func (a *Array) elementSize() (int, error) {
	if len(a.Descr) >= 3 && strings.ContainsRune("<|=", rune(a.Descr[0])) {
		n, err := strconv.Atoi(a.Descr[2:])
		if err == nil && n >= 0 && n < 1<<20 {
			switch a.Descr[1] {
			case 'U':
				return 4 * n, nil
			case 'b', 'i', 'u', 'f', 'S':
				return n, nil
			}
		}
	}
	return 0, fmt.Errorf("element type %q is not supported", a.Descr)
}

// rowSize returns the bytes of a row.
func (a *Array) rowSize() int {
	size, _ := a.elementSize()
	for _, n := range a.Shape[1:] {
		size *= n
	}
	return size
}

// Len implements Rows.
func (a *Array) Len() int { return a.Shape[0] }

// Take implements Rows.
func (a *Array) Take(rows []int) Rows {
	out := *a
	out.Shape = append([]int{len(rows)}, a.Shape[1:]...)
	if out.selection = slices.Clone(rows); a.selection != nil {
		out.selection = taken(a.selection, rows)
	}
	return &out
}

// readRow fills buf, of rowSize bytes, with row i.
func (a *Array) readRow(i int, buf []byte) error {
	if a.selection != nil {
		i = a.selection[i]
	}
	n, err := a.data.ReadAt(buf, a.start+int64(i)*int64(len(buf)))
	if n == len(buf) {
		return nil
	}
	return fmt.Errorf("read row %d: %w", i, err)
}

// WriteNpy writes an array as numpy.save does, in format version 1.0.
func WriteNpy(w io.Writer, a *Array) error {
	dims := strings.Join(lists.Of(a.Shape, strconv.Itoa), ", ")
	if len(a.Shape) == 1 {
		dims += ","
	}
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", a.Descr, dims)
	head += strings.Repeat(" ", (64-(10+len(head)+1)%64)%64) + "\n"
	if _, err := io.WriteString(w, "\x93NUMPY\x01\x00"+string(binary.LittleEndian.AppendUint16(nil, uint16(len(head))))+head); err != nil {
		return err
	}
	buf := make([]byte, a.rowSize())
	for i := range a.Len() {
		if err := a.readRow(i, buf); err != nil {
			return err
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

var columnVerb = Verb{
	Name: "column", Params: []string{"rows"},
	Summary: "A one-dimensional array or list as a column.",
	Source:  "pandas.Series(array)",
	Func: func(rows Rows) (*table.Column, error) {
		switch r := rows.(type) {
		case *Array:
			return r.column()
		case ListRows:
			return table.FromValues("column", r), nil
		case ColumnRows:
			return r.Column, nil
		}
		return nil, fmt.Errorf("column works on an array or a list")
	},
}

func (a *Array) column() (*table.Column, error) {
	if len(a.Shape) != 1 {
		return nil, fmt.Errorf("column: the array must have one axis, not %d", len(a.Shape))
	}
	buf := make([]byte, a.rowSize())
	cells, err := table.TryCollect(a.Len(), func(i int) (table.Value, error) {
		if err := a.readRow(i, buf); err != nil {
			return table.Value{}, err
		}
		return a.cell(buf)
	})
	return table.FromValues("column", cells), err
}

func (a *Array) cell(buf []byte) (table.Value, error) {
	var wide [8]byte
	copy(wide[:], buf)
	bits := binary.LittleEndian.Uint64(wide[:])
	shift := 64 - 8*len(buf)
	switch kind := a.Descr[1:]; {
	case kind[0] == 'U':
		var text []rune
		for ; len(buf) >= 4; buf = buf[4:] {
			text = append(text, rune(binary.LittleEndian.Uint32(buf)))
		}
		return table.TextValue(strings.TrimRight(string(text), "\x00")), nil
	case kind == "b1":
		return table.BoolValue(buf[0] != 0), nil
	case kind == "f4":
		return table.FloatValue(float64(math.Float32frombits(uint32(bits)))), nil
	case kind == "f8":
		return table.FloatValue(math.Float64frombits(bits)), nil
	case kind[0] == 'i' && len(buf) <= 8:
		return table.IntValue(int64(bits<<shift) >> shift), nil
	case kind[0] == 'u' && len(buf) < 8:
		return table.IntValue(int64(bits)), nil
	}
	return table.Value{}, fmt.Errorf("column: element type %q is not supported", a.Descr)
}
