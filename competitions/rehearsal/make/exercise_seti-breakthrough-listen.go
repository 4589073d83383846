package main

import (
	"math"
)

// drawSeti draws spectrograms of six times: a signal is a drifting line in the first,
// third and fifth.
func drawSeti(s *set) {
	spectrogram := func(signal bool) []byte {
		v := make([]half, 0, 6*8*8)
		start, drift := s.between(1, 4), s.between(-0.2, 0.4)
		for panel := range 6 {
			for t := range 8 {
				for f := range 8 {
					level := s.normal(0, 1)
					if signal && panel%2 == 0 && f == int(start+drift*float64(t)) {
						level += 3
					}
					v = append(v, halfOf(math.Round(level)))
				}
			}
		}
		return npyOf([]int{6, 8, 8}, v)
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
		v := readNpy[half](l.file(part + id[:1] + "/" + id + ".npy"))
		excess := 0.0
		for panel := range 6 {
			means := 0.0
			for f := range 8 {
				sum := 0.0
				for t := range 8 {
					sum += v[(8*panel+t)*8+f].float()
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
