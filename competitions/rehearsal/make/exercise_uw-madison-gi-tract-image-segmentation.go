package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"io/fs"
	"strconv"
	"strings"
)

// organsUWMadison are the classes in the order of the tables, with their gray levels.
var organsUWMadison = []struct {
	class string
	level float64
}{{"large_bowel", 14000}, {"small_bowel", 9000}, {"stomach", 19000}}

// drawUWMadison draws slices of scans with 16 bits: an organ is an ellipse whose gray
// level depends on its class. Most slices lack an organ or two. Run lengths go along rows.
func drawUWMadison(s *set) {
	var train [][]string
	for _, number := range s.Perm(150)[:18] {
		id, day := "case"+itoa(2+number), 0
		width, height, spacing := 16, 16, "1.50_1.50"
		switch s.IntN(6) {
		case 0:
			width, height = 20, 18
		case 1:
			spacing = "1.63_1.63"
		}
		for range 1 + s.IntN(6) {
			scan := fmt.Sprintf("%s_day%d", id, day)
			day += 1 + s.IntN(9)
			for k := range 3 {
				img := image.NewGray16(image.Rect(0, 0, width, height))
				for i := range img.Rect.Dx() * img.Rect.Dy() {
					img.SetGray16(i%width, i/width, color.Gray16{uint16(1000 + 500*s.weighted(8, 1, 1))}) //nolint:gosec // below 65536
				}
				for o, organ := range organsUWMadison {
					var runs []string
					if s.IntN(5) > 1 {
						runs = organUWMadison(s, img, o, organ.level)
					}
					train = append(train, []string{fmt.Sprintf("%s_slice_%04d", scan, k+1), organ.class, strings.Join(runs, " ")})
				}
				s.file(fmt.Sprintf("train/%s/%s/scans/slice_%04d_%d_%d_%s.png", id, scan, k+1, width, height, spacing), pngOf(img))
			}
		}
	}
	s.csv("train.csv", []string{"id", "class", "segmentation"}, train)
	s.csv("sample_submission.csv", []string{"id", "class", "predicted"}, nil)
}

// organUWMadison draws an organ in its third of a slice, and returns its run lengths.
func organUWMadison(s *set, img *image.Gray16, o int, level float64) (runs []string) {
	width, height := img.Rect.Dx(), img.Rect.Dy()
	x0, y0 := float64(width)*(0.2+0.3*float64(o)), float64(height)*s.between(0.3, 0.7)
	rx, ry := s.between(1.3, 2.4), s.between(2, 4)
	level += 1300 * float64(s.IntN(5)-2)
	inside := make([]bool, width*height)
	for i := range inside {
		dx, dy := (float64(i%width)-x0)/rx, (float64(i/width)-y0)/ry
		if inside[i] = dx*dx+dy*dy < 1; inside[i] {
			img.SetGray16(i%width, i/width, color.Gray16{uint16(level)})
		}
	}
	return runLengths(inside)
}

// learnUWMadison gives each pixel the class with the nearest mean gray level.
func learnUWMadison(l *lesson) {
	slices16 := map[string]*image.Gray16{}
	must(fs.WalkDir(l.public, ".", func(name string, _ fs.DirEntry, err error) error {
		if parts := strings.Split(name, "/"); strings.HasSuffix(name, ".png") {
			img, _, err := image.Decode(bytes.NewReader(l.file(name)))
			must(err)
			slices16[parts[2]+"_"+parts[4][:len("slice_0001")]] = img.(*image.Gray16)
		}
		return err
	}))
	levels := func(id string) (v [][]float64) {
		img := slices16[id]
		for i := range img.Rect.Dx() * img.Rect.Dy() {
			v = append(v, []float64{float64(img.Gray16At(i%img.Rect.Dx(), i/img.Rect.Dx()).Y)})
		}
		return v
	}
	train := l.rows("train.csv")
	classes := map[string][]string{}
	for i := range train.len() {
		id := train.get(i, "id")
		if classes[id] == nil {
			classes[id] = make([]string, len(levels(id)))
		}
		runs := strings.Fields(train.get(i, "segmentation"))
		for k := 0; k < len(runs); k += 2 {
			start, err := strconv.Atoi(runs[k])
			must(err)
			length, err := strconv.Atoi(runs[k+1])
			must(err)
			for at := range length {
				classes[id][start-1+at] = train.get(i, "class")
			}
		}
	}
	var x [][]float64
	var y []string
	for i := 0; i < train.len(); i += 3 {
		x, y = append(x, levels(train.get(i, "id"))...), append(y, classes[train.get(i, "id")]...)
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", []string{"predicted"}, func(r *rows, i int) []string {
		var inside []bool
		for _, v := range levels(r.get(i, "id")) {
			inside = append(inside, model.class(v) == r.get(i, "class"))
		}
		return []string{strings.Join(runLengths(inside), " ")}
	})
}
