package main

import (
	"math"
	"slices"
	"strings"
)

var labelsToxicComment = []string{"toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"}

// commentToxicComment draws a comment with line breaks and quotes, and its six labels.
func commentToxicComment(s *set) (text string, labels []string) {
	ordinary := strings.Fields("the article page please source edit talk about user reverted thanks section I you is not was and to of a link discussion see wikipedia because reference policy")
	rude := [][]string{
		{"nonsense", "shut", "silly", "pathetic"}, {"worst", "filthy", "vile"}, {"damn", "crap", "bloody"},
		{"hunt", "hurt", "punish"}, {"idiot", "fool", "moron"}, {"foreigners", "heathens", "peasants"},
	}
	has := make([]bool, len(rude))
	if has[0] = s.IntN(4) == 0; has[0] {
		for k, p := range []float64{1, 0.2, 0.5, 0.15, 0.5, 0.2} {
			has[k] = s.Float64() < p
		}
	}
	var words []string
	for range 6 + s.IntN(18) {
		words = append(words, s.one(ordinary...)+s.one("", "", "", "", "", ",", ".", "\n", "!\n\n"))
	}
	for k := range rude {
		if has[k] && s.IntN(8) > 0 || s.IntN(40) == 0 {
			word := s.one(rude[k]...)
			words = slices.Insert(words, s.IntN(len(words)), s.one(word, word, strings.ToUpper(word), `"`+word+`"`))
		}
		labels = append(labels, itoa(map[bool]int{true: 1}[has[k]]))
	}
	return strings.Join(words, " "), labels
}

// zipToxicComment adds an archive with a table whose header and first columns are quoted.
func zipToxicComment(s *set, name string, quoted int, header []string, rows [][]string) {
	var b strings.Builder
	for i, row := range append([][]string{header}, rows...) {
		for j, cell := range row {
			if i == 0 || j < quoted {
				cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
			}
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString(cell)
		}
		b.WriteByte('\n')
	}
	inside := s.part()
	inside.file(name, []byte(b.String()))
	s.zip(name+".zip", inside)
}

// drawToxicComment draws comments: each label depends on rude words of its own. Most
// test comments are not scored: their labels are -1.
func drawToxicComment(s *set) {
	header := append([]string{"id", "comment_text"}, labelsToxicComment...)
	var train, test, answers, sample [][]string
	for range 340 {
		text, labels := commentToxicComment(s)
		train = append(train, append([]string{s.hex(16), text}, labels...))
	}
	for i := range 200 {
		text, labels := commentToxicComment(s)
		id := s.hex(16)
		if s.Float64() < 0.55 {
			labels = slices.Repeat([]string{"-1"}, len(labels))
		}
		if i == 11 {
			text = "NA" // which reads as a missing text
		}
		test = append(test, []string{id, text})
		answers = append(answers, append([]string{id}, labels...))
		sample = append(sample, append([]string{id}, slices.Repeat([]string{"0.5"}, len(labels))...))
	}
	zipToxicComment(s, "train.csv", 2, header, train)
	zipToxicComment(s, "test.csv", 2, header[:2], test)
	header = slices.Delete(slices.Clone(header), 1, 2)
	zipToxicComment(s, "test_labels.csv", 1, header, answers)
	zipToxicComment(s, "sample_submission.csv", 1, header, sample)
}

// learnToxicComment counts words by label: naive Bayes.
func learnToxicComment(l *lesson) {
	split := func(text string) []string {
		return strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return c < 'a' || c > 'z' })
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	// The counts of each label: words and comments without it, and with it.
	counts, totals := map[string]*[2]float64{}, map[string]*[2]float64{}
	for i := range train.len() {
		words := split(train.get(i, "comment_text"))
		slices.Sort(words)
		for _, label := range labelsToxicComment {
			k := int(train.number(i, label))
			if totals[label] == nil {
				totals[label] = &[2]float64{}
			}
			totals[label][k]++
			for _, w := range slices.Compact(slices.Clone(words)) {
				if counts[label+" "+w] == nil {
					counts[label+" "+w] = &[2]float64{}
				}
				counts[label+" "+w][k]++
			}
		}
	}
	row := map[string]int{}
	for i := range test.len() {
		row[test.get(i, "id")] = i
	}
	l.submitLike("sample_submission.csv", labelsToxicComment, func(r *rows, i int) (out []string) {
		for _, label := range labelsToxicComment {
			odds := math.Log(totals[label][1] / totals[label][0])
			for _, w := range split(test.get(row[r.get(i, "id")], "comment_text")) {
				if c := counts[label+" "+w]; c != nil {
					odds += math.Log((c[1]+0.5)/(totals[label][1]+1)) - math.Log((c[0]+0.5)/(totals[label][0]+1))
				}
			}
			out = append(out, ftoa(1/(1+math.Exp(-odds)), 8))
		}
		return out
	})
}
