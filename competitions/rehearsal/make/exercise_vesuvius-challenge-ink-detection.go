package main

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"
	"strings"
)

const (
	slicesVesuvius = 65
	bandVesuvius   = 5 // slices that the model takes together
)

// drawVesuvius draws scans of five fragments in 65 slices of 16 bits: ink is mostly brighter
// than papyrus in a few slices at the surface, and dark in the infrared picture. Two
// fragments have no labels.
func drawVesuvius(s *set) {
	s.fragmentVesuvius("train/1/", "1", 48, 56)
	s.fragmentVesuvius("train/2/", "2", 40, 64)
	s.fragmentVesuvius("train/3/", "3", 40, 44)
	s.fragmentVesuvius("test/a/", "", 24, 30)
	s.fragmentVesuvius("test/b/", "", 32, 20)
	s.csv("sample_submission.csv", []string{"Id", "Predicted"}, [][]string{{"a", "1 1 5 1"}, {"b", "1 1 5 1"}})
}

func (s *set) fragmentVesuvius(folder, id string, width, height int) {
	inside := func(x, y int) bool { return x+y > width/4 && x+height-y > width/5 && x < width-2 }
	ink := make([]bool, width*height)
	for range 4 {
		x, y, angle := s.between(8, float64(width)-8), s.between(8, float64(height)-8), s.between(0, math.Pi)
		for k := -7.0; k <= 7; k += 0.5 {
			for dx := -1; dx <= 1; dx++ {
				for dy := -1; dy <= 1; dy++ {
					px, py := int(x+k*math.Cos(angle))+dx, int(y+k*math.Sin(angle))+dy
					if px >= 0 && py >= 0 && px < width && py < height && inside(px, py) {
						ink[py*width+px] = true
					}
				}
			}
		}
	}
	texture, shown := make([]int, width*height), make([]bool, width*height)
	for k := range texture {
		texture[k] = s.weighted(8, 2, 1)
		shown[k] = ink[k] == (s.Float64() < 0.96)
	}
	for z := range slicesVesuvius {
		var pixels []byte
		for k := range texture {
			v := 0
			if inside(k%width, k/width) {
				v = 34
				if z >= 20 && z < 45 {
					v = 110 + 6*texture[k]
				}
				if z >= 28 && z < 36 && shown[k] {
					v += 8
				}
				if s.Float64() < 0.02 {
					v += 10
				}
			}
			pixels = append(pixels, 0, byte(v))
		}
		s.file(fmt.Sprintf("%ssurface_volume/%02d.tif", folder, z), tiff{width, height, 16, pixels}.file(layoutTIFF{}))
	}
	at := func(yes func(k int) bool, light float64) image.Image {
		return gray(width, height, func(x, y int) float64 {
			if yes(y*width + x) {
				return light
			}
			return 0
		})
	}
	s.file(folder+"mask.png", pngOf(at(func(k int) bool { return inside(k%width, k/width) }, 255)))
	if id == "" {
		return
	}
	s.file(folder+"inklabels.png", pngOf(at(func(k int) bool { return ink[k] }, 255)))
	s.file(folder+"ir.png", pngOf(at(func(k int) bool { return inside(k%width, k/width) && !ink[k] }, 140)))
	s.csv(folder+"inklabels_rle.csv", []string{"Id", "Predicted"}, [][]string{{id, strings.Join(runLengths(ink), " ")}})
}

// maskVesuvius reads a black and white picture.
func maskVesuvius(data []byte) (mask []bool) {
	img, err := png.Decode(bytes.NewReader(data))
	must(err)
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, _, _, _ := img.At(x, y).RGBA()
			mask = append(mask, r > 0x7fff)
		}
	}
	return mask
}

// bandsVesuvius returns the features of the pixels of a fragment: sums over a few slices.
func (l *lesson) bandsVesuvius(folder string) (x [][]float64) {
	for z := range slicesVesuvius {
		pixels := readTIFF(l.file(fmt.Sprintf("%ssurface_volume/%02d.tif", folder, z))).pixels
		for k := range len(pixels) / 2 {
			if z == 0 {
				x = append(x, make([]float64, slicesVesuvius/bandVesuvius))
			}
			x[k][z/bandVesuvius] += (float64(pixels[2*k]) + 256*float64(pixels[2*k+1])) / 65536
		}
	}
	return x
}

// learnVesuvius fits a linear model of the pixels inside the masks, and the limit that has
// the best score there.
func learnVesuvius(l *lesson) {
	var x [][]float64
	var y []float64
	for _, folder := range []string{"train/1/", "train/2/"} {
		mask, ink := maskVesuvius(l.file(folder+"mask.png")), maskVesuvius(l.file(folder+"inklabels.png"))
		for k, features := range l.bandsVesuvius(folder) {
			if mask[k] {
				x = append(x, features)
				y = append(y, map[bool]float64{true: 1}[ink[k]])
			}
		}
	}
	model := fitLinear(x, y)
	best, limit := -1.0, 0.5
	for try := 0.1; try < 1; try += 0.05 {
		hits, marked, all := 0.0, 0.0, 0.0
		for k, features := range x {
			all += y[k]
			if model.predict(features) > try {
				marked++
				hits += y[k]
			}
		}
		if score := 1.25 * hits / (0.25*all + marked); score > best {
			best, limit = score, try
		}
	}
	mask := maskVesuvius(l.file("test/a/mask.png"))
	for k, features := range l.bandsVesuvius("test/a/") {
		mask[k] = mask[k] && model.predict(features) > limit
	}
	l.submit([]string{"Id", "Predicted"}, [][]string{{"a", strings.Join(runLengths(mask), " ")}})
}
