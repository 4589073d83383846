package main

import (
	"bytes"
	"image"
	"image/png"
)

func pngOf(img image.Image) []byte {
	var b bytes.Buffer
	must((&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, img))
	return b.Bytes()
}
