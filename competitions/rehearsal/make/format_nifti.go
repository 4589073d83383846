package main

import "encoding/binary"

// niftiOf is a NIfTI-1 file (.nii) of a volume of bytes: slice k of a column of
// bone holds the label k+1.
func niftiOf(width, height, depth int) []byte {
	header := make([]byte, 352)
	put16 := func(at int, v ...int) {
		for i, x := range v {
			binary.LittleEndian.PutUint16(header[at+2*i:], uint16(x)) //nolint:gosec // small numbers
		}
	}
	binary.LittleEndian.PutUint32(header, 348)
	put16(40, 3, width, height, depth, 1, 1, 1, 1)
	put16(70, 2, 8) // unsigned bytes
	for i := range 8 {
		binary.LittleEndian.PutUint32(header[76+4*i:], 0x3f800000) // voxels of 1 mm
	}
	binary.LittleEndian.PutUint32(header[108:], 0x43b00000) // the data begin at 352
	binary.LittleEndian.PutUint32(header[112:], 0x3f800000) // slope 1
	copy(header[344:], "n+1\x00")
	volume := make([]byte, width*height*depth)
	for i := range volume {
		if x, y := i%width, i/width%height; x > 1 && x < width-2 && y > 1 && y < height-2 {
			volume[i] = byte(1 + i/(width*height)) //nolint:gosec // at most 7
		}
	}
	return append(header, volume...)
}
