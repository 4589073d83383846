package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// npyHw2 is a NumPy file of version 1.0 in C order, with a type and a shape as Python
// writes them: "<f4" and "(2, 3)".
func npyHw2(kind, shape string, content []byte) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", kind, shape)
	for (10+len(header)+1)%64 != 0 {
		header += " "
	}
	head := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)+1)) //nolint:gosec // a short header
	return append(append(append(head, header...), '\n'), content...)
}

// floatsHw2 is a matrix of 32-bit numbers.
func floatsHw2(rows [][]float32) []byte {
	var b []byte
	for _, row := range rows {
		for _, v := range row {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
	}
	return npyHw2("<f4", fmt.Sprintf("(%d, %d)", len(rows), len(rows[0])), b)
}

// textsHw2 is an array of texts of two characters at most.
func textsHw2(texts []string) []byte {
	var b []byte
	for _, t := range texts {
		for k := range 2 {
			b = binary.LittleEndian.AppendUint32(b, uint32((t + "\x00\x00")[k]))
		}
	}
	return npyHw2("<U2", fmt.Sprintf("(%d,)", len(texts)), b)
}

// readFloatsHw2 returns the rows of a file that floatsHw2 wrote, of so many columns.
func readFloatsHw2(data []byte, columns int) (rows [][]float64) {
	data = contentHw2(data)
	for at := 0; at < len(data); at += 4 * columns {
		row := make([]float64, columns)
		for k := range row {
			row[k] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[at+4*k:])))
		}
		rows = append(rows, row)
	}
	return rows
}

// readTextsHw2 returns the texts of a file that textsHw2 wrote.
func readTextsHw2(data []byte) (texts []string) {
	data = contentHw2(data)
	for at := 0; at < len(data); at += 8 {
		texts = append(texts, string(bytes.Trim([]byte{data[at], data[at+4]}, "\x00")))
	}
	return texts
}

func contentHw2(data []byte) []byte { return data[10+int(binary.LittleEndian.Uint16(data[8:])):] }
