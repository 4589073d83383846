package main

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"math"
	"slices"
)

// arrayMAT is an array of a MATLAB file, without its name.
type arrayMAT struct {
	class, rows, columns int
	content              []byte
}

// fieldMAT is a field of a struct: one array for each of its elements.
type fieldMAT struct {
	name   string
	values []arrayMAT
}

// doublesMAT is a matrix of numbers, column by column.
func doublesMAT(rows, columns int, v ...float64) arrayMAT {
	var data []byte
	for _, x := range v {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(x))
	}
	return arrayMAT{6, rows, columns, elementMAT(9, data)}
}

// textMAT is an array of characters.
func textMAT(text string) arrayMAT {
	var data []byte
	for _, c := range []byte(text) {
		data = append(data, c, 0)
	}
	return arrayMAT{4, 1, len(text), elementMAT(4, data)}
}

// structMAT is a row of n structs.
func structMAT(n int, fields ...fieldMAT) arrayMAT {
	var names []byte
	for _, f := range fields {
		names = append(names, (f.name + string(make([]byte, 32)))[:32]...)
	}
	content := slices.Concat([]byte{5, 0, 4, 0, 32, 0, 0, 0}, elementMAT(1, names))
	for i := range n {
		for _, f := range fields {
			content = append(content, f.values[i].named("")...)
		}
	}
	return arrayMAT{2, 1, n, content}
}

// named returns the array as an element with a name.
func (a arrayMAT) named(name string) []byte {
	integers := func(v ...int) (b []byte) {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, uint32(x)) //nolint:gosec // small
		}
		return b
	}
	return elementMAT(14, slices.Concat(elementMAT(6, integers(a.class, 0)), elementMAT(5, integers(a.rows, a.columns)), elementMAT(1, []byte(name)), a.content))
}

// elementMAT is a type, a size and data, filled up to a multiple of eight bytes.
func elementMAT(kind byte, data []byte) []byte {
	head := binary.LittleEndian.AppendUint32([]byte{kind, 0, 0, 0}, uint32(len(data))) //nolint:gosec // small
	return slices.Concat(head, data, make([]byte, -len(data)&7))
}

// fileMAT is a MATLAB file of format 5 with one compressed variable.
func fileMAT(name string, a arrayMAT) []byte {
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, err := w.Write(a.named(name))
	must(err)
	must(w.Close())
	head := append([]byte("MATLAB 5.0 MAT-file"), bytes.Repeat([]byte{' '}, 97)...)
	head = append(head, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 'I', 'M')
	head = binary.LittleEndian.AppendUint32(append(head, 15, 0, 0, 0), uint32(packed.Len())) //nolint:gosec // small
	return append(head, packed.Bytes()...)
}
