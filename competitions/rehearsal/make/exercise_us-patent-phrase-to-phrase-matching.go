package main

import (
	"slices"
	"strings"
)

// drawPatentPhrase draws pairs of phrases: the score depends on the words that they share.
func drawPatentPhrase(s *set) {
	words := strings.Fields(`abatement acid air assembly beam blade cable circuit component control cooling device drive
electrode fiber filter fluid gas gear heat layer lens metal optical plate pump sensor signal surface valve`)
	var train, test, sample [][]string
	anchors := make([][]string, 40)
	for i := range anchors {
		anchors[i] = []string{s.one(words...), s.one(words...)}
	}
	for i := range 330 {
		anchor := anchors[s.IntN(len(anchors))]
		target, score := slices.Clone(anchor), 4
		for k := range target {
			if s.IntN(2) == 0 {
				target[k] = s.one(words...)
				score -= 1 + s.IntN(2)
			}
		}
		if s.IntN(3) == 0 {
			target = append(target, s.one(words...))
			score--
		}
		id, context := s.hex(16), s.one("A", "B", "C", "F", "G", "H")+itoa(10+s.IntN(60))
		pair := []string{id, strings.Join(anchor, " "), strings.Join(target, " "), context}
		if i < 320 {
			train = append(train, append(pair, []string{"0.0", "0.25", "0.5", "0.75", "1.0"}[max(0, score)]))
			continue
		}
		test = append(test, pair)
		sample = append(sample, []string{id, "0"})
	}
	header := []string{"id", "anchor", "target", "context"}
	s.csv("train.csv", append(slices.Clone(header), "score"), train)
	s.csv("test.csv", header, test)
	s.csv("sample_submission.csv", []string{"id", "score"}, sample)
}

// learnPatentPhrase regresses the score on the number of shared words and the length.
func learnPatentPhrase(l *lesson) {
	features := func(r *rows, i int) []float64 {
		anchor, target := strings.Fields(r.get(i, "anchor")), strings.Fields(r.get(i, "target"))
		shared := 0.0
		for _, w := range target {
			if slices.Contains(anchor, w) {
				shared++
			}
		}
		return []float64{shared, float64(len(target))}
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	model := train.regression("score", features)
	l.submitLike("sample_submission.csv", []string{"score"}, func(_ *rows, i int) []string {
		return []string{ftoa(model.predict(features(test, i)), 6)}
	})
}
