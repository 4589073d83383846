package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// drawInsults draws comments, in quotes and with escapes: an insult has a rude word and
// often speaks to somebody. One comment is there twice, and some have no date.
func drawInsults(s *set) {
	comment := func() (cells []string) {
		insult, words := s.weighted(73, 27), []string{}
		for range 4 + s.IntN(14) {
			words = append(words, s.one("the", "game", "people", "this", "that", "is", "was", "a", "of", "not", "team", "vote", "they", "money", "really", "think", "I", "it", "and", "good"))
		}
		put := func(word string) { words[s.IntN(len(words))] = word }
		if insult == 1 {
			put(s.one("you", "you", "You", "your", "@somebody"))
		} else if s.IntN(3) == 0 {
			put("you")
		}
		if (insult == 1) != (s.IntN(10) == 0) {
			put(s.one("idiot", "moron", "stupid", "dumb", "clown", "loser"))
		}
		text := strings.Join(words, " ") + s.one(".", "!", "...", "", `\n\nSo\xa0there.`, `\\xa0LOL`, ` \u2019`)
		date := ""
		if s.IntN(5) > 0 {
			date = fmt.Sprintf("2012%02d%02d%02d%02d%02dZ", 3+s.IntN(4), 1+s.IntN(28), s.IntN(24), s.IntN(60), s.IntN(60))
		}
		return []string{itoa(insult), date, `"` + text + `"`}
	}
	header := []string{"Insult", "Date", "Comment"}
	draw := func(n int) (rows [][]string) {
		for range n {
			rows = append(rows, comment())
		}
		return append(rows, slices.Clone(rows[n/2]))
	}
	test := draw(180)
	usage := func(rows [][]string, name string) (out [][]string) {
		for _, row := range rows {
			out = append(out, append(slices.Clone(row), name))
		}
		return out
	}
	var hidden, sample, labels [][]string
	for i, row := range test[:20] {
		hidden = append(hidden, []string{itoa(i + 1), row[1], row[2]})
		sample = append(sample, []string{"0", row[1], row[2]})
	}
	for i, row := range usage(draw(8), "PrivateTest") {
		labels = append(labels, append([]string{itoa(i + 1)}, row...))
	}
	s.csv("train.csv", header, draw(420))
	s.csv("test.csv", []string{"id", "Date", "Comment"}, hidden)
	s.csv("test_with_solutions.csv", append(slices.Clone(header), "Usage"), usage(test, "PublicTest"))
	s.csv("sample_submission_null.csv", header, sample)
	s.csv("impermium_verification_labels.csv", []string{"id", "Insult", "Date", "Comment", "Usage"}, labels)
}

// learnInsults counts words in insults and in other comments.
func learnInsults(l *lesson) {
	split := func(text string) []string {
		return strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return c < 'a' || c > 'z' })
	}
	train := l.rows("train.csv")
	counts, totals := map[string]map[string]float64{"0": {}, "1": {}}, map[string]float64{}
	for i := range train.len() {
		label := train.get(i, "Insult")
		for _, w := range split(train.get(i, "Comment")) {
			counts[label][w]++
			totals[label]++
		}
	}
	l.submitLike("sample_submission_null.csv", []string{"Insult"}, func(r *rows, i int) []string {
		odds := -1.0
		for _, w := range split(r.get(i, "Comment")) {
			odds += math.Log((counts["1"][w]+1)/(totals["1"]+50)) - math.Log((counts["0"][w]+1)/(totals["0"]+50))
		}
		return []string{ftoa(1/(1+math.Exp(-odds)), 6)}
	})
}
