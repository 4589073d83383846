package main

import (
	"image/color"
	"slices"
	"strings"
)

// drawWhalePlayground draws photographs: each whale has a color of its own, and a new
// one is mostly grey.
func drawWhalePlayground(s *set) {
	var labels, sample [][]string
	photo := func(folder string, c color.RGBA) string {
		name := s.hex(8) + ".jpg"
		s.file(folder+name, jpegOf(s.picture(24+s.IntN(8), 16, c, 4)))
		return name
	}
	near := func(v int) uint8 { return uint8(v + s.IntN(14)) } //nolint:gosec // below 256
	unknown := func() color.RGBA {
		v := 100 + s.IntN(60)
		return color.RGBA{near(v), near(v), near(v), 255}
	}
	shades := s.Perm(64)
	for k, seen := range slices.Concat(slices.Repeat([]int{1}, 20), slices.Repeat([]int{2}, 10), []int{3, 3, 3, 4, 4, 5, 6, 8, 10, 13}) {
		at, id := shades[k], "w_"+s.hex(7)
		for range seen {
			c := color.RGBA{near(40 + 55*(at%4)), near(40 + 55*(at/4%4)), near(40 + 55*(at/16)), 255}
			labels = append(labels, []string{photo("train/", c), id})
		}
	}
	for range 22 {
		labels = append(labels, []string{photo("train/", unknown()), "new_whale"})
	}
	slices.SortFunc(labels, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	for range 6 {
		sample = append(sample, []string{photo("test/", unknown()), "new_whale w_" + s.hex(7) + " w_" + s.hex(7)})
	}
	s.csv("train.csv", []string{"Image", "Id"}, labels)
	s.csv("sample_submission.csv", []string{"Image", "Id"}, sample)
}

// learnWhalePlayground lists the whales of the nearest colors; a new one is among the
// two best.
func learnWhalePlayground(l *lesson) {
	model := l.rows("train.csv").classifier("Id", func(r *rows, i int) []float64 {
		return colors(l.file("train/" + r.get(i, "Image")))
	})
	model.scale = []float64{8, 8, 8} // the spread within a whale
	l.submitLike("sample_submission.csv", []string{"Id"}, func(r *rows, i int) []string {
		best := model.ranked(colors(l.file("test/" + r.get(i, "Image"))))
		if k := slices.Index(best, "new_whale"); k > 1 {
			best = slices.Insert(slices.Delete(best, k, k+1), 1, "new_whale")
		}
		return []string{strings.Join(best[:5], " ")}
	})
}
