package main

import (
	"encoding/json"
	"strings"
)

// drawLmsys draws conversations: people prefer the longer answer, and tie answers of
// about the same length.
func drawLmsys(s *set) {
	texts := func(of []string) string {
		data, err := json.Marshal(of)
		must(err)
		return strings.ReplaceAll(string(data), "😀", `\ud83d\ude00`)
	}
	answer := func(sentences int) string {
		var b strings.Builder
		for range sentences {
			b.WriteString(s.one("This is a point. ", "Here is \"more\".\n", "1. A step: ", "An emoji 😀 ", "So, yes. "))
		}
		return b.String()
	}
	var train, test, sample [][]string
	for i := range 250 {
		var prompt, a, b []string
		lead := 0
		for range 1 + s.weighted(6, 1, 1) {
			na, nb := 1+s.IntN(9), 1+s.IntN(9)
			lead += na - nb
			prompt = append(prompt, s.one("How do I ", "Why does one ", "Write about ")+s.one("bake bread", "sort a list", "sail a boat", "learn to sing")+"?")
			a, b = append(a, answer(na)), append(b, answer(nb))
		}
		winner := 2
		if v := float64(lead) + s.normal(0, 2); v > 2 {
			winner = 0
		} else if v < -2 {
			winner = 1
		}
		won := []string{"0", "0", "0"}
		won[winner] = "1"
		id := itoa(s.IntN(1<<20)*4096 + i)
		row := []string{id, "model-" + itoa(s.IntN(6)), "model-" + itoa(6+s.IntN(6)), texts(prompt), texts(a), texts(b)}
		if i < 3 {
			test = append(test, []string{id, row[3], row[4], row[5]})
			sample = append(sample, []string{id, "0.333333333", "0.333333333", "0.333333333"})
			continue
		}
		train = append(train, append(row, won...))
	}
	winners := []string{"winner_model_a", "winner_model_b", "winner_tie"}
	s.csv("train.csv", append(strings.Split("id,model_a,model_b,prompt,response_a,response_b", ","), winners...), train)
	s.csv("test.csv", []string{"id", "prompt", "response_a", "response_b"}, test)
	s.csv("sample_submission.csv", append([]string{"id"}, winners...), sample)
}

// learnLmsys classifies by the difference of the lengths.
func learnLmsys(l *lesson) {
	lead := func(r *rows, i int) []float64 {
		return []float64{float64(len(r.get(i, "response_a")) - len(r.get(i, "response_b")))}
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	var x [][]float64
	var y []string
	winners := []string{"winner_model_a", "winner_model_b", "winner_tie"}
	for i := range train.len() {
		x = append(x, lead(train, i))
		for _, w := range winners {
			if train.get(i, w) == "1" {
				y = append(y, w)
			}
		}
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", winners, func(_ *rows, i int) []string {
		a, b := model.probability(lead(test, i), winners[0]), model.probability(lead(test, i), winners[1])
		return []string{ftoa(a, 8), ftoa(b, 8), ftoa(max(0, 1-a-b), 8)}
	})
}
