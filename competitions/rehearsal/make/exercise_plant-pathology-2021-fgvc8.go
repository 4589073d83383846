package main

import (
	"image/color"
	"slices"
	"strings"
)

// drawPlant21 draws leaves: each disease changes the color, and several change it
// together.
func drawPlant21(s *set) {
	labels := []string{"scab", "healthy", "frog_eye_leaf_spot", "rust", "complex", "powdery_mildew", "scab frog_eye_leaf_spot",
		"scab frog_eye_leaf_spot complex", "frog_eye_leaf_spot complex", "rust frog_eye_leaf_spot", "rust complex", "powdery_mildew complex"}
	shift := map[string][3]float64{"scab": {-50, -20, -40}, "frog_eye_leaf_spot": {0, -60, 0}, "rust": {70, 0, -40}, "complex": {-30, -40, 40}, "powdery_mildew": {50, 30, 90}}
	photo := func(kind string) []byte {
		c := [3]float64{110, 150, 90}
		for label := range strings.FieldsSeq(kind) {
			for i, v := range shift[label] {
				c[i] += v
			}
		}
		return jpegOf(s.picture(32, 21, s.near(color.RGBA{clip(c[0]), clip(c[1]), clip(c[2]), 255}), 5))
	}
	var train, sample [][]string
	for range 170 {
		kind, name := labels[s.weighted(48, 46, 32, 19, 16, 12, 7, 2, 2, 1, 1, 1)], s.hex(16)+".jpg"
		train = append(train, []string{name, kind})
		s.file("train_images/"+name, photo(kind))
	}
	slices.SortFunc(train, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	for range 3 {
		name := s.hex(16) + ".jpg"
		sample = append(sample, []string{name, "healthy"})
		s.file("test_images/"+name, photo("healthy"))
	}
	s.csv("train.csv", []string{"image", "labels"}, train)
	s.csv("sample_submission.csv", []string{"image", "labels"}, sample)
}

// learnPlant21 classifies by mean color.
func learnPlant21(l *lesson) {
	l.classifyPictures("labels", "labels",
		func(r *rows, i int) []byte { return l.file("train_images/" + r.get(i, "image")) },
		func(r *rows, i int) []byte { return l.file("test_images/" + r.get(i, "image")) })
}
