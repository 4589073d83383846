package main

import (
	"encoding/json"
	"math"
)

// radarStatoil is an object of statoil-iceberg-classifier-challenge. The angle is a
// number or the text "na".
type radarStatoil struct {
	ID        string    `json:"id"`
	Band1     []float64 `json:"band_1"`
	Band2     []float64 `json:"band_2"`
	Angle     any       `json:"inc_angle"`
	IsIceberg *int      `json:"is_iceberg,omitempty"`
}

const sideStatoil = 8

// drawStatoil draws radar images of 8×8 instead of 75×75 pixels: a ship is brighter in
// the first band and smaller than an iceberg.
func drawStatoil(s *set) {
	band := func(base, peak, width float64) []float64 {
		var v []float64
		for y := range sideStatoil {
			for x := range sideStatoil {
				d := math.Hypot(float64(x)-3.5, float64(y)-3.5) / width
				level := base + peak*math.Exp(-d*d) + s.normal(0, 1)
				v = append(v, math.Round(4*level)/4+0.000001*float64(1+s.IntN(3)))
			}
		}
		return v
	}
	draw := func(n int, labelled bool) []radarStatoil {
		var all []radarStatoil
		for range n {
			iceberg := s.weighted(851, 753)
			peak, width := s.normal(22-5*float64(iceberg), 3), s.normal(1.2+0.6*float64(iceberg), 0.3)
			r := radarStatoil{ID: s.hex(8), Band1: band(-22, peak, width), Band2: band(-27, peak-6, width)}
			r.Angle = math.Round(1e4*s.between(30, 45)) / 1e4
			if labelled {
				r.IsIceberg = &iceberg
				if s.IntN(12) == 0 {
					r.Angle = "na"
				}
			}
			all = append(all, r)
		}
		return all
	}
	pack := func(name string, content func(inside *set, path string)) {
		inside := s.part()
		content(inside, "data/processed/"+name)
		s.sevenZip(name+".7z", inside)
	}
	test := draw(5, false)
	pack("train.json", func(inside *set, path string) { inside.json(path, draw(120, true)) })
	pack("test.json", func(inside *set, path string) { inside.json(path, test) })
	pack("sample_submission.csv", func(inside *set, path string) {
		var sample [][]string
		for _, r := range test {
			sample = append(sample, []string{r.ID, "0.5"})
		}
		inside.csv(path, []string{"id", "is_iceberg"}, sample)
	})
}

// learnStatoil classifies by the brightness of the middle and of the whole image.
func learnStatoil(l *lesson) {
	features := func(r radarStatoil) []float64 {
		return []float64{r.Band1[3*sideStatoil+3], mean(r.Band1), mean(r.Band2)}
	}
	read := func(name string) (all []radarStatoil) {
		must(json.Unmarshal(l.member(name+".7z", name), &all))
		return all
	}
	var x [][]float64
	var y []string
	for _, r := range read("train.json") {
		x, y = append(x, features(r)), append(y, itoa(*r.IsIceberg))
	}
	model := fitCentroids(x, y)
	var out [][]string
	for _, r := range read("test.json") {
		out = append(out, []string{r.ID, ftoa(model.probability(features(r), "1"), 8)})
	}
	l.submit([]string{"id", "is_iceberg"}, out)
}
