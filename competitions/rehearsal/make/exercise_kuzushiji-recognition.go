package main

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"slices"
	"strconv"
	"strings"
)

// glyphKuzushiji is a character, and how it looks on the pages: a dark box.
type glyphKuzushiji struct {
	code, char          string
	tone, width, height int
}

var glyphsKuzushiji = []glyphKuzushiji{
	{"U+306E", "の", 15, 10, 9},
	{"U+306B", "に", 35, 9, 12},
	{"U+3057", "し", 55, 7, 13},
	{"U+3066", "て", 75, 11, 11},
	{"U+4E00", "一", 95, 12, 7},
	{"U+5927", "大", 115, 12, 12},
}

// drawKuzushiji draws pages of up to twelve characters: each character has a darkness and
// a size of its box. Two pages have none and no labels.
func drawKuzushiji(s *set) {
	var labels, sample, names [][]string
	train, test := s.part(), s.part()
	for i := range 38 {
		id := s.one("umgy00", "hnsd00", "brsk00") + itoa(1+s.IntN(9)) + "-" + itoa(1000 + i)[1:]
		if i%3 == 0 {
			id = "10024170" + itoa(s.IntN(10)) + "_" + itoa(10000 + i)[1:] + "_" + itoa(1+i%2)
		}
		page, boxes := s.pageKuzushiji(i == 3 || i == 5)
		train.file(id+".jpg", page)
		labels = append(labels, []string{id, boxes})
	}
	for i := range 5 {
		id := "test_" + s.hex(8)
		page, _ := s.pageKuzushiji(i == 4)
		test.file(id+".jpg", page)
		sample = append(sample, []string{id, "U+003F 1 1 U+FF2F 2 2"})
	}
	for _, g := range glyphsKuzushiji {
		names = append(names, []string{g.code, g.char})
	}
	s.csv("train.csv", []string{"image_id", "labels"}, labels)
	s.csv("sample_submission.csv", []string{"image_id", "labels"}, sample)
	s.csv("unicode_translation.csv", []string{"Unicode", "char"}, names)
	s.zip("train_images.zip", train)
	s.zip("test_images.zip", test)
}

// pageKuzushiji draws a page, and its labels.
func (s *set) pageKuzushiji(empty bool) (page []byte, labels string) {
	img := s.picture(52, 68, color.RGBA{210, 200, 180, 255}, 0.7)
	var words []string
	for cell := range 12 {
		if empty || cell > 1 && s.Float64() < 0.35 {
			continue
		}
		g := glyphsKuzushiji[s.weighted(6, 5, 4, 3, 2, 2)]
		x, y := 36-16*(cell/4)+s.IntN(3), 2+16*(cell%4)+s.IntN(3)
		for dy := range g.height {
			for dx := range g.width {
				tone := float64(g.tone) + s.normal(0, 2)
				img.SetRGBA(x+dx, y+dy, color.RGBA{clip(tone), clip(tone), clip(tone), 255})
			}
		}
		words = append(words, g.code, itoa(x), itoa(y), itoa(g.width), itoa(g.height))
	}
	return jpegOf(img), strings.Join(words, " ")
}

// learnKuzushiji finds connected dark spots, and classifies them by tone and size.
func learnKuzushiji(l *lesson) {
	train := l.rows("train.csv")
	var ink, paper []float64
	for i := range train.len() {
		page := pixelsKuzushiji(l.member("train_images.zip", train.get(i, "image_id")+".jpg"))
		for _, b := range boxesKuzushiji(train.get(i, "labels")) {
			ink = append(ink, page.mean(b.Rectangle))
		}
		paper = append(paper, page.mean(image.Rect(0, 0, page.width, 2)))
	}
	limit := (slices.Max(ink) + mean(paper)) / 2
	var x [][]float64
	var y []string
	for i := range train.len() {
		page := pixelsKuzushiji(l.member("train_images.zip", train.get(i, "image_id")+".jpg"))
		spots := page.spots(limit)
		for _, b := range boxesKuzushiji(train.get(i, "labels")) {
			for _, spot := range spots {
				if centerKuzushiji(spot).In(b.Rectangle) {
					x = append(x, page.features(spot))
					y = append(y, b.code)
				}
			}
		}
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", []string{"labels"}, func(r *rows, i int) []string {
		page := pixelsKuzushiji(l.member("test_images.zip", r.get(i, "image_id")+".jpg"))
		var words []string
		for _, spot := range page.spots(limit) {
			at := centerKuzushiji(spot)
			words = append(words, model.class(page.features(spot)), itoa(at.X), itoa(at.Y))
		}
		return []string{strings.Join(words, " ")}
	})
}

// boxKuzushiji is a labelled character.
type boxKuzushiji struct {
	image.Rectangle
	code string
}

func boxesKuzushiji(labels string) (boxes []boxKuzushiji) {
	for w := strings.Fields(labels); len(w) >= 5; w = w[5:] {
		var v [4]int
		for k := range v {
			n, err := strconv.Atoi(w[1+k])
			must(err)
			v[k] = n
		}
		boxes = append(boxes, boxKuzushiji{image.Rect(v[0], v[1], v[0]+v[2], v[1]+v[3]), w[0]})
	}
	return boxes
}

func centerKuzushiji(r image.Rectangle) image.Point { return r.Min.Add(r.Max).Div(2) }

// pageKuzushiji is the brightness of the pixels of a page.
type pageKuzushiji struct {
	width, height int
	at            []float64
}

func pixelsKuzushiji(data []byte) pageKuzushiji {
	img, err := jpeg.Decode(bytes.NewReader(data))
	must(err)
	p := pageKuzushiji{width: img.Bounds().Dx(), height: img.Bounds().Dy()}
	for y := range p.height {
		for x := range p.width {
			_, g, _, _ := img.At(x, y).RGBA()
			p.at = append(p.at, float64(g>>8))
		}
	}
	return p
}

func (p pageKuzushiji) mean(r image.Rectangle) float64 {
	sum := 0.0
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			sum += p.at[y*p.width+x]
		}
	}
	return sum / float64(r.Dx()*r.Dy())
}

// features are the tone inside a spot, and its size.
func (p pageKuzushiji) features(spot image.Rectangle) []float64 {
	return []float64{p.mean(spot.Inset(1)), float64(spot.Dx()), float64(spot.Dy())}
}

// spots returns the bounds of connected areas that are darker than a limit; tiny ones are
// left out.
func (p pageKuzushiji) spots(limit float64) (spots []image.Rectangle) {
	seen := make([]bool, len(p.at))
	for start := range p.at {
		var bounds image.Rectangle
		for todo := []int{start}; len(todo) > 0; {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if seen[at] || p.at[at] > limit {
				continue
			}
			seen[at] = true
			x, y := at%p.width, at/p.width
			bounds = bounds.Union(image.Rect(x, y, x+1, y+1))
			for _, to := range []image.Point{{X: x - 1, Y: y}, {X: x + 1, Y: y}, {X: x, Y: y - 1}, {X: x, Y: y + 1}} {
				if to.In(image.Rect(0, 0, p.width, p.height)) {
					todo = append(todo, to.Y*p.width+to.X)
				}
			}
		}
		if bounds.Dx() >= 4 && bounds.Dy() >= 4 {
			spots = append(spots, bounds)
		}
	}
	return spots
}
