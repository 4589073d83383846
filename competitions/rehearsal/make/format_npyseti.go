package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// npySeti is a NumPy file of half-precision numbers in C order. The numbers must be
// ordinary halves: zero, or from 2⁻¹⁴ to 65504 with 11 significant bits.
func npySeti(shape []int, v []float64) []byte {
	var sizes []string
	for _, n := range shape {
		sizes = append(sizes, itoa(n))
	}
	header := fmt.Sprintf("{'descr': '<f2', 'fortran_order': False, 'shape': (%s), }", strings.Join(sizes, ", "))
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	must(binary.Write(&b, binary.LittleEndian, uint16(len(header)))) //nolint:gosec // a short header
	b.WriteString(header)
	for _, x := range v {
		bits := math.Float32bits(float32(x))
		half := bits >> 16 & 0x8000
		if x != 0 {
			half |= (bits>>23&0xff-112)<<10 | bits>>13&0x3ff
		}
		must(binary.Write(&b, binary.LittleEndian, uint16(half))) //nolint:gosec // 16 bits
	}
	return b.Bytes()
}

// readNpySeti returns the header and the numbers of a file that npySeti wrote.
func readNpySeti(data []byte) (header string, v []float64) {
	n := 10 + int(binary.LittleEndian.Uint16(data[8:]))
	for at := n; at < len(data); at += 2 {
		half := uint32(binary.LittleEndian.Uint16(data[at:]))
		bits := half & 0x8000 << 16
		if half&0x7fff != 0 {
			bits |= (half>>10&0x1f+112)<<23 | half&0x3ff<<13
		}
		v = append(v, float64(math.Float32frombits(bits)))
	}
	return string(data[10:n]), v
}
