package main

import (
	"image/color"
	"slices"
)

var flagsPawpularity = []string{"Subject Focus", "Eyes", "Face", "Near", "Action", "Accessory", "Group", "Collage", "Human", "Occlusion", "Info", "Blur"}

// drawPawpularity draws photographs and facts: popularity depends on the brightness, a
// visible face and blur.
func drawPawpularity(s *set) {
	draw := func() (flags []string, photo []byte, score int) {
		bright := s.between(60, 200)
		popular := 10 + (bright-60)/4 + s.normal(0, 6)
		for _, name := range flagsPawpularity {
			often := map[string]float64{"Eyes": 0.8, "Face": 0.9, "Near": 0.86}[name]
			flag := s.weighted(1-max(0.07, often), max(0.07, often))
			popular += float64(flag) * map[string]float64{"Face": 12, "Blur": -8}[name]
			flags = append(flags, itoa(flag))
		}
		c := color.RGBA{clip(bright + 10), clip(bright), clip(bright - 20), 255}
		return flags, jpegOf(s.picture(24, 24+s.IntN(8), c, 5)), int(min(100, max(1, popular)))
	}
	header := append([]string{"Id"}, flagsPawpularity...)
	var train, test, sample [][]string
	for range 160 {
		id := s.hex(32)
		flags, photo, score := draw()
		s.file("train/"+id+".jpg", photo)
		train = append(train, append(append([]string{id}, flags...), itoa(score)))
	}
	for range 8 {
		id := s.hex(32)
		flags, photo, _ := draw()
		s.file("test/"+id+".jpg", photo)
		test = append(test, append([]string{id}, flags...))
		sample = append(sample, []string{id, ftoa(s.between(1, 100), 2)})
	}
	s.csv("train.csv", append(slices.Clone(header), "Pawpularity"), train)
	s.csv("test.csv", header, test)
	s.csv("sample_submission.csv", []string{"Id", "Pawpularity"}, sample)
}

// learnPawpularity regresses popularity on the facts and the mean color.
func learnPawpularity(l *lesson) {
	features := func(r *rows, i int, folder string) []float64 {
		x := colors(l.file(folder + "/" + r.get(i, "Id") + ".jpg"))
		for _, name := range flagsPawpularity {
			x = append(x, r.number(i, name))
		}
		return x
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	model := train.regression("Pawpularity", func(r *rows, i int) []float64 { return features(r, i, "train") })
	l.submitLike("sample_submission.csv", []string{"Pawpularity"}, func(_ *rows, i int) []string {
		return []string{ftoa(min(100, max(1, model.predict(features(test, i, "test")))), 4)}
	})
}
