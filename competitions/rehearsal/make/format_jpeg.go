package main

import (
	"bytes"
	"image"
	"image/jpeg"
)

func jpegOf(img image.Image) []byte {
	var b bytes.Buffer
	must(jpeg.Encode(&b, img, &jpeg.Options{Quality: 70}))
	return b.Bytes()
}
