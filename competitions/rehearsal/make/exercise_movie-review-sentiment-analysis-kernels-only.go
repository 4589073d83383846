package main

import (
	"slices"
	"strings"
)

// drawMovieReview draws sentences and phrases of them: sentiment depends on kind and
// unkind words.
func drawMovieReview(s *set) {
	var train, test [][]string
	phrase := 0
	sentence := func(id int, to *[][]string) {
		var words []string
		for range 5 + s.IntN(6) {
			switch s.weighted(6, 1, 1) {
			case 0:
				words = append(words, s.one("the", "film", "a", "of", "plot", "with", "story", "and", "its", "director", "is", "scenes", "camera", ",", "that", "'s"))
			case 1:
				words = append(words, s.one("wonderful", "charming", "funny", "brilliant"))
			default:
				words = append(words, s.one("dull", "tedious", "mess", "awful"))
			}
		}
		for lo, hi := 0, len(words); hi-lo > 0 && lo < len(words); {
			phrase++
			text, score := strings.Join(words[lo:hi], " "), 2
			for _, w := range words[lo:hi] {
				if slices.Contains([]string{"wonderful", "charming", "funny", "brilliant"}, w) {
					score++
				} else if slices.Contains([]string{"dull", "tedious", "mess", "awful"}, w) {
					score--
				}
			}
			*to = append(*to, []string{itoa(phrase), itoa(id), text, itoa(min(4, max(0, score)))})
			if s.IntN(2) == 0 {
				hi -= 1 + s.IntN(3)
			} else {
				lo += 1 + s.IntN(3)
			}
		}
	}
	for id := 1; id <= 90; id++ {
		sentence(id, &train)
	}
	train = append(train, []string{itoa(phrase + 1), "91", "None", "2"}, []string{itoa(phrase + 2), "91", "null", "2"})
	phrase += 2
	for id := 92; id <= 96; id++ {
		sentence(id, &test)
	}
	tsv := func(header []string, rows [][]string) *set {
		lines := []string{strings.Join(header, "\t")}
		for _, row := range rows {
			lines = append(lines, strings.Join(row[:len(header)], "\t"))
		}
		inside := s.part()
		inside.file(map[int]string{3: "test.tsv", 4: "train.tsv"}[len(header)], []byte(strings.Join(lines, "\n")+"\n"))
		return inside
	}
	s.zip("train.tsv.zip", tsv([]string{"PhraseId", "SentenceId", "Phrase", "Sentiment"}, train))
	s.zip("test.tsv.zip", tsv([]string{"PhraseId", "SentenceId", "Phrase"}, test))
	var sample [][]string
	for _, row := range test {
		sample = append(sample, []string{row[0], "2"})
	}
	s.csv("sampleSubmission.csv", []string{"PhraseId", "Sentiment"}, sample)
}

// learnMovieReview counts words in phrases of each sentiment.
func learnMovieReview(l *lesson) {
	read := func(name string) [][]string {
		var out [][]string
		for line := range strings.Lines(string(l.member(name+".zip", name))) {
			out = append(out, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
		}
		return out[1:]
	}
	var texts, labels []string
	for _, row := range read("train.tsv") {
		texts, labels = append(texts, row[2]), append(labels, row[3])
	}
	model, test := fitWordCounts(texts, labels), map[string]string{}
	for _, row := range read("test.tsv") {
		test[row[0]] = row[2]
	}
	l.submitLike("sampleSubmission.csv", []string{"Sentiment"}, func(r *rows, i int) []string {
		return []string{model.class(test[r.get(i, "PhraseId")])}
	})
}
