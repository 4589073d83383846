package main

import (
	"bytes"
	"encoding/binary"
)

// wavOf is a mono WAV file of 16-bit samples.
func wavOf(rate int, samples []int16) []byte {
	var b bytes.Buffer
	size := uint32(2 * len(samples)) //nolint:gosec // a few thousand samples
	b.WriteString("RIFF")
	for _, v := range []any{36 + size, []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1), uint32(rate), uint32(2 * rate), uint16(2), uint16(16), []byte("data"), size, samples} { //nolint:gosec // a sampling rate
		must(binary.Write(&b, binary.LittleEndian, v))
	}
	return b.Bytes()
}

// wavSamples returns the samples of a file that wavOf wrote.
func wavSamples(data []byte) []int16 {
	samples := make([]int16, (len(data)-44)/2)
	must(binary.Read(bytes.NewReader(data[44:]), binary.LittleEndian, samples))
	return samples
}
