package main

import (
	"strings"
)

// tokenNormRussian returns the class of a token, how it is written and how it is spoken.
func tokenNormRussian(s *set, previous string) [3]string {
	ones := strings.Fields("ноль один два три четыре пять шесть семь восемь девять десять")
	genitive := strings.Fields("нуля одного двух трех четырех пяти шести семи восьми девяти десяти")
	days := strings.Fields("первого второго третьего четвертого пятого шестого")
	switch s.weighted(72, 9, 5, 4, 3, 2, 2, 1, 1, 1) {
	case 0:
		word := s.one("в", "и", "на", "с", "до", "река", "город", "был", "год", "В", "Он", "команда", "по", "из", "который", "время")
		return [3]string{"PLAIN", word, word}
	case 1:
		mark := s.one(",", "—", "(", ")", "«", "»")
		return [3]string{"PUNCT", mark, mark}
	case 2:
		n := s.IntN(len(ones))
		if previous == "до" || previous == "из" || s.IntN(6) == 0 {
			return [3]string{"CARDINAL", itoa(n), genitive[n]}
		}
		return [3]string{"CARDINAL", itoa(n), ones[n]}
	case 3:
		day, month := 1+s.IntN(len(days)), s.one("января", "марта", "мая", "июня", "августа")
		return [3]string{"DATE", itoa(day) + " " + month, days[day-1] + " " + month}
	case 4:
		letters := s.one("США", "ВВС", "АН", "МГУ")
		return [3]string{"LETTERS", letters, strings.ToLower(strings.Join(strings.Split(letters, ""), " "))}
	case 5:
		n := 1 + s.IntN(len(days))
		return [3]string{"ORDINAL", itoa(n) + "-го", days[n-1]}
	case 6:
		n := 5 + s.IntN(6)
		return [3]string{"MEASURE", itoa(n) + " км", ones[n] + " километров"}
	case 7:
		spelled := map[string]string{"Iron": "а_trans й_trans р_trans о_trans н_trans", "Rock": "р_trans о_trans к_trans", "Linux": "л_trans и_trans н_trans у_trans к_trans с_trans"}
		word := s.one("Iron", "Linux", "Rock")
		return [3]string{"PLAIN", word, spelled[word]}
	case 8:
		return [3]string{"VERBATIM", "№", "номер"}
	default:
		return [3]string{"PLAIN", "nan", "nan"}
	}
}

// drawNormRussian draws sentences of tokens: how a token is spoken depends on how it is
// written, and a number's case mostly on the word before. Text is quoted, numbers are not; some
// tokens read like a missing value.
func drawNormRussian(s *set) {
	s.normalization("ru", 240, 5, 4, func(previous string) [3]string { return tokenNormRussian(s, previous) })
}

// learnNormRussian looks tokens up: the last spoken form after the same word, or else
// the last one.
func learnNormRussian(l *lesson) {
	train, spoken := readRows(l.member("ru_train.csv.zip", "ru_train.csv")), map[[2]string]string{}
	previous := ""
	for i := range train.len() {
		before := train.get(i, "before")
		spoken[[2]string{previous, before}] = train.get(i, "after")
		spoken[[2]string{"", before}] = train.get(i, "after")
		previous = before
	}
	test := readRows(l.member("ru_test_2.csv.zip", "ru_test_2.csv"))
	var out [][]string
	previous = ""
	for i := range test.len() {
		before := test.get(i, "before")
		after, ok := spoken[[2]string{previous, before}]
		if !ok {
			after, ok = spoken[[2]string{"", before}]
		}
		if !ok {
			after = before
		}
		out = append(out, []string{test.get(i, "sentence_id") + "_" + test.get(i, "token_id"), after})
		previous = before
	}
	l.submit([]string{"id", "after"}, out)
}
