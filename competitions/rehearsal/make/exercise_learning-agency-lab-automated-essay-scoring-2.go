package main

import (
	"math"
	"strings"
)

// drawEssays draws essays whose score, from 1 to 6, depends on their length.
func drawEssays(s *set) {
	words := strings.Fields("many people think that driverless cars are good because they can help us but some of them may break on the road and students should know why it is important")
	header := []string{"essay_id", "full_text", "score"}
	var train [][]string
	for range 300 {
		score := 1 + s.weighted(7, 27, 36, 22, 6, 2)
		var text []string
		for range max(5, int(s.normal(float64(12*score), 4))) {
			text = append(text, s.one(words...))
		}
		train = append(train, []string{s.hex(7), strings.Join(text, " ") + ".", itoa(score)})
	}
	s.csv("train.csv", header, train)
	s.csv("test.csv", header[:2], [][]string{{s.hex(7), "many people think that cars are good."}})
	s.csv("sample_submission.csv", []string{"essay_id", "score"}, [][]string{{s.hex(7), "3"}})
}

// learnEssays predicts the score from the number of words.
func learnEssays(l *lesson) {
	train, test := l.rows("train.csv"), l.rows("test.csv")
	length := func(r *rows, i int) []float64 { return []float64{float64(len(strings.Fields(r.get(i, "full_text"))))} }
	model, score := train.regression("score", length), map[string]string{}
	for i := range test.len() {
		score[test.get(i, "essay_id")] = itoa(int(min(6, max(1, math.Round(model.predict(length(test, i)))))))
	}
	l.submitLike("sample_submission.csv", []string{"score"}, func(r *rows, i int) []string {
		return []string{score[r.get(i, "essay_id")]}
	})
}
