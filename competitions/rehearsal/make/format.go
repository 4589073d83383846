package main

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
)

// picture draws an RGB image of one color with noise: the mean of a channel is what a
// model can learn from.
func (s *set) picture(width, height int, c color.RGBA, noise float64) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			n := s.normal(0, noise)
			img.SetRGBA(x, y, color.RGBA{clip(float64(c.R) + n), clip(float64(c.G) + n), clip(float64(c.B) + n), 255})
		}
	}
	return img
}

// gray draws a gray image whose pixels a function gives.
func gray(width, height int, at func(x, y int) float64) *image.Gray {
	img := image.NewGray(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.SetGray(x, y, color.Gray{clip(at(x, y))})
		}
	}
	return img
}

func clip(v float64) uint8 { return uint8(min(255, max(0, math.Round(v)))) }

func jpegOf(img image.Image) []byte {
	var b bytes.Buffer
	must(jpeg.Encode(&b, img, &jpeg.Options{Quality: 70}))
	return b.Bytes()
}

func pngOf(img image.Image) []byte {
	var b bytes.Buffer
	must((&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, img))
	return b.Bytes()
}

// colors returns the mean red, green and blue of an encoded JPEG or PNG, from 0 to 255.
func colors(data []byte) []float64 {
	img, _, err := image.Decode(bytes.NewReader(data))
	must(err)
	sum, n := make([]float64, 3), 0.0
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, _ := img.At(x, y).RGBA()
			sum[0] += float64(r >> 8)
			sum[1] += float64(g >> 8)
			sum[2] += float64(bl >> 8)
			n++
		}
	}
	for i := range sum {
		sum[i] /= n
	}
	return sum
}

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
