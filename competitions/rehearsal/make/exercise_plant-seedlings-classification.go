package main

import (
	"image/color"
	"io/fs"
	"strings"
)

// drawSeedlings draws photographs of twelve species: the color depends on the species.
func drawSeedlings(s *set) {
	species := strings.Split("Black-grass,Charlock,Cleavers,Common Chickweed,Common wheat,Fat Hen,Loose Silky-bent,Maize,Scentless Mayweed,Shepherds Purse,Small-flowered Cranesbill,Sugar beet", ",")
	for k, name := range species {
		for range 10 + s.IntN(6) {
			c := color.RGBA{uint8(60 + 40*(k%3)), uint8(80 + 30*(k/3)), 60, 255} //nolint:gosec // below 256
			s.file("train/"+name+"/"+s.hex(9)+".png", pngOf(s.picture(16, 16, c, 5)))
		}
	}
	s.file("test/"+s.hex(9)+".png", pngOf(s.picture(16, 16, color.RGBA{90, 100, 60, 255}, 5)))
	s.csv("sample_submission.csv", []string{"file", "species"}, [][]string{{s.hex(9) + ".png", "Sugar beet"}})
}

// learnSeedlings classifies by mean color.
func learnSeedlings(l *lesson) {
	names, err := fs.Glob(l.public, "train/*/*.png")
	must(err)
	var x [][]float64
	var y []string
	for _, name := range names {
		x = append(x, colors(l.file(name)))
		y = append(y, strings.Split(name, "/")[1])
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", []string{"species"}, func(r *rows, i int) []string {
		return []string{model.class(colors(l.file("test/" + r.get(i, "file"))))}
	})
}
