package main

import (
	"encoding/binary"
	"slices"
)

// colorMP4 is a color of a video: brightness, blueness and redness, 128 in the middle.
type colorMP4 [3]uint8

// bitsMP4 writes the bits of an H.264 unit, high ones first.
type bitsMP4 struct {
	data []byte
	used int
}

// put writes the low n bits of a value.
func (b *bitsMP4) put(v, n int) {
	for n--; n >= 0; n-- {
		if b.used%8 == 0 {
			b.data = append(b.data, 0)
		}
		b.data[b.used/8] |= byte(v>>n&1) << (7 - b.used%8)
		b.used++
	}
}

// golomb writes numbers in the Exp-Golomb code.
func (b *bitsMP4) golomb(values ...int) {
	for _, v := range values {
		n := 0
		for (v+1)>>(n+1) > 0 {
			n++
		}
		b.put(0, n)
		b.put(v+1, n+1)
	}
}

// end writes the last bit, and fills the last byte up.
func (b *bitsMP4) end() []byte {
	b.put(1, 1)
	return b.data
}

// mp4Of is an MP4 file with an H.264 video whose frames are not compressed. A frame has
// blocks of 16×16 pixels, width of them in each row, and each of one color.
func mp4Of(width, height, framesPerSecond int, frames [][]colorMP4) []byte {
	sequence := &bitsMP4{data: []byte{0x67, 66, 0, 30}, used: 32}
	sequence.golomb(0, 0, 2, 0)
	sequence.put(0, 1)
	sequence.golomb(width-1, height-1)
	sequence.put(0b1000, 4)
	picture := &bitsMP4{data: []byte{0x68}, used: 8}
	picture.golomb(0, 0)
	picture.put(0, 2)
	picture.golomb(0, 0, 0)
	picture.put(0, 3)
	picture.golomb(0, 0, 0)
	picture.put(0b100, 3)
	head := boxMP4("ftyp", []byte("isom"), wordsMP4(512), []byte("isomavc1mp41"))
	var samples, sizes []byte
	for i, f := range frames {
		slice := sliceMP4(i, f)
		samples = append(append(samples, wordsMP4(len(slice))...), slice...)
		sizes = append(sizes, wordsMP4(len(slice)+4)...)
	}
	first, second := sequence.end(), picture.end()
	config := slices.Concat([]byte{1, 66, 0, 30, 0xff, 0xe1, 0, byte(len(first))}, first, []byte{1, 0, byte(len(second))}, second)
	t := tableMP4{width: 16 * width, height: 16 * height, frames: len(frames), scale: framesPerSecond, start: len(head) + 8, config: config, sizes: sizes}
	return slices.Concat(head, boxMP4("mdat", samples), t.box())
}

// sliceMP4 is the unit of a frame: each of its blocks holds its 384 values as they are.
func sliceMP4(i int, blocks []colorMP4) []byte {
	b := &bitsMP4{data: []byte{0x65}, used: 8}
	b.golomb(0, 7, 0)
	b.put(0, 4)
	b.golomb(i % 2)
	b.put(0, 2)
	b.golomb(0, 1)
	for _, c := range blocks {
		b.golomb(25)
		b.used = 8 * len(b.data)
		for k, n := range []int{256, 64, 64} {
			b.data = append(b.data, slices.Repeat([]byte{max(16, c[k])}, n)...)
		}
		b.used = 8 * len(b.data)
	}
	return b.end()
}

// tableMP4 is the description of a video.
type tableMP4 struct {
	width, height, frames, scale, start int
	config, sizes                       []byte
}

func (t tableMP4) box() []byte {
	matrix := wordsMP4(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
	size := wordsMP4(t.width<<16 | t.height)
	entry := boxMP4("avc1", wordsMP4(0, 1, 0, 0, 0, 0), size, wordsMP4(0x480000, 0x480000, 0, 1<<16), make([]byte, 30), wordsMP4(0x18ffff), boxMP4("avcC", t.config))
	samples := boxMP4("stbl",
		boxMP4("stsd", wordsMP4(0, 1), entry), boxMP4("stts", wordsMP4(0, 1, t.frames, 1)), boxMP4("stsc", wordsMP4(0, 1, 1, t.frames, 1)),
		boxMP4("stsz", wordsMP4(0, 0, t.frames), t.sizes), boxMP4("stco", wordsMP4(0, 1, t.start)))
	media := boxMP4("mdia",
		boxMP4("mdhd", wordsMP4(0, 0, 0, t.scale, t.frames, 0x55c40000)), boxMP4("hdlr", wordsMP4(0, 0), []byte("vide"), wordsMP4(0, 0, 0), []byte{0}),
		boxMP4("minf", boxMP4("vmhd", wordsMP4(1, 0, 0)), boxMP4("dinf", boxMP4("dref", wordsMP4(0, 1), boxMP4("url ", wordsMP4(1)))), samples))
	track := boxMP4("trak", boxMP4("tkhd", wordsMP4(3, 0, 0, 1, 0, t.frames, 0, 0, 0, 0), matrix, wordsMP4(t.width<<16, t.height<<16)), media)
	return boxMP4("moov", boxMP4("mvhd", wordsMP4(0, 0, 0, t.scale, t.frames, 0x10000, 0x1000000, 0, 0), matrix, wordsMP4(0, 0, 0, 0, 0, 0, 2)), track)
}

func boxMP4(kind string, parts ...[]byte) []byte {
	content := slices.Concat(parts...)
	return slices.Concat(wordsMP4(len(content)+8), []byte(kind), content)
}

func wordsMP4(values ...int) (b []byte) {
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, uint32(v)) //nolint:gosec // 32 bits
	}
	return b
}
