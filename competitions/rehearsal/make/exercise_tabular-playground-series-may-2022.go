package main

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// rowTpsMay22 draws the features of a row: mostly normal numbers and small counts, and a
// text of ten letters. The state depends on sums of features and the text's letters.
func rowTpsMay22(s *set) (cells []string, state int) {
	v := make([]float64, 31)
	letters := map[byte]bool{}
	for k := range v {
		switch {
		case k >= 7 && k <= 18:
			v[k] = math.Floor(s.ExpFloat64() * 2.3)
			cells = append(cells, ftoa(v[k], 0))
		case k == 27:
			text, kinds := make([]byte, 10), 4+s.IntN(12)
			for i := range text {
				text[i] = byte('A' + s.IntN(kinds)) //nolint:gosec // a letter
				letters[text[i]] = true
			}
			cells = append(cells, string(text))
		case k == 29 || k == 30:
			v[k] = float64(s.weighted(3, 2, float64(k-29)*2))
			cells = append(cells, ftoa(v[k], 0))
		default:
			v[k] = s.normal(0, 1)
			if k == 28 {
				v[k] *= 240
			}
			cells = append(cells, strconv.FormatFloat(v[k], 'g', -1, 64))
		}
	}
	state = 0
	if 1.2*(v[21]+v[2])+0.8*v[0]*v[1]+0.7*(float64(len(letters))-5.5)+0.6*(v[30]-1)+s.normal(0, 1) > 0 {
		state = 1
	}
	return cells, state
}

// drawTpsMay22 draws rows of a made-up process: the state depends on sums and products of
// features.
func drawTpsMay22(s *set) {
	header := []string{"id"}
	for k := range 31 {
		header = append(header, "f_"+itoa(100 + k)[1:])
	}
	var train, test, sample [][]string
	for i := range 300 {
		id := itoa(i)
		cells, state := rowTpsMay22(s)
		if i >= 280 {
			id = itoa(900000 + i - 280)
			test = append(test, append([]string{id}, cells...))
			sample = append(sample, []string{id, "0.5"})
			continue
		}
		train = append(train, append(append([]string{id}, cells...), itoa(state)))
	}
	s.csv("train.csv", append(slices.Clone(header), "target"), train)
	s.csv("test.csv", header, test)
	s.csv("sample_submission.csv", []string{"id", "target"}, sample)
}

// learnTpsMay22 is a ridge regression of the numbers, a product, and the count of
// different letters.
func learnTpsMay22(l *lesson) {
	features := func(r *rows, i int) (x []float64) {
		for k, name := range r.header {
			if name == "f_27" {
				letters := strings.Split(r.cells[i][k], "")
				slices.Sort(letters)
				x = append(x, float64(len(slices.Compact(letters))))
			} else if strings.HasPrefix(name, "f_") {
				x = append(x, r.number(i, name))
			}
		}
		return append(x, x[0]*x[1])
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	model, found := train.regression("target", features), map[string]string{}
	for i := range test.len() {
		found[test.get(i, "id")] = ftoa(min(1, max(0, model.predict(features(test, i)))), 6)
	}
	l.submitLike("sample_submission.csv", []string{"target"}, func(r *rows, i int) []string {
		return []string{found[r.get(i, "id")]}
	})
}
