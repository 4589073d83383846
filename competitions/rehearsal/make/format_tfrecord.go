package main

import (
	"encoding/binary"
	"hash/crc32"
)

// featureTF is a feature of a TensorFlow example: bytes, or an integer if there are none.
type featureTF struct {
	name    string
	bytes   []byte
	integer int
}

// recordTF returns a record of a .tfrec file: length and checksum, a tf.train.Example and
// its checksum.
func recordTF(features ...featureTF) []byte {
	var entries []byte
	for _, f := range features {
		var list []byte
		if f.bytes != nil {
			list = fieldTF(1, fieldTF(1, f.bytes))
		} else {
			list = fieldTF(3, fieldTF(1, binary.AppendUvarint(nil, uint64(f.integer)))) //nolint:gosec // negative ones too, of ten bytes
		}
		entries = append(entries, fieldTF(1, append(fieldTF(1, []byte(f.name)), fieldTF(2, list)...))...)
	}
	example := fieldTF(1, entries)
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(example)))
	out = binary.LittleEndian.AppendUint32(out, checksumTF(out))
	out = append(out, example...)
	return binary.LittleEndian.AppendUint32(out, checksumTF(example))
}

// fieldTF is a field of a protocol buffer with a length.
func fieldTF(number byte, content []byte) []byte {
	return append(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(content))), content...)
}

// checksumTF is the CRC-32C, rotated and shifted as TensorFlow does.
func checksumTF(data []byte) uint32 {
	c := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return (c>>15 | c<<17) + 0xa282ead8
}
