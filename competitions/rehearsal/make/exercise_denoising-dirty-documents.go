package main

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"io/fs"
	"math"
	"strconv"
	"strings"
)

// pageDenoising draws lines of letters, black on white, and the same page with stains, a
// shadow and noise.
func pageDenoising(s *set, glyphs [][15]bool, height int) (dirty, cleaned []byte) {
	const width = 36
	ink := make([]float64, width*height)
	for top := 2; top+5 <= height; top += 8 {
		for left := 2; left+3 <= width-s.IntN(8); left += 4 {
			if s.IntN(6) == 0 {
				continue
			}
			for k, black := range glyphs[s.IntN(len(glyphs))] {
				if black {
					ink[(top+k/3)*width+left+k%3] = 255 - 85*float64(s.weighted(5, 1))
				}
			}
		}
	}
	x0, y0, r := s.between(0, width), s.between(0, float64(height)), s.between(4, 12)
	paper, depth, shade := s.between(195, 225), s.between(30, 60), s.between(-0.8, 0.8)
	clean := gray(width, height, func(x, y int) float64 { return 255 - ink[y*width+x] })
	stained := gray(width, height, func(x, y int) float64 {
		v := paper + shade*float64(x-width/2)
		if math.Abs(math.Hypot(float64(x)-x0, float64(y)-y0)-r) < 2 {
			v -= depth
		}
		return math.Round((v-0.65*ink[y*width+x]+s.normal(0, 5))/4) * 4
	})
	return pngOf(stained), pngOf(clean)
}

// drawDenoising draws pages of letters: the cleaned grey value depends on how much darker
// a pixel is than those around it.
func drawDenoising(s *set) {
	glyphs := make([][15]bool, 12)
	for i := range glyphs {
		for k := range glyphs[i] {
			glyphs[i][k] = s.IntN(2) == 0
		}
	}
	train, cleaned, test, samples := s.part(), s.part(), s.part(), s.part()
	var sample [][]string
	for n := 1; n <= 48; n++ {
		height := 17 + 8*s.IntN(2)
		dirty, clean := pageDenoising(s, glyphs, height)
		name := itoa(n) + ".png"
		switch {
		case n%3 != 1:
			train.file("train/"+name, dirty)
			cleaned.file("train_cleaned/"+name, clean)
		case n < 10:
			test.file("test/"+name, dirty)
			for i := range 36 * height {
				sample = append(sample, []string{fmt.Sprintf("%d_%d_%d", n, i/36+1, i%36+1), "1"})
			}
		}
	}
	samples.csv("sampleSubmission.csv", []string{"id", "value"}, sample)
	s.zip("train.zip", train)
	s.zip("train_cleaned.zip", cleaned)
	s.zip("test.zip", test)
	s.zip("sampleSubmission.csv.zip", samples)
}

// pixelsDenoising returns a page, and for each pixel by row and column: how bright it is
// in comparison with the brightest around it, and the powers of that.
func pixelsDenoising(data []byte) (img image.Image, x [][]float64) {
	img, err := png.Decode(bytes.NewReader(data))
	must(err)
	b := img.Bounds()
	at := func(x, y int) float64 {
		v, _, _, _ := img.At(x, y).RGBA()
		return float64(v) / 65535
	}
	for y := range b.Dy() {
		for x0 := range b.Dx() {
			top := 0.0
			for dy := max(0, y-2); dy <= min(b.Dy()-1, y+2); dy++ {
				for dx := max(0, x0-2); dx <= min(b.Dx()-1, x0+2); dx++ {
					top = max(top, at(dx, dy))
				}
			}
			v := at(x0, y)
			x = append(x, []float64{v, v - top, (v - top) * (v - top), math.Pow(v-top, 3)})
		}
	}
	return img, x
}

// learnDenoising is a ridge regression of pixels.
func learnDenoising(l *lesson) {
	names, err := fs.Glob(l.public, "train/*.png")
	must(err)
	var x [][]float64
	var y []float64
	for _, name := range names {
		_, dirty := pixelsDenoising(l.file(name))
		_, clean := pixelsDenoising(l.file("train_cleaned/" + strings.TrimPrefix(name, "train/")))
		x = append(x, dirty...)
		for _, features := range clean {
			y = append(y, features[0])
		}
	}
	model := fitLinear(x, y)
	type page struct {
		width    int
		features [][]float64
	}
	pages := map[string]page{}
	l.submitLike("sampleSubmission.csv", []string{"value"}, func(r *rows, i int) []string {
		id := strings.Split(r.get(i, "id"), "_")
		p, ok := pages[id[0]]
		if !ok {
			img, features := pixelsDenoising(l.file("test/" + id[0] + ".png"))
			p = page{img.Bounds().Dx(), features}
			pages[id[0]] = p
		}
		row, err := strconv.Atoi(id[1])
		must(err)
		column, err := strconv.Atoi(id[2])
		must(err)
		return []string{ftoa(min(1, max(0, model.predict(p.features[(row-1)*p.width+column-1]))), 4)}
	})
}
