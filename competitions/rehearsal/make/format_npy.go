package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// half is the bits of a half-precision number.
type half uint16

// halfOf converts a number that is an ordinary half: zero, or from 2⁻¹⁴ to 65504 with 11
// significant bits.
func halfOf(x float64) half {
	bits := math.Float32bits(float32(x))
	h := bits >> 16 & 0x8000
	if x != 0 {
		h |= (bits>>23&0xff-112)<<10 | bits>>13&0x3ff
	}
	return half(h) //nolint:gosec // 16 bits
}

// float is the inverse of halfOf.
func (h half) float() float64 {
	bits := uint32(h) & 0x8000 << 16
	if h&0x7fff != 0 {
		bits |= (uint32(h)>>10&0x1f+112)<<23 | uint32(h)&0x3ff<<13
	}
	return float64(math.Float32frombits(bits))
}

// short is a string of at most two characters.
type short [2]rune

func shortOf(s string) (c short) {
	copy(c[:], []rune(s))
	return c
}

func (c short) String() string { return strings.TrimRight(string(c[:]), "\x00") }

// numpy are the types of the elements of a NumPy file.
type numpy interface {
	float32 | float64 | int32 | int64 | half | short
}

// npyOf is a NumPy file of version 1.0 in C order.
func npyOf[T numpy](shape []int, v []T) []byte {
	kind := map[string]string{"float32": "<f4", "float64": "<f8", "int32": "<i4", "int64": "<i8", "main.half": "<f2", "main.short": "<U2"}[fmt.Sprintf("%T", *new(T))]
	sizes := strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ")
	if len(shape) == 1 {
		sizes += "," // a tuple
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", kind, sizes)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	must(binary.Write(&b, binary.LittleEndian, uint16(len(header)))) //nolint:gosec // a short header
	b.WriteString(header)
	must(binary.Write(&b, binary.LittleEndian, v))
	return b.Bytes()
}

// readNpy returns the elements of a file that npyOf wrote.
func readNpy[T numpy](data []byte) []T {
	rest := data[10+int(binary.LittleEndian.Uint16(data[8:])):]
	v := make([]T, len(rest)/binary.Size(*new(T)))
	must(binary.Read(bytes.NewReader(rest), binary.LittleEndian, v))
	return v
}
