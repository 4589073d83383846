package main

import (
	"math"
	"strconv"
)

// drawVentilator draws breaths of 80 steps: the pressure depends on the inflow, on its
// sum, and on the lung's two properties.
func drawVentilator(s *set) {
	header := []string{"id", "breath_id", "R", "C", "time_step", "u_in", "u_out", "pressure"}
	var train, test, sample [][]string
	breath := 0
	for n := range 36 {
		breath += 1 + s.IntN(3)
		r, c := s.one("5", "20", "50"), s.one("10", "20", "50")
		resistance, _ := strconv.ParseFloat(r, 64)
		compliance, _ := strconv.ParseFloat(c, 64)
		top, peak, step := s.between(10, 40), s.between(5, 20), s.between(0.031, 0.036)
		volume := 0.0
		for k := range 80 {
			in, out := 0.0, "0"
			if k < 32 {
				in = top * math.Exp(-math.Pow((float64(k)-peak)/9, 2))
			} else {
				out = "1"
				in = 5 * (1 - math.Exp(-float64(k-32)/6))
			}
			volume += in * step
			pressure := 6 + in*resistance/60 + volume*8/math.Sqrt(compliance) + s.normal(0, 0.2)
			if out == "1" {
				pressure = 6 + 5*math.Exp(-float64(k-32)/3)
			}
			pressure = -1.895744294564641 + 0.07030214545121*math.Round((pressure+1.9)/0.07030214545121)
			row := []string{itoa(n*80 + k + 1), itoa(breath), r, c, strconv.FormatFloat(float64(k)*math.Round(step*1e6)/1e6, 'g', -1, 64),
				strconv.FormatFloat(math.Round(in*1e3)/1e3, 'g', -1, 64), out, strconv.FormatFloat(pressure, 'g', -1, 64)}
			if n < 34 {
				train = append(train, row)
				continue
			}
			row[0] = itoa((n-34)*80 + k + 1)
			test = append(test, row[:7])
			sample = append(sample, []string{row[0], "0"})
		}
	}
	s.csv("train.csv", header, train)
	s.csv("test.csv", header[:7], test)
	s.csv("sample_submission.csv", []string{"id", "pressure"}, sample)
}

// learnVentilator fits a line to the inflow, its sum, and their products with the lung's
// properties, where the outlet is closed.
func learnVentilator(l *lesson) {
	features := func(r *rows) (x [][]float64) {
		volume := 0.0
		for i := range r.len() {
			if i > 0 && r.get(i, "breath_id") != r.get(i-1, "breath_id") {
				volume = 0
			}
			in := r.number(i, "u_in")
			volume += in / 30
			x = append(x, []float64{in, volume, in * r.number(i, "R") / 50, volume * 10 / r.number(i, "C")})
		}
		return x
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	var x [][]float64
	var y []float64
	for i, row := range features(train) {
		if train.get(i, "u_out") == "0" {
			x, y = append(x, row), append(y, train.number(i, "pressure"))
		}
	}
	model, tests := fitLinear(x, y), features(test)
	l.submitLike("sample_submission.csv", []string{"pressure"}, func(_ *rows, i int) []string {
		return []string{ftoa(model.predict(tests[i]), 6)}
	})
}
