package main

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// languageChaii has what questions and articles of a language are made of: syllables,
// properties that a thing may have, an interrogative and an end of sentences.
type languageChaii struct {
	name, syllables, properties, which, end string
}

var languagesChaii = []languageChaii{
	{"hindi", "का मी रो ने सु ता ली पू दे शा ब ग", "राजधानी जनसंख्या स्थापना भाषा नदी मुद्रा लेखक", "क्या है?", "है।"},
	{"tamil", "கா மீ ரோ நே சு தா லி பூ தே வா ப ம", "தலைநகரம் மொழி ஆறு நாணயம் எழுத்தாளர் தொடக்கம்", "என்ன?", "ஆகும்."},
}

// wordChaii draws a name.
func (g languageChaii) wordChaii(s *set) string {
	word := ""
	for range 2 + s.IntN(2) {
		word += s.one(strings.Fields(g.syllables)...)
	}
	return word
}

// drawChaii draws articles with a question each: the answer stands in the article's
// sentence that has the question's words.
func drawChaii(s *set) {
	var train, test, sample [][]string
	for i := range 240 {
		g := languagesChaii[s.weighted(2, 1)]
		subject := g.wordChaii(s) + " " + g.wordChaii(s)
		properties := strings.Fields(g.properties)
		s.Shuffle(len(properties), func(i, j int) { properties[i], properties[j] = properties[j], properties[i] })
		properties = properties[:3+s.IntN(3)]
		asked := s.IntN(len(properties))
		context, answer, start := subject+" ("+g.wordChaii(s)+") \""+g.wordChaii(s)+"\" "+g.end, "", 0
		for k, property := range properties {
			value := g.wordChaii(s)
			switch s.IntN(5) {
			case 0:
				value = itoa(1000 + s.IntN(1020))
			case 1:
				value += " " + g.wordChaii(s)
			}
			context += s.one(" ", "\n", "\n\n") + subject + " " + property + " "
			if k == asked {
				answer, start = value, utf8.RuneCountInString(context)
			}
			context += value + " " + g.end
		}
		question := subject + " " + properties[asked] + " " + g.which
		row := []string{s.hex(9), context, question}
		if i >= 235 {
			test = append(test, append(row, g.name))
			sample = append(sample, []string{row[0], ""})
			continue
		}
		train = append(train, append(row, answer, itoa(start), g.name))
	}
	s.csv("train.csv", strings.Fields("id context question answer_text answer_start language"), train)
	s.csv("test.csv", strings.Fields("id context question language"), test)
	s.csv("sample_submission.csv", []string{"id", "PredictionString"}, sample)
}

// learnChaii finds the sentence with the most words of the question, and answers with
// its other words, save those that are common in the articles.
func learnChaii(l *lesson) {
	train, test := l.rows("train.csv"), l.rows("test.csv")
	articles := map[string]int{}
	for i := range train.len() {
		words := strings.Fields(train.get(i, "context"))
		slices.Sort(words)
		for _, w := range slices.Compact(words) {
			articles[w]++
		}
	}
	answer := func(context, question string) string {
		asked, best, most := strings.Fields(question), []string{}, -1
		sentences := strings.NewReplacer("।", "।\n", ". ", ".\n").Replace(context)
		for sentence := range strings.SplitSeq(sentences, "\n") {
			var rest []string
			shared := 0
			for w := range strings.FieldsSeq(sentence) {
				if slices.Contains(asked, w) {
					shared++
				} else if articles[w] < train.len()/8 {
					rest = append(rest, w)
				}
			}
			if shared > most {
				best, most = rest, shared
			}
		}
		return strings.Join(best, " ") + " "
	}
	l.submitLike("sample_submission.csv", []string{"PredictionString"}, func(_ *rows, i int) []string {
		return []string{answer(test.get(i, "context"), test.get(i, "question"))}
	})
}
