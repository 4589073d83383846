package main

import (
	"image/color"
)

// drawCactus draws photographs of 32×32 pixels: those with a cactus are greener.
func drawCactus(s *set) {
	var labels [][]string
	photos := s.part()
	add := func(to *set, folder string) (string, string) {
		name, label := s.hex(32)+".jpg", s.weighted(1, 3)
		c := color.RGBA{120, uint8(115 + 12*label + s.IntN(16)), 110, 255} //nolint:gosec // below 256
		to.file(folder+name, jpegOf(s.picture(32, 32, c, 8)))
		return name, itoa(label)
	}
	for range 120 {
		name, label := add(photos, "train/")
		labels = append(labels, []string{name, label})
	}
	tests, sample := s.part(), [][]string{}
	for range 10 {
		name, _ := add(tests, "test/")
		sample = append(sample, []string{name, "0.5"})
	}
	s.csv("train.csv", []string{"id", "has_cactus"}, labels)
	s.csv("sample_submission.csv", []string{"id", "has_cactus"}, sample)
	s.zip("train.zip", photos)
	s.zip("test.zip", tests)
}

// learnCactus classifies by mean color.
func learnCactus(l *lesson) {
	model := l.rows("train.csv").classifier("has_cactus", func(r *rows, i int) []float64 {
		return colors(l.member("train.zip", r.get(i, "id")))
	})
	l.submitLike("sample_submission.csv", []string{"has_cactus"}, func(r *rows, i int) []string {
		return []string{ftoa(model.probability(colors(l.member("test.zip", r.get(i, "id"))), "1"), 6)}
	})
}
