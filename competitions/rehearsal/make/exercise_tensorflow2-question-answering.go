package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// These are lines of the questions' files; the names and their order are the original's.
type (
	spanAnswers struct {
		Start int `json:"start_token"`
		End   int `json:"end_token"`
	}
	candidateAnswers struct {
		Start int  `json:"start_token"`
		Top   bool `json:"top_level"`
		End   int  `json:"end_token"`
	}
	longAnswers struct {
		Start     int `json:"start_token"`
		Candidate int `json:"candidate_index"`
		End       int `json:"end_token"`
	}
	annotationAnswers struct {
		YesNo string        `json:"yes_no_answer"`
		Long  longAnswers   `json:"long_answer"`
		Short []spanAnswers `json:"short_answers"`
		ID    uint64        `json:"annotation_id"`
	}
	trainAnswers struct {
		Document    string              `json:"document_text"`
		Candidates  []candidateAnswers  `json:"long_answer_candidates"`
		Question    string              `json:"question_text"`
		Annotations []annotationAnswers `json:"annotations"`
		URL         string              `json:"document_url"`
		ID          any                 `json:"example_id"`
	}
	testAnswers struct {
		ID         any                `json:"example_id"`
		Question   string             `json:"question_text"`
		Document   string             `json:"document_text"`
		Candidates []candidateAnswers `json:"long_answer_candidates"`
	}
)

// drawAnswers draws questions about invented places. A passage that answers has the words
// of the question, and certain words come right before a short answer; every second
// question is on a page without an answer.
func drawAnswers(s *set) {
	var train, test bytes.Buffer
	var sample [][]string
	write := func(to *bytes.Buffer, v any) {
		e := json.NewEncoder(to)
		e.SetEscapeHTML(false)
		must(e.Encode(v))
	}
	for range 260 {
		q := s.questionAnswers()
		q.ID = int64(s.Uint64()) //nolint:gosec // negative ones too
		write(&train, q)
	}
	for range 12 {
		q := s.questionAnswers()
		id := itoa(int(int64(s.Uint64()))) //nolint:gosec // negative ones too
		write(&test, testAnswers{id, q.Question, q.Document, q.Candidates})
		sample = append(sample, []string{id + "_long", ""}, []string{id + "_short", ""})
	}
	s.file("simplified-nq-train.jsonl", train.Bytes())
	s.file("simplified-nq-test.jsonl", test.Bytes())
	s.csv("sample_submission.csv", []string{"example_id", "PredictionString"}, sample)
}

// wordAnswers returns an invented word.
func (s *set) wordAnswers() string {
	return s.one("Bar", "Cor", "Del", "Fen", "Gal", "Hol", "Mor", "Tan") + s.one("a", "e", "i", "o") + s.one("bury", "don", "ford", "mere", "stan", "ville")
}

func (s *set) questionAnswers() trainAnswers {
	subject := "the " + s.wordAnswers() + " " + s.one("bridge", "castle", "library", "museum", "opera", "theatre")
	person, year := s.wordAnswers()+" "+s.wordAnswers(), itoa(1750+s.IntN(250))
	q := trainAnswers{
		URL:         "https://en.wikipedia.org//w/index.php?title=" + strings.ReplaceAll(subject, " ", "_") + "&amp;oldid=" + itoa(800000000+s.IntN(50000000)),
		Annotations: []annotationAnswers{{YesNo: "NONE", Long: longAnswers{-1, -1, -1}, Short: []spanAnswers{}, ID: s.Uint64()}},
	}
	a := &q.Annotations[0]
	fact, answer := "", ""
	switch s.weighted(5, 4, 1) {
	case 0:
		q.Question = "who built " + subject
		fact, answer = subject+" was built by "+person+" in stone .", person
	case 1:
		q.Question = "when was " + subject + " opened"
		fact, answer = subject+" was opened to the public in the year "+year+" .", year
	case 2:
		q.Question = "is " + subject + " open in winter"
		fact, answer = subject+" is open in summer and in winter .", "YES"
	}
	q.Question = strings.ToLower(q.Question)
	if s.Float64() < 0.45 {
		fact = ""
	} else if s.Float64() < 0.25 {
		fact, answer = strings.Replace(fact, answer, "unknown people", 1), ""
	}
	words := strings.Fields(subject + " - wikipedia <H1> " + subject + " </H1>")
	passages := 2 + s.IntN(3)
	at := s.IntN(passages)
	for k := range passages {
		start := len(words)
		tag := s.one("P", "P", "P", "Table")
		words = append(words, "<"+tag+">")
		words = append(words, s.fillerAnswers()...)
		if k == at && fact != "" {
			before := len(words)
			words = append(words, strings.Fields(fact)...)
			switch n := len(strings.Fields(answer)); {
			case answer == "YES":
				a.YesNo = answer
			case n > 0:
				first := before + len(strings.Fields(fact[:strings.LastIndex(fact, answer)]))
				a.Short = append(a.Short, spanAnswers{first, first + n})
			}
		}
		words = append(append(words, s.fillerAnswers()...), "</"+tag+">")
		if k == at && fact != "" {
			a.Long = longAnswers{start, k, len(words)}
		}
		q.Candidates = append(q.Candidates, candidateAnswers{start, s.Float64() < 0.9, len(words)})
	}
	q.Document = strings.Join(words, " ")
	return q
}

func (s *set) fillerAnswers() (words []string) {
	for range s.IntN(3) {
		words = append(words, strings.Fields(s.one("It", "The town", "A small river", "The old road", "This part of the country")+" "+
			s.one("lies near", "was named after", "is north of", "belongs to", "was drawn by")+" "+s.wordAnswers()+" .")...)
	}
	return words
}

func linesAnswers[T any](data []byte) (all []T) {
	for line := range bytes.Lines(data) {
		var v T
		must(json.Unmarshal(line, &v))
		all = append(all, v)
	}
	return all
}

// overlapAnswers returns the candidate with most words of the question, and their share.
func overlapAnswers(question, document string, candidates []candidateAnswers) (best int, share float64) {
	asked, words := strings.Fields(question), strings.Fields(document)
	for k, c := range candidates {
		has, n := strings.Fields(strings.ToLower(strings.Join(words[c.Start:c.End], " "))), 0.0
		for _, w := range asked {
			if slices.Contains(has, w) {
				n++
			}
		}
		if v := n / float64(len(asked)); v > share {
			best, share = k, v
		}
	}
	return best, share
}

// cuesAnswers are counts of two words within a passage that answers: how often a short
// answer follows, and how long it is.
type cuesAnswers struct {
	all, right, size map[string]int
}

// find returns the most promising short answer of a passage.
func (c cuesAnswers) find(words []string, start, end int) (from, to int) {
	best := 0.3
	for k := start + 2; k < end; k++ {
		cue := words[k-2] + " " + words[k-1]
		if rate := float64(c.right[cue]) / float64(1+c.all[cue]); rate > best {
			best, from, to = rate, k, k+c.size[cue]
		}
	}
	return from, to
}

// learnAnswers picks the passage that shares most words with the question, if they are as
// many as in most passages that answer, and the words after a known cue.
func learnAnswers(l *lesson) {
	cues := cuesAnswers{map[string]int{}, map[string]int{}, map[string]int{}}
	yesNo := map[string]map[string]int{}
	var with, without []float64
	for _, q := range linesAnswers[trainAnswers](l.file("simplified-nq-train.jsonl")) {
		a, words := q.Annotations[0], strings.Fields(q.Document)
		_, share := overlapAnswers(q.Question, q.Document, q.Candidates)
		if a.Long.Start < 0 {
			without = append(without, share)
			continue
		}
		with = append(with, share)
		first := strings.Fields(q.Question)[0]
		if yesNo[first] == nil {
			yesNo[first] = map[string]int{}
		}
		yesNo[first][a.YesNo]++
		for k := a.Long.Start + 2; k < a.Long.End; k++ {
			cue := words[k-2] + " " + words[k-1]
			cues.all[cue]++
			if len(a.Short) > 0 && a.Short[0].Start == k {
				cues.right[cue]++
				cues.size[cue] = a.Short[0].End - k
			}
		}
	}
	limit := (mean(with) + mean(without)) / 2
	predictions := map[string]string{}
	for _, q := range linesAnswers[testAnswers](l.file("simplified-nq-test.jsonl")) {
		best, share := overlapAnswers(q.Question, q.Document, q.Candidates)
		if share < limit {
			continue
		}
		c, id := q.Candidates[best], q.ID.(string)
		predictions[id+"_long"] = itoa(c.Start) + ":" + itoa(c.End)
		if n := yesNo[strings.Fields(q.Question)[0]]; n["YES"] > n["NONE"] {
			predictions[id+"_short"] = "YES"
		} else if from, to := cues.find(strings.Fields(q.Document), c.Start, c.End); to > 0 {
			predictions[id+"_short"] = itoa(from) + ":" + itoa(to)
		}
	}
	l.submitLike("sample_submission.csv", []string{"PredictionString"}, func(r *rows, i int) []string {
		return []string{predictions[r.get(i, "example_id")]}
	})
}
