package main

import (
	"slices"
	"strings"
)

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
		for w := range strings.FieldsSeq(train.get(i, "text")) {
			seen[sentiment+w]++
			if slices.Contains(selected, w) {
				chosen[sentiment+w]++
			}
		}
	}
	l.submitLike("sample_submission.csv", []string{"selected_text"}, func(_ *rows, i int) []string {
		var words []string
		for w := range strings.FieldsSeq(test.get(i, "text")) {
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
