package main

import (
	"bytes"
	"encoding/binary"
	"image"
)

// bmpOf is a BMP file of 24 bits per pixel: rows from the bottom up, each filled up to a
// multiple of 4 bytes.
func bmpOf(img image.Image) []byte {
	var b bytes.Buffer
	size := img.Bounds().Size()
	stride := (3*size.X + 3) / 4 * 4
	b.WriteString("BM")
	for _, v := range []any{
		uint32(54 + stride*size.Y), uint32(0), uint32(54), uint32(40), int32(size.X), int32(size.Y), uint16(1), uint16(24), //nolint:gosec // a small picture
		uint32(0), uint32(stride * size.Y), int32(2835), int32(2835), uint32(0), uint32(0), //nolint:gosec // a small picture
	} {
		must(binary.Write(&b, binary.LittleEndian, v))
	}
	for y := size.Y - 1; y >= 0; y-- {
		row := make([]byte, stride)
		for x := range size.X {
			r, g, bl, _ := img.At(x, y).RGBA()
			row[3*x], row[3*x+1], row[3*x+2] = byte(bl>>8), byte(g>>8), byte(r>>8) //nolint:gosec // 8 bits
		}
		b.Write(row)
	}
	return b.Bytes()
}
