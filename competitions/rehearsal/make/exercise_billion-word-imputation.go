package main

import (
	"maps"
	"slices"
	"strings"
)

// sentenceBillion draws a sentence: most words follow from their neighbours, such as the
// preposition from the verb before it.
func sentenceBillion(s *set) string {
	verbs := map[string]string{"looked": "at", "listened": "to", "waited": "for", "insisted": "on", "consisted": "of", "differed": "from"}
	thing := func() string {
		return s.one("new", "old", "small", "local", "famous") + " " + s.one("company", "school", "market", "bridge", "election", "river", "report")
	}
	verb := s.one(slices.Sorted(maps.Keys(verbs))...)
	sentence := "The " + thing() + " has " + verb + " " + verbs[verb] + " the " + thing()
	switch s.IntN(6) {
	case 0:
		sentence = "\" " + sentence + " , \" said Mr. " + s.one("Smith", "Lee", "Brown")
	case 1:
		sentence += " in " + itoa(1990+s.IntN(20))
	case 2:
		sentence += " , and it will cost " + s.one("two", "five", "ten") + " million dollars"
	case 3:
		sentence += " because of the weather"
	}
	return sentence + " ."
}

// drawBillion draws a corpus: a missing word depends on its neighbours.
func drawBillion(s *set) {
	var lines []string
	for i := range 3100 {
		if i%400 == 399 {
			lines = append(lines, s.one("Yes .", "Why ?", "Café »"))
			continue
		}
		lines = append(lines, sentenceBillion(s))
	}
	train, test := s.part(), s.part()
	train.file("train_v2.txt", []byte(strings.Join(lines, "\n")+"\n"))
	given := "\"id\",\"sentence\"\n"
	for i := range 5 {
		words := strings.Fields(strings.ReplaceAll(sentenceBillion(s), `"`, `""`))
		words = slices.Delete(words, 2, 3)
		given += itoa(i+1) + ",\"" + strings.Join(words, " ") + "\"\n"
	}
	test.file("test_v2.txt", []byte(given))
	s.zip("train_v2.txt.zip", train)
	s.zip("test_v2.txt.zip", test)
}

// learnBillion looks for neighbours that never are in the corpus, and puts the word
// between them that was there most often.
func learnBillion(l *lesson) {
	pairs, between := map[[2]string]int{}, map[[2]string]map[string]int{}
	for line := range strings.Lines(string(l.member("train_v2.txt.zip", "train_v2.txt"))) {
		words := strings.Fields(line)
		for i := 1; i < len(words); i++ {
			pairs[[2]string{words[i-1], words[i]}]++
			if i == 1 {
				continue
			}
			around := [2]string{words[i-2], words[i]}
			if between[around] == nil {
				between[around] = map[string]int{}
			}
			between[around][words[i-1]]++
		}
	}
	given := readRows(l.member("test_v2.txt.zip", "test_v2.txt"))
	out := make([][]string, given.len())
	for i := range out {
		words := strings.Fields(given.get(i, "sentence"))
		for k := 1; k < len(words); k++ {
			around := [2]string{words[k-1], words[k]}
			best, most, all := "", 0, 0
			for _, w := range slices.Sorted(maps.Keys(between[around])) {
				all += between[around][w]
				if between[around][w] > most {
					best, most = w, between[around][w]
				}
			}
			if pairs[around] == 0 && most > 0 {
				words = slices.Insert(words, k, best)
				break
			}
		}
		out[i] = []string{given.get(i, "id"), strings.Join(words, " ")}
	}
	l.submit(given.header, out)
}
