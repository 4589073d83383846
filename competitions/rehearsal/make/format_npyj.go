package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// npyJ is a NumPy file in C order: of float32, float64, int32 or int64 numbers.
func npyJ[T float32 | float64 | int32 | int64](shape []int, v []T) []byte {
	var zero T
	kind := map[string]string{"float32": "<f4", "float64": "<f8", "int32": "<i4", "int64": "<i8"}[fmt.Sprintf("%T", zero)]
	var sizes []string
	for _, n := range shape {
		sizes = append(sizes, itoa(n))
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", kind, strings.Join(sizes, ", "))
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	must(binary.Write(&b, binary.LittleEndian, uint16(len(header)))) //nolint:gosec // a short header
	b.WriteString(header)
	must(binary.Write(&b, binary.LittleEndian, v))
	return b.Bytes()
}

// readNpyJ returns the numbers of a file that npyJ wrote.
func readNpyJ[T float32 | float64 | int32 | int64](data []byte) []T {
	rest := data[10+int(binary.LittleEndian.Uint16(data[8:])):]
	var zero T
	v := make([]T, len(rest)/binary.Size(zero))
	must(binary.Read(bytes.NewReader(rest), binary.LittleEndian, v))
	return v
}
