package main

import (
	"encoding/json"
	"math"
	"strings"
)

// featuresS3e18 are the descriptors of a molecule.
var featuresS3e18 = strings.Split("BertzCT,Chi1,Chi1n,Chi1v,Chi2n,Chi2v,Chi3v,Chi4n,EState_VSA1,EState_VSA2,ExactMolWt,FpDensityMorgan1,FpDensityMorgan2,FpDensityMorgan3,HallKierAlpha,HeavyAtomMolWt,Kappa3,MaxAbsEStateIndex,MinEStateIndex,NumHeteroatoms,PEOE_VSA10,PEOE_VSA14,PEOE_VSA6,PEOE_VSA7,PEOE_VSA8,SMR_VSA10,SMR_VSA5,SlogP_VSA3,VSA_EState9,fr_COO,fr_COO2", ",")

// drawS3e18 draws molecules whose descriptors grow with their size: large ones with few
// heteroatoms are of class EC1, those with acid groups of EC2.
func drawS3e18(s *set) {
	classes := []string{"EC1", "EC2", "EC3", "EC4", "EC5", "EC6"}
	var train, test, sample [][]string
	for i := range 310 {
		size, hetero, acid := s.between(0.5, 2), s.IntN(12), s.weighted(3, 2, 1)
		row := []string{itoa(i)}
		for k, name := range featuresS3e18 {
			switch name {
			case "NumHeteroatoms":
				row = append(row, itoa(hetero))
			case "fr_COO", "fr_COO2":
				row = append(row, itoa(acid))
			case "HallKierAlpha", "MinEStateIndex":
				row = append(row, ftoa(-size*s.between(0.2, 2), 2))
			default:
				if strings.Contains(name, "VSA") && s.IntN(2) == 0 {
					row = append(row, "0.0")
					continue
				}
				row = append(row, ftoa(size*float64(3+5*(k%7))+s.normal(0, 1), 2))
			}
		}
		if i >= 300 {
			test = append(test, row)
			sample = append(sample, []string{itoa(i), "0.5", "0.5"})
			continue
		}
		odds := []float64{2*size - 0.25*float64(hetero) - 0.5, 2*float64(acid) - 0.8, -1, -1.5, -2, -2}
		for _, v := range odds {
			label := "0"
			if s.Float64() < 1/(1+math.Exp(-2*v)) {
				label = "1"
			}
			row = append(row, label)
		}
		train = append(train, row)
	}
	header := append([]string{"id"}, featuresS3e18...)
	s.csv("test.csv", header, test)
	s.csv("train.csv", append(header, classes...), train)
	s.csv("sample_submission.csv", []string{"id", "EC1", "EC2"}, sample)
}

// learnS3e18 fits a regression for each class.
func learnS3e18(l *lesson) {
	features := func(r *rows, i int) []float64 {
		var x []float64
		for _, name := range []string{"BertzCT", "Chi1", "ExactMolWt", "NumHeteroatoms", "fr_COO"} {
			x = append(x, r.number(i, name))
		}
		return x
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	var x [][]float64
	y := make([][]float64, 2)
	for i := range train.len() {
		x = append(x, features(train, i))
		y[0] = append(y[0], train.number(i, "EC1"))
		y[1] = append(y[1], train.number(i, "EC2"))
	}
	first, second := fitLinear(x, y[0]), fitLinear(x, y[1])
	l.submitLike("sample_submission.csv", []string{"EC1", "EC2"}, func(_ *rows, i int) []string {
		v := features(test, i)
		return []string{ftoa(first.predict(v), 6), ftoa(second.predict(v), 6)}
	})
}

// drawSeti draws spectrograms of six times: a signal is a drifting line in the first,
// third and fifth.
func drawSeti(s *set) {
	spectrogram := func(signal bool) []byte {
		v := make([]float64, 0, 6*8*8)
		start, drift := s.between(1, 4), s.between(-0.2, 0.4)
		for panel := range 6 {
			for t := range 8 {
				for f := range 8 {
					level := s.normal(0, 1)
					if signal && panel%2 == 0 && f == int(start+drift*float64(t)) {
						level += 3
					}
					v = append(v, math.Round(level))
				}
			}
		}
		return npySeti([]int{6, 8, 8}, v)
	}
	sets := []struct {
		folder, labels string
		n              int
	}{{"", "train_labels.csv", 160}, {"old_leaky_data/", "train_labels_old.csv", 8}}
	for _, d := range sets {
		var labels, sample [][]string
		for i := range d.n + d.n/20 + 2 {
			id, target := s.hex(15), s.weighted(5, 1)
			part := "train/"
			if i >= d.n {
				part = "test/"
				sample = append(sample, []string{id, "0.5"})
			} else {
				labels = append(labels, []string{id, itoa(target)})
			}
			s.file(d.folder+part+id[:1]+"/"+id+".npy", spectrogram(target == 1))
		}
		s.csv(d.folder+d.labels, []string{"id", "target"}, labels)
		if d.folder == "" {
			s.csv("sample_submission.csv", []string{"id", "target"}, sample)
		}
	}
}

// learnSeti classifies by how much the brightest frequencies of the first, third and
// fifth time exceed those of the others.
func learnSeti(l *lesson) {
	features := func(part, id string) []float64 {
		_, v := readNpySeti(l.file(part + id[:1] + "/" + id + ".npy"))
		excess := 0.0
		for panel := range 6 {
			means := 0.0
			for f := range 8 {
				sum := 0.0
				for t := range 8 {
					sum += v[(8*panel+t)*8+f]
				}
				means = max(means, sum/8)
			}
			if panel%2 == 0 {
				excess += means
			} else {
				excess -= means
			}
		}
		return []float64{excess}
	}
	model := l.rows("train_labels.csv").classifier("target", func(r *rows, i int) []float64 {
		return features("train/", r.get(i, "id"))
	})
	l.submitLike("sample_submission.csv", []string{"target"}, func(r *rows, i int) []string {
		return []string{ftoa(model.probability(features("test/", r.get(i, "id")), "1"), 8)}
	})
}

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
