package main

import (
	"image/color"
	"io/fs"
	"path"
)

// drawRedux draws photographs of several sizes: dogs are redder, cats are bluer.
func drawRedux(s *set) {
	photo := func(dog int) []byte {
		c := color.RGBA{uint8(100 + 22*dog + s.IntN(40)), 110, uint8(130 - 22*dog + s.IntN(40)), 255} //nolint:gosec // below 256
		return jpegOf(s.picture(16+s.IntN(10), 16+s.IntN(8), c, 3))
	}
	train, test, sample := s.part(), s.part(), [][]string{}
	for n := range 56 {
		train.file("train/cat."+itoa(n)+".jpg", photo(0))
		train.file("train/dog."+itoa(n)+".jpg", photo(1))
	}
	for n := range 10 {
		test.file("test/"+itoa(n+1)+".jpg", photo(s.IntN(2)))
		sample = append(sample, []string{itoa(n + 1), "0.5"})
	}
	s.zip("train.zip", train)
	s.zip("test.zip", test)
	s.csv("sample_submission.csv", []string{"id", "label"}, sample)
}

// learnRedux classifies by mean color.
func learnRedux(l *lesson) {
	names, err := fs.Glob(l.public, "train/*.jpg")
	must(err)
	var x [][]float64
	var y []string
	for _, name := range names {
		x, y = append(x, colors(l.file(name))), append(y, path.Base(name)[:3])
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", []string{"label"}, func(r *rows, i int) []string {
		return []string{ftoa(model.probability(colors(l.file("test/"+r.get(i, "id")+".jpg")), "dog"), 6)}
	})
}
