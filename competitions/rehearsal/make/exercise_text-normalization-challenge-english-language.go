package main

import (
	"strings"
)

// tokenNormEnglish returns the class of a token, how it is written and how it is spoken.
func tokenNormEnglish(s *set) [3]string {
	ones := []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
	months := []string{"January", "March", "May", "June", "August", "October"}
	ordinals := []string{"first", "second", "third", "fourth", "fifth", "sixth"}
	switch s.weighted(70, 10, 4, 4, 4, 2, 2, 1, 1, 1) {
	case 0:
		word := s.one("the", "The", "of", "in", "and", "a", "was", "born", "town", "river", "album", "he", "station", "team", "family", "is")
		return [3]string{"PLAIN", word, word}
	case 1:
		mark := s.one(",", "(", ")", ";")
		return [3]string{"PUNCT", mark, mark}
	case 2:
		n := s.IntN(len(ones))
		return [3]string{"CARDINAL", itoa(n), ones[n]}
	case 3:
		month, day := s.one(months...), 1+s.IntN(len(ordinals))
		spoken := "the " + ordinals[day-1] + " of " + strings.ToLower(month)
		return [3]string{"DATE", itoa(day) + " " + month, spoken}
	case 4:
		letters := s.one("BBC", "US", "UK", "FC", "NASA", "II")
		if letters == "II" {
			return [3]string{"CARDINAL", "II", "two"}
		}
		return [3]string{"LETTERS", letters, strings.ToLower(strings.Join(strings.Split(letters, ""), " "))}
	case 5:
		n := 1 + s.IntN(len(ordinals))
		suffix := []string{"st", "nd", "rd", "th", "th", "th"}[n-1]
		return [3]string{"ORDINAL", itoa(n) + suffix, ordinals[n-1]}
	case 6:
		n := 2 + s.IntN(5)
		return [3]string{"MEASURE", itoa(n) + " km", ones[n] + " kilometers"}
	case 7:
		n := 2 + s.IntN(5)
		return [3]string{"MONEY", "$" + itoa(n), ones[n] + " dollars"}
	case 8:
		return [3]string{"VERBATIM", "&", "and"}
	default:
		return [3]string{"PLAIN", "null", "null"}
	}
}

// drawNormEnglish draws sentences of tokens: how a token is spoken depends on how it is
// written. Text is quoted, numbers are not; some tokens read like a missing value.
func drawNormEnglish(s *set) {
	s.normalization("en", 250, 5, 5, func(string) [3]string { return tokenNormEnglish(s) })
}

// learnNormEnglish looks tokens up: the last spoken form of the same written one.
func learnNormEnglish(l *lesson) {
	train, spoken := readRows(l.member("en_train.csv.zip", "en_train.csv")), map[string]string{}
	for i := range train.len() {
		spoken[train.get(i, "before")] = train.get(i, "after")
	}
	sample := readRows(l.member("en_sample_submission_2.csv.zip", "en_sample_submission_2.csv"))
	for i, row := range sample.cells {
		if after, ok := spoken[sample.get(i, "after")]; ok {
			row[sample.at("after")] = after
		}
	}
	l.submit(sample.header, sample.cells)
}
