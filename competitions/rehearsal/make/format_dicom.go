package main

import (
	"encoding/binary"
	"slices"
	"strings"
)

// dicom is a gray picture of 12 bits. An inverted one has levels from white to black.
type dicom struct {
	class, instance, modality string
	width, height             int
	inverted                  bool
	pixels                    []uint16
	// about are elements between the modality and the picture.
	about []element
}

// element is a data element of a DICOM file.
type element struct {
	group, number uint16
	kind, value   string
}

// file returns the picture as a DICOM file: explicit types, little endian, not
// compressed.
func (d dicom) file() []byte {
	short := func(v int) string { return string(binary.LittleEndian.AppendUint16(nil, uint16(v))) } //nolint:gosec // 16 bits
	var data []byte
	for _, p := range d.pixels {
		data = binary.LittleEndian.AppendUint16(data, p)
	}
	photometric := "MONOCHROME2"
	if d.inverted {
		photometric = "MONOCHROME1"
	}
	meta := encode([]element{
		{2, 1, "OB", "\x00\x01"}, {2, 2, "UI", d.class}, {2, 3, "UI", d.instance}, {2, 0x10, "UI", "1.2.840.10008.1.2.1"},
	})
	length := string(binary.LittleEndian.AppendUint32(nil, uint32(len(meta)))) //nolint:gosec // a few hundred bytes
	return slices.Concat(
		make([]byte, 128), []byte("DICM"), encode([]element{{2, 0, "UL", length}}), meta,
		encode([]element{{8, 0x16, "UI", d.class}, {8, 0x18, "UI", d.instance}, {8, 0x60, "CS", d.modality}}), encode(d.about),
		encode([]element{
			{0x28, 2, "US", short(1)}, {0x28, 4, "CS", photometric}, {0x28, 0x10, "US", short(d.height)}, {0x28, 0x11, "US", short(d.width)},
			{0x28, 0x100, "US", short(16)}, {0x28, 0x101, "US", short(12)}, {0x28, 0x102, "US", short(11)}, {0x28, 0x103, "US", short(0)},
			{0x7fe0, 0x10, "OW", string(data)},
		}),
	)
}

// encode writes elements with their types. A value of odd length is filled up.
func encode(elements []element) (b []byte) {
	for _, e := range elements {
		value := e.value
		if len(value)%2 == 1 {
			value += map[bool]string{true: "\x00", false: " "}[e.kind == "UI"]
		}
		b = binary.LittleEndian.AppendUint16(b, e.group)
		b = binary.LittleEndian.AppendUint16(b, e.number)
		b = append(b, e.kind...)
		if e.kind == "OB" || e.kind == "OW" {
			b = append(b, 0, 0)
			b = binary.LittleEndian.AppendUint32(b, uint32(len(value))) //nolint:gosec // a small picture
		} else {
			b = binary.LittleEndian.AppendUint16(b, uint16(len(value))) //nolint:gosec // a short string
		}
		b = append(b, value...)
	}
	return b
}

// readDICOM returns the picture of a file that dicom.file wrote.
func readDICOM(data []byte) (d dicom) {
	for at := 132; at < len(data); {
		group, number := binary.LittleEndian.Uint16(data[at:]), binary.LittleEndian.Uint16(data[at+2:])
		n, start := int(binary.LittleEndian.Uint16(data[at+6:])), at+8
		if kind := string(data[at+4 : at+6]); kind == "OB" || kind == "OW" {
			n, start = int(binary.LittleEndian.Uint32(data[at+8:])), at+12
		}
		value := data[start : start+n]
		switch {
		case group == 0x28 && number == 4:
			d.inverted = strings.TrimSpace(string(value)) == "MONOCHROME1"
		case group == 0x28 && number == 0x11:
			d.width = int(binary.LittleEndian.Uint16(value))
		case group == 0x7fe0:
			for k := 0; k < n; k += 2 {
				d.pixels = append(d.pixels, binary.LittleEndian.Uint16(value[k:]))
			}
		}
		at = start + n
	}
	return d
}
