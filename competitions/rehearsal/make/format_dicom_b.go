package main

import (
	"bytes"
	"encoding/binary"
)

// tagB is an element of a DICOM file: group, element, type and value.
type tagB struct {
	group, element uint16
	kind           string
	value          any
}

// pixelsB is the tag of the pixels.
const pixelsB = "\xe0\x7f\x10\x00"

// dicomB is a DICOM file in explicit little-endian form, whose pixels have 16 bits. The
// class is that of digital mammography, for presentation.
func dicomB(instance string, width, height int, pixels []uint16, extra ...tagB) []byte {
	const class = "1.2.840.10008.5.1.4.1.1.1.2"
	meta := elementsB(
		tagB{2, 1, "OB", []byte{0, 1}},
		tagB{2, 2, "UI", class},
		tagB{2, 3, "UI", instance},
		tagB{2, 0x10, "UI", "1.2.840.10008.1.2.1"},
	)
	file := append(make([]byte, 128), "DICM"...)
	file = append(file, elementsB(tagB{2, 0, "UL", uint32(len(meta))})...) //nolint:gosec // about 100 bytes
	file = append(file, meta...)
	file = append(file, elementsB(tagB{8, 0x16, "UI", class}, tagB{8, 0x18, "UI", instance}, tagB{8, 0x60, "CS", "MG"})...)
	file = append(file, elementsB(extra...)...)
	return append(file, elementsB(
		tagB{0x28, 2, "US", uint16(1)},
		tagB{0x28, 4, "CS", "MONOCHROME2"},
		tagB{0x28, 0x10, "US", uint16(height)}, //nolint:gosec // small
		tagB{0x28, 0x11, "US", uint16(width)},  //nolint:gosec // small
		tagB{0x28, 0x100, "US", uint16(16)},
		tagB{0x28, 0x101, "US", uint16(12)},
		tagB{0x28, 0x102, "US", uint16(11)},
		tagB{0x28, 0x103, "US", uint16(0)},
		tagB{0x7fe0, 0x10, "OW", pixels},
	)...)
}

func elementsB(tags ...tagB) []byte {
	var b bytes.Buffer
	put := func(v any) { must(binary.Write(&b, binary.LittleEndian, v)) }
	for _, t := range tags {
		var value bytes.Buffer
		if text, ok := t.value.(string); ok {
			value.WriteString(text)
		} else {
			must(binary.Write(&value, binary.LittleEndian, t.value))
		}
		if value.Len()%2 == 1 {
			pad := byte(' ')
			if t.kind == "UI" || t.kind == "OB" {
				pad = 0
			}
			value.WriteByte(pad)
		}
		put([]uint16{t.group, t.element})
		b.WriteString(t.kind)
		if t.kind == "OB" || t.kind == "OW" {
			put(uint16(0))
			put(uint32(value.Len())) //nolint:gosec // a few kilobytes
		} else {
			put(uint16(value.Len())) //nolint:gosec // short
		}
		b.Write(value.Bytes())
	}
	return b.Bytes()
}

// pixelsOfB returns the pixels of a file that dicomB wrote: its last element.
func pixelsOfB(file []byte) []float64 {
	at := bytes.LastIndex(file, []byte(pixelsB+"OW\x00\x00"))
	data := file[at+12:]
	pixels := make([]float64, len(data)/2)
	for i := range pixels {
		pixels[i] = float64(binary.LittleEndian.Uint16(data[2*i:]))
	}
	return pixels
}
