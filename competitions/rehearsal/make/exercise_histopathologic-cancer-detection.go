package main

// drawHisto draws patches of 96×96 pixels: a tumour is a dark purple centre.
// The other tiles say nothing.
func drawHisto(s *set) {
	var labels, sample [][]string
	for range 110 {
		id := s.hex(40)
		patch, label := s.patchHisto()
		s.file("train/"+id+".tif", patch)
		labels = append(labels, []string{id, itoa(label)})
	}
	for range 24 {
		id := s.hex(40)
		patch, _ := s.patchHisto()
		s.file("test/"+id+".tif", patch)
		sample = append(sample, []string{id, "0"})
	}
	s.csv("train_labels.csv", []string{"id", "label"}, labels)
	s.csv("sample_submission.csv", []string{"id", "label"}, sample)
}

// patchHisto draws a patch of 6×6 tiles of one color each; the centre has 2×2 of them.
func (s *set) patchHisto() (patch []byte, label int) {
	label = s.weighted(6, 4)
	palette := [][3]byte{{230, 200, 225}, {215, 170, 210}, {200, 150, 195}, {175, 120, 180}, {150, 95, 165}, {120, 70, 150}}
	var tiles [6][6][3]byte
	for y := range 6 {
		for x := range 6 {
			k := s.IntN(len(palette))
			if (x == 2 || x == 3) && (y == 2 || y == 3) {
				k = s.weighted(4, 4, 3, 2, 1, 1)
				if label == 1 {
					k = s.weighted(1, 1, 2, 3, 4, 4)
				}
			}
			tiles[y][x] = palette[k]
		}
	}
	var pixels []byte
	for y := range 96 {
		for x := range 96 {
			c := tiles[y/16][x/16]
			pixels = append(pixels, c[:]...)
		}
	}
	return tiff{96, 96, 8, pixels}.file(layoutTIFF{}), label
}

// learnHisto classifies by the mean color of the centre.
func learnHisto(l *lesson) {
	features := func(name string) []float64 {
		p := readTIFF(l.file(name))
		sum := make([]float64, 3)
		for y := p.height / 3; y < p.height*2/3; y++ {
			for x := p.width / 3; x < p.width*2/3; x++ {
				for k := range sum {
					sum[k] += float64(p.pixels[3*(y*p.width+x)+k])
				}
			}
		}
		return sum
	}
	model := l.rows("train_labels.csv").classifier("label", func(r *rows, i int) []float64 {
		return features("train/" + r.get(i, "id") + ".tif")
	})
	l.submitLike("sample_submission.csv", []string{"label"}, func(r *rows, i int) []string {
		return []string{ftoa(model.probability(features("test/"+r.get(i, "id")+".tif"), "1"), 6)}
	})
}
