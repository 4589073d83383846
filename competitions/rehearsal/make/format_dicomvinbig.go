package main

import (
	"encoding/binary"
	"slices"
	"strings"
)

// elementVinbig is a data element of a DICOM file.
type elementVinbig struct {
	group, element uint16
	kind, value    string
}

// dicomVinbig is a DICOM file of 12-bit gray pixels: explicit types, little endian, not
// compressed. The levels of an inverted one rise from white to black.
func dicomVinbig(width, height int, inverted bool, pixels []uint16) []byte {
	short := func(v int) string { return string(binary.LittleEndian.AppendUint16(nil, uint16(v))) } //nolint:gosec // 16 bits
	var data []byte
	for _, p := range pixels {
		data = binary.LittleEndian.AppendUint16(data, p)
	}
	photometric := "MONOCHROME2"
	if inverted {
		photometric = "MONOCHROME1"
	}
	meta := encodeVinbig([]elementVinbig{
		{2, 1, "OB", "\x00\x01"}, {2, 2, "UI", "1.2.840.10008.5.1.4.1.1.1.1"}, {2, 3, "UI", "1.2.826.0.1.1"},
		{2, 0x10, "UI", "1.2.840.10008.1.2.1"}, {2, 0x12, "UI", "1.2.826.0.1"},
	})
	length := string(binary.LittleEndian.AppendUint32(nil, uint32(len(meta)))) //nolint:gosec // a few hundred bytes
	return slices.Concat(
		make([]byte, 128), []byte("DICM"), encodeVinbig([]elementVinbig{{2, 0, "UL", length}}), meta,
		encodeVinbig([]elementVinbig{
			{8, 0x16, "UI", "1.2.840.10008.5.1.4.1.1.1.1"}, {8, 0x18, "UI", "1.2.826.0.1.1"}, {8, 0x60, "CS", "DX"},
			{0x28, 2, "US", short(1)}, {0x28, 4, "CS", photometric}, {0x28, 0x10, "US", short(height)}, {0x28, 0x11, "US", short(width)},
			{0x28, 0x30, "DS", "0.139\\0.139"}, {0x28, 0x100, "US", short(16)}, {0x28, 0x101, "US", short(12)},
			{0x28, 0x102, "US", short(11)}, {0x28, 0x103, "US", short(0)}, {0x7fe0, 0x10, "OW", string(data)},
		}),
	)
}

// encodeVinbig writes elements with their types; a value of odd length is filled up.
func encodeVinbig(elements []elementVinbig) (b []byte) {
	for _, e := range elements {
		value := e.value
		if len(value)%2 == 1 {
			value += map[bool]string{true: "\x00", false: " "}[e.kind == "UI"]
		}
		b = binary.LittleEndian.AppendUint16(b, e.group)
		b = binary.LittleEndian.AppendUint16(b, e.element)
		b = append(b, e.kind...)
		if e.kind == "OB" || e.kind == "OW" {
			b = append(b, 0, 0)
			b = binary.LittleEndian.AppendUint32(b, uint32(len(value))) //nolint:gosec // a small picture
		} else {
			b = binary.LittleEndian.AppendUint16(b, uint16(len(value))) //nolint:gosec // a short text
		}
		b = append(b, value...)
	}
	return b
}

// dicomReadVinbig returns the pixels of a file that dicomVinbig wrote.
func dicomReadVinbig(data []byte) (width int, inverted bool, pixels []uint16) {
	for at := 132; at < len(data); {
		group, element := binary.LittleEndian.Uint16(data[at:]), binary.LittleEndian.Uint16(data[at+2:])
		n, start := int(binary.LittleEndian.Uint16(data[at+6:])), at+8
		if kind := string(data[at+4 : at+6]); kind == "OB" || kind == "OW" {
			n, start = int(binary.LittleEndian.Uint32(data[at+8:])), at+12
		}
		value := data[start : start+n]
		switch {
		case group == 0x28 && element == 4:
			inverted = strings.TrimSpace(string(value)) == "MONOCHROME1"
		case group == 0x28 && element == 0x11:
			width = int(binary.LittleEndian.Uint16(value))
		case group == 0x7fe0:
			for k := 0; k < n; k += 2 {
				pixels = append(pixels, binary.LittleEndian.Uint16(value[k:]))
			}
		}
		at = start + n
	}
	return width, inverted, pixels
}
