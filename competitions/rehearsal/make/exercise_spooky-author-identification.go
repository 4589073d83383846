package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// quotedSpooky is a table with all fields quoted.
func quotedSpooky(header []string, rows [][]string) []byte {
	var b strings.Builder
	for _, row := range append([][]string{header}, rows...) {
		for i, cell := range row {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"` + strings.ReplaceAll(cell, `"`, `""`) + `"`)
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

// drawSpooky draws sentences: each author prefers some words.
func drawSpooky(s *set) {
	authors := []string{"EAP", "HPL", "MWS"}
	favorites := [][]string{
		{"upon", "length", "matter", "chamber", "reason", "altogether", "visage"},
		{"ancient", "hideous", "street", "cosmic", "dream", "unknown", "daemon"},
		{"heart", "father", "love", "misery", "spirit", "tears", "mountain"},
	}
	common := []string{"the", "of", "and", "a", "in", "I", "was", "that", "it", "night", "man", "old", "house", "which", "could", "never", "eyes", "seemed"}
	sentence := func(author int) string {
		var words []string
		for range 6 + s.IntN(16) {
			switch s.weighted(12, 3, 1) {
			case 0:
				words = append(words, s.one(common...))
			case 1:
				words = append(words, s.one(favorites[author]...))
			default:
				words = append(words, s.one(favorites[s.IntN(3)]...)+s.one(",", ",", ";", `, "ah",`))
			}
		}
		text := strings.Join(words, " ")
		return strings.ToUpper(text[:1]) + text[1:] + "."
	}
	var train, test, sample [][]string
	ids := s.Perm(27971)
	for i := range 400 {
		author := s.weighted(40, 29, 31)
		train = append(train, []string{fmt.Sprintf("id%05d", ids[i]), sentence(author), authors[author]})
	}
	for i := range 10 {
		id := fmt.Sprintf("id%05d", ids[400+i])
		test = append(test, []string{id, sentence(i % 3)})
		sample = append(sample, []string{id, "0.403493538995863", "0.287808366106543", "0.308698094897594"})
	}
	inside := func(archive, name string, content []byte) {
		p := s.part()
		p.file(name, content)
		s.zip(archive, p)
	}
	inside("train.zip", "train.csv", quotedSpooky([]string{"id", "text", "author"}, train))
	inside("test.zip", "test.csv", quotedSpooky([]string{"id", "text"}, test))
	inside("sample_submission.zip", "sample_submission.csv", quotedSpooky([]string{"id", "EAP", "HPL", "MWS"}, sample))
}

// learnSpooky counts words by author: naive Bayes.
func learnSpooky(l *lesson) {
	split := func(text string) []string {
		return strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return c < 'a' || c > 'z' })
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	counts, totals, sentences := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for i := range train.len() {
		author := train.get(i, "author")
		sentences[author]++
		for _, w := range split(train.get(i, "text")) {
			counts[author+w]++
			totals[author]++
		}
	}
	authors := []string{"EAP", "HPL", "MWS"}
	l.submitLike("sample_submission.csv", authors, func(_ *rows, i int) []string {
		p, sum := make([]float64, len(authors)), 0.0
		for k, author := range authors {
			p[k] = math.Log(sentences[author] / float64(train.len()))
			for _, w := range split(test.get(i, "text")) {
				p[k] += math.Log((counts[author+w] + 1) / (totals[author] + 50))
			}
		}
		top := slices.Max(p)
		for k := range p {
			p[k] = math.Exp(p[k]-top) + 1e-3
			sum += p[k]
		}
		var cells []string
		for _, v := range p {
			cells = append(cells, strconv.FormatFloat(v/sum, 'g', -1, 64))
		}
		return cells
	})
}
