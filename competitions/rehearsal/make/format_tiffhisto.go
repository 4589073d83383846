package main

import (
	"encoding/binary"
	"slices"
)

// tiffHisto is a TIFF file of one strip, not compressed: samples of 8 bits (three a
// pixel, RGB) or of 16 bits (one a pixel, gray).
func tiffHisto(width, height, bits int, pixels []byte) []byte {
	type field struct {
		tag, kind uint16
		count, at int
	}
	le := binary.LittleEndian
	depth, samples, photometric := field{258, 3, 1, bits}, 1, 1
	const entries = 10
	end := 8 + 2 + 12*entries + 4
	var extra []byte
	if bits == 8 {
		samples, photometric = 3, 2
		depth = field{258, 3, 3, end}
		extra = []byte{8, 0, 8, 0, 8, 0}
	}
	fields := [entries]field{
		{256, 3, 1, width},
		{257, 3, 1, height},
		depth,
		{259, 3, 1, 1},
		{262, 3, 1, photometric},
		{273, 4, 1, end + len(extra)},
		{277, 3, 1, samples},
		{278, 3, 1, height},
		{279, 4, 1, len(pixels)},
		{284, 3, 1, 1},
	}
	b := []byte{'I', 'I', 42, 0, 8, 0, 0, 0, entries, 0}
	for _, f := range fields {
		b = le.AppendUint16(b, f.tag)
		b = le.AppendUint16(b, f.kind)
		b = le.AppendUint32(b, uint32(f.count)) //nolint:gosec // a small picture
		b = le.AppendUint32(b, uint32(f.at))    //nolint:gosec // a small picture
	}
	return slices.Concat(b, make([]byte, 4), extra, pixels)
}

// readTIFFHisto returns the size and the pixels of a file that tiffHisto wrote.
func readTIFFHisto(data []byte) (width, height int, pixels []byte) {
	le := binary.LittleEndian
	for at := 10; at < 10+12*int(data[8]); at += 12 {
		v := int(le.Uint32(data[at+8:]))
		switch le.Uint16(data[at:]) {
		case 256:
			width = v
		case 257:
			height = v
		case 273:
			pixels = data[v:]
		}
	}
	return width, height, pixels
}
