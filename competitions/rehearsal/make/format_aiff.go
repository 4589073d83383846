package main

import (
	"encoding/binary"
	"slices"
)

// aiffOf is a mono AIFF file of 16-bit samples, at a rate from 1024 to 2047.
func aiffOf(rate int, samples []int16) []byte {
	u32 := func(v int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(v)) } //nolint:gosec // small
	var sound []byte
	for _, v := range samples {
		sound = binary.BigEndian.AppendUint16(sound, uint16(v)) //nolint:gosec // the same bits
	}
	// The rate is a number of 80 bits, here 1.x times 2 to the power of 10.
	extended := slices.Concat([]byte{0x40, 0x09}, u32(rate<<21), u32(0))
	common := slices.Concat([]byte("COMM"), u32(18), []byte{0, 1}, u32(len(samples)), []byte{0, 16}, extended)
	data := slices.Concat([]byte("SSND"), u32(8+len(sound)), u32(0), u32(0), sound)
	return slices.Concat([]byte("FORM"), u32(4+len(common)+len(data)), []byte("AIFF"), common, data)
}

// aiffSamples returns the samples of a file that aiffOf wrote.
func aiffSamples(data []byte) (samples []int16) {
	for at := 54; at < len(data); at += 2 {
		samples = append(samples, int16(binary.BigEndian.Uint16(data[at:]))) //nolint:gosec // the same bits
	}
	return samples
}
