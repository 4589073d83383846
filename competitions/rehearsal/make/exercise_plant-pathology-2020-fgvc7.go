package main

import (
	"image/color"
)

var diseasesPlant20 = []string{"healthy", "multiple_diseases", "rust", "scab"}

// drawPlant20 draws photographs of leaves: rust is redder, scab is less green, and
// several diseases are both.
func drawPlant20(s *set) {
	photo := func(disease int) []byte {
		red, green := 80+s.IntN(22), 145+s.IntN(22)
		if disease == 1 || disease == 2 {
			red += 35
		}
		if disease == 1 || disease == 3 {
			green -= 35
		}
		return jpegOf(s.picture(24, 16, color.RGBA{uint8(red), uint8(green), 70, 255}, 5)) //nolint:gosec // below 256
	}
	header := append([]string{"image_id"}, diseasesPlant20...)
	var train, test, sample [][]string
	for n := range 160 {
		id, disease := "Train_"+itoa(n), s.weighted(26, 10, 33, 31)
		row := []string{id, "0", "0", "0", "0"}
		row[disease+1] = "1"
		train = append(train, row)
		s.file("images/"+id+".jpg", photo(disease))
	}
	for n := range 8 {
		id := "Test_" + itoa(n)
		test = append(test, []string{id})
		sample = append(sample, []string{id, "0.25", "0.25", "0.25", "0.25"})
		s.file("images/"+id+".jpg", photo(s.IntN(4)))
	}
	s.csv("train.csv", header, train)
	s.csv("test.csv", header[:1], test)
	s.csv("sample_submission.csv", header, sample)
}

// learnPlant20 classifies by mean color.
func learnPlant20(l *lesson) {
	train := l.rows("train.csv")
	var x [][]float64
	var y []string
	for i := range train.len() {
		x = append(x, colors(l.file("images/" + train.get(i, "image_id") + ".jpg"))[:2])
		for _, disease := range diseasesPlant20 {
			if train.get(i, disease) == "1" {
				y = append(y, disease)
			}
		}
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", diseasesPlant20, func(r *rows, i int) []string {
		c := colors(l.file("images/" + r.get(i, "image_id") + ".jpg"))[:2]
		var out []string
		for _, disease := range diseasesPlant20 {
			out = append(out, ftoa(model.probability(c, disease), 6))
		}
		return out
	})
}
