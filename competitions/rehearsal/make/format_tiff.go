package main

import (
	"encoding/binary"
	"slices"
)

// tiff is a picture that is not compressed: RGB of 8 bits, the colors of a pixel together,
// or gray of 16 bits.
type tiff struct {
	width, height, bits int
	pixels              []byte
}

// samples is the number of values of a pixel.
func (p tiff) samples() int {
	if p.bits == 8 {
		return 3
	}
	return 1
}

// layoutTIFF says where the parts of a TIFF file are.
type layoutTIFF struct {
	// last writes the directory behind the pixels, with numbers of 32 bits alone.
	last bool
	// planar writes a strip for each color.
	planar bool
}

// fieldTIFF is an entry of a TIFF file's directory. The type is 3 for numbers of 16 bits
// and 4 for those of 32.
type fieldTIFF struct {
	tag, kind uint16
	values    []int
}

// append writes the values.
func (f fieldTIFF) append(b []byte) []byte {
	for _, v := range f.values {
		if f.kind == 3 {
			b = binary.LittleEndian.AppendUint16(b, uint16(v)) //nolint:gosec // a small picture
		} else {
			b = binary.LittleEndian.AppendUint32(b, uint32(v)) //nolint:gosec // a small picture
		}
	}
	return b
}

// fields are the directory of a file whose pixels begin at an offset.
func (p tiff) fields(layout layoutTIFF, at int) []fieldTIFF {
	short, planes, photometric, order := uint16(3), 1, 1, 1
	if layout.last {
		short = 4
	}
	if p.samples() == 3 {
		photometric = 2
	}
	if layout.planar {
		planes, order = 3, 2
	}
	var offsets, sizes []int
	for i := range planes {
		offsets, sizes = append(offsets, at+i*len(p.pixels)/planes), append(sizes, len(p.pixels)/planes)
	}
	return []fieldTIFF{
		{256, short, []int{p.width}}, {257, short, []int{p.height}}, {258, short, slices.Repeat([]int{p.bits}, p.samples())}, {259, short, []int{1}},
		{262, short, []int{photometric}}, {273, 4, offsets}, {277, short, []int{p.samples()}}, {278, short, []int{p.height}}, {279, 4, sizes}, {284, short, []int{order}},
	}
}

// directory writes the fields as a directory at an offset, with their longer values behind
// it.
func directoryTIFF(fields []fieldTIFF, at int) []byte {
	table, more := []byte{byte(len(fields)), 0}, []byte{} //nolint:gosec // ten
	end := at + 2 + 12*len(fields) + 4
	for _, f := range fields {
		value := f.append(nil)
		if len(value) > 4 {
			value, more = binary.LittleEndian.AppendUint32(nil, uint32(end+len(more))), append(more, value...) //nolint:gosec // a small picture
		}
		table = append(table, byte(f.tag), byte(f.tag>>8), byte(f.kind), 0)    //nolint:gosec // the same bits
		table = binary.LittleEndian.AppendUint32(table, uint32(len(f.values))) //nolint:gosec // three at most
		table = append(append(table, value...), make([]byte, 4-len(value))...)
	}
	return slices.Concat(table, make([]byte, 4), more)
}

// file returns the picture as a TIFF file.
func (p tiff) file(layout layoutTIFF) []byte {
	const head = 8
	if !layout.last {
		size := len(directoryTIFF(p.fields(layout, 0), head))
		return slices.Concat([]byte("II*\x00\x08\x00\x00\x00"), directoryTIFF(p.fields(layout, head+size), head), p.pixels)
	}
	data := slices.Clone(p.pixels)
	if n := len(p.pixels) / 3; layout.planar {
		for i, v := range p.pixels {
			data[i%3*n+i/3] = v
		}
	}
	data = append(data, make([]byte, len(data)%2)...)
	at := binary.LittleEndian.AppendUint32([]byte("II*\x00"), uint32(head+len(data))) //nolint:gosec // a small picture
	return slices.Concat(at, data, directoryTIFF(p.fields(layout, head), head+len(data)))
}

// readTIFF returns the picture of a file that tiff.file wrote.
func readTIFF(data []byte) tiff {
	number := func(at int) int { return int(binary.LittleEndian.Uint32(data[at:])) }
	at, p, planar, start := number(4), tiff{bits: 16}, false, 0
	for field := at + 2; field < at+2+12*int(data[at]); field += 12 {
		value := number(field + 8)
		switch binary.LittleEndian.Uint16(data[field:]) {
		case 256:
			p.width = value
		case 257:
			p.height = value
		case 273:
			if start = value; number(field+4) > 1 {
				start = number(value)
			}
		case 277:
			p.bits = map[int]int{1: 16, 3: 8}[value]
		case 284:
			planar = value == 2
		}
	}
	n := p.width * p.height
	p.pixels = slices.Clone(data[start : start+n*p.samples()*p.bits/8])
	if planar {
		for i := range p.pixels {
			p.pixels[i] = data[start+i%3*n+i/3]
		}
	}
	return p
}
