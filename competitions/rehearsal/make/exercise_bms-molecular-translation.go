package main

import (
	"bytes"
	"image"
	"strings"
)

// inchiBms names a straight chain of n carbon atoms that ends in a kind of group: none,
// an alcohol or an amine.
func inchiBms(n, kind int) string {
	var chain []string
	if kind > 0 {
		for i := 1; i <= n+1; i++ {
			chain = append(chain, itoa(i))
		}
		joined := strings.Join(chain, "-")
		if kind == 1 {
			return "InChI=1S/C" + itoa(n) + "H" + itoa(2*n+2) + "O/c" + joined + "/h" + itoa(n+1) + "H,2-" + itoa(n) + "H2,1H3"
		}
		return "InChI=1S/C" + itoa(n) + "H" + itoa(2*n+3) + "N/c" + joined + "/h2-" + itoa(n+1) + "H2,1H3"
	}
	for i := 1; i <= n; i += 2 {
		chain = append(chain, itoa(i))
	}
	for i := n - n%2; i >= 2; i -= 2 {
		chain = append(chain, itoa(i))
	}
	return "InChI=1S/C" + itoa(n) + "H" + itoa(2*n+2) + "/c" + strings.Join(chain, "-") + "/h3-" + itoa(n) + "H2,1-2H3"
}

// pictureBms draws a zigzag of n-1 bonds in black on white with a few black specks, the
// group as a ring or a block at its end; some pictures are upright.
func pictureBms(s *set, n, kind int) image.Image {
	width, height, upright := 10+6*n, 16, s.IntN(6) == 0
	specks := map[[2]int]bool{}
	for range s.IntN(4) {
		specks[[2]int{s.IntN(width), s.IntN(height)}] = true
	}
	at := func(x, y int) float64 {
		step := x % 12
		line := 5 + min(step, 12-step)
		edge := 2 + 6*(n-1)
		ring := x >= edge && x < edge+6 && y >= 5 && y < 11 && kind > 0 && (kind == 2 || x == edge || x == edge+5 || y == 5 || y == 10)
		if ring || specks[[2]int{x, y}] || x >= 2 && x < edge && y == line {
			return 0
		}
		return 255
	}
	if upright {
		return gray(height, width, func(x, y int) float64 { return at(y, x) })
	}
	return gray(width, height, at)
}

// drawBms draws pictures of molecules: the length of the zigzag and the shape at its end
// give the InChI.
func drawBms(s *set) {
	folder := func(id string) string { return id[:1] + "/" + id[1:2] + "/" + id[2:3] + "/" + id + ".png" }
	var labels, sample, approved [][]string
	for range 240 {
		id, n, kind := s.hex(12), 4+s.IntN(9), s.weighted(2, 1, 1)
		s.file("train/"+folder(id), pngOf(pictureBms(s, n, kind)))
		labels = append(labels, []string{id, inchiBms(n, kind)})
	}
	for range 8 {
		id := s.hex(12)
		s.file("test/"+folder(id), pngOf(pictureBms(s, 4+s.IntN(9), s.IntN(3))))
		sample = append(sample, []string{id, "InChI=1S/H2O/h1H2"})
	}
	for n := 13; n < 40; n++ {
		approved = append(approved, []string{inchiBms(n, s.IntN(3))})
	}
	s.csv("train_labels.csv", []string{"image_id", "InChI"}, labels)
	s.csv("sample_submission.csv", []string{"image_id", "InChI"}, sample)
	s.csv("extra_approved_InChIs.csv", []string{"InChI"}, approved)
}

// learnBms classifies by the size of the picture and the share of black.
func learnBms(l *lesson) {
	features := func(folder, id string) []float64 {
		data := l.file(folder + "/" + id[:1] + "/" + id[1:2] + "/" + id[2:3] + "/" + id + ".png")
		config, _, err := image.DecodeConfig(bytes.NewReader(data))
		must(err)
		size := float64(max(config.Width, config.Height))
		black := (255 - colors(data)[0]) / 255 * float64(config.Width*config.Height)
		return []float64{size * 3, black - size}
	}
	model := l.rows("train_labels.csv").classifier("InChI", func(r *rows, i int) []float64 {
		return features("train", r.get(i, "image_id"))
	})
	l.submitLike("sample_submission.csv", []string{"InChI"}, func(r *rows, i int) []string {
		return []string{model.class(features("test", r.get(i, "image_id")))}
	})
}
