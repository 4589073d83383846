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

var feelingsTweet = map[string][]string{
	"positive": strings.Fields("love great happy thanks awesome good fun nice best hope"),
	"negative": strings.Fields("sad hate sorry miss bad sick tired hurts worst bored"),
	"neutral":  {"ok"},
}

// drawTweet draws tweets: the selected text is that of the words that carry the sentiment,
// and all of a neutral or very short tweet.
func drawTweet(s *set) {
	plain := strings.Fields("i my the to going work today day just home now is on at it this what with school http://twitpic.com/4w75p **** u im lol... #followfriday morning, tonight @ and a for")
	var train, test, sample [][]string
	for i := range 500 {
		sentiment := []string{"neutral", "positive", "negative"}[s.weighted(4, 3, 3)]
		words := make([]string, 4+s.IntN(12))
		for k := range words {
			words[k] = s.one(plain...)
		}
		at, length := s.IntN(len(words)-1), 1+s.IntN(2)
		for k := at; sentiment != "neutral" && k < at+length; k++ {
			words[k] = s.one(feelingsTweet[sentiment]...) + s.one("", "", "!", "!!", ".")
		}
		text := s.one("", "", " ") + strings.Join(words, " ")
		selected := strings.Join(words[at:at+length], " ")
		if sentiment == "neutral" || len(words) < 5 {
			selected = strings.TrimSpace(text)
		}
		id := s.hex(10)
		switch {
		case i >= 490:
			test = append(test, []string{id, text, sentiment})
			sample = append(sample, []string{id, ""})
		case i == 314: // the original's one gap
			train = append(train, []string{id, "", "", "neutral"})
		default:
			train = append(train, []string{id, text, selected, sentiment})
		}
	}
	s.csv("train.csv", []string{"textID", "text", "selected_text", "sentiment"}, train)
	s.csv("test.csv", []string{"textID", "text", "sentiment"}, test)
	s.csv("sample_submission.csv", []string{"textID", "selected_text"}, sample)
}

// learnTweet selects the words that were selected more often than not in tweets of the
// sentiment, and all of a tweet without such words.
func learnTweet(l *lesson) {
	train, test := l.rows("train.csv"), l.rows("test.csv")
	seen, chosen := map[string]int{}, map[string]int{}
	for i := range train.len() {
		sentiment, selected := train.get(i, "sentiment"), strings.Fields(train.get(i, "selected_text"))
		for _, w := range strings.Fields(train.get(i, "text")) {
			seen[sentiment+w]++
			if slices.Contains(selected, w) {
				chosen[sentiment+w]++
			}
		}
	}
	l.submitLike("sample_submission.csv", []string{"selected_text"}, func(_ *rows, i int) []string {
		var words []string
		for _, w := range strings.Fields(test.get(i, "text")) {
			if key := test.get(i, "sentiment") + w; 2*chosen[key] > seen[key] {
				words = append(words, w)
			}
		}
		if len(words) == 0 {
			return []string{test.get(i, "text")}
		}
		return []string{strings.Join(words, " ")}
	})
}
