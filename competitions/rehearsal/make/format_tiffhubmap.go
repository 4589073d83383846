package main

import (
	"encoding/binary"
	"slices"
)

// tiffHubmap is an RGB picture of 8 bits.
type tiffHubmap struct {
	width, height int
	pixels        [][3]uint8
}

// file returns the picture as a TIFF file, not compressed: the colors of a pixel together
// in one strip, or a strip for each color.
func (p tiffHubmap) file(planar bool) []byte {
	var data []byte
	strips, size := 1, 3*len(p.pixels)
	if planar {
		strips, size = 3, len(p.pixels)
		for c := range 3 {
			for _, v := range p.pixels {
				data = append(data, v[c])
			}
		}
	} else {
		for _, v := range p.pixels {
			data = append(data, v[:]...)
		}
	}
	const head = 8
	var offsets, sizes []int
	for i := range strips {
		offsets, sizes = append(offsets, head+i*size), append(sizes, size)
	}
	fields := []struct {
		tag    int
		values []int
	}{
		{256, []int{p.width}}, {257, []int{p.height}}, {258, []int{8, 8, 8}}, {259, []int{1}}, {262, []int{2}}, {273, offsets},
		{277, []int{3}}, {278, []int{p.height}}, {279, sizes}, {284, []int{map[bool]int{false: 1, true: 2}[planar]}},
	}
	words := func(v ...int) (b []byte) {
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, uint32(x)) //nolint:gosec // small
		}
		return b
	}
	data = append(data, make([]byte, len(data)%2)...)
	directory := head + len(data)
	end := directory + 2 + 12*len(fields) + 4
	table, more := []byte{byte(len(fields)), 0}, []byte{}
	for _, f := range fields {
		table = append(append(table, byte(f.tag), byte(f.tag>>8), 4, 0), words(len(f.values))...)
		if len(f.values) == 1 {
			table = append(table, words(f.values...)...)
			continue
		}
		table = append(table, words(end+len(more))...)
		more = append(more, words(f.values...)...)
	}
	return slices.Concat([]byte("II*\x00"), words(directory), data, table, words(0), more)
}

// readTIFFHubmap returns the pixels of a file that tiffHubmap.file wrote.
func readTIFFHubmap(data []byte) (p tiffHubmap) {
	at := int(binary.LittleEndian.Uint32(data[4:]))
	planar := false
	for i := range int(binary.LittleEndian.Uint16(data[at:])) {
		field := data[at+2+12*i:]
		value := int(binary.LittleEndian.Uint32(field[8:]))
		switch binary.LittleEndian.Uint16(field) {
		case 256:
			p.width = value
		case 257:
			p.height = value
		case 284:
			planar = value == 2
		}
	}
	n := p.width * p.height
	for i := range n {
		k, step := 8+3*i, 1
		if planar {
			k, step = 8+i, n
		}
		p.pixels = append(p.pixels, [3]uint8{data[k], data[k+step], data[k+2*step]})
	}
	return p
}
