package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

var (
	textQuest = strings.Split("qa_id,question_title,question_body,question_user_name,question_user_page,answer,answer_user_name,answer_user_page,url,category,host", ",")
	// targetsQuest are those of the question first, then those of the answer.
	targetsQuest = strings.Fields(`question_asker_intent_understanding question_body_critical
question_conversational question_expect_short_answer question_fact_seeking
question_has_commonly_accepted_answer question_interestingness_others question_interestingness_self
question_multi_intent question_not_really_a_question question_opinion_seeking
question_type_choice question_type_compare question_type_consequence question_type_definition
question_type_entity question_type_instructions question_type_procedure
question_type_reason_explanation question_type_spelling question_well_written answer_helpful
answer_level_of_information answer_plausible answer_relevance answer_satisfaction
answer_type_instructions answer_type_procedure answer_type_reason_explanation answer_well_written`)
	hostsQuest = map[string]string{
		"CULTURE": "english.stackexchange.com", "LIFE_ARTS": "diy.stackexchange.com", "SCIENCE": "physics.stackexchange.com",
		"STACKOVERFLOW": "stackoverflow.com", "TECHNOLOGY": "askubuntu.com",
	}
)

// drawQuest draws questions with one or two answers: the qualities depend on the share of
// the words "clear" and "detail" in the question and in the answer.
func drawQuest(s *set) {
	user := func(host string) (string, string) {
		name := "user" + itoa(1000+s.IntN(9000))
		return name, "https://" + host + "/users/" + itoa(s.IntN(90000))
	}
	var train [][]string
	id := 0
	for question := range 160 {
		category := s.one("CULTURE", "LIFE_ARTS", "SCIENCE", "STACKOVERFLOW", "STACKOVERFLOW", "TECHNOLOGY", "TECHNOLOGY")
		host := hostsQuest[category]
		asked := s.Float64()
		title, body := strings.TrimSpace(textOfQuest(s, asked, 4))+"?", textOfQuest(s, asked, 10)
		asker, askerPage := user(host)
		for range 1 + s.weighted(3, 2) {
			answered := s.Float64()
			answerer, answererPage := user(host)
			row := []string{
				itoa(id), title, body, asker, askerPage, textOfQuest(s, answered, 12), answerer, answererPage,
				fmt.Sprintf("http://%s/questions/%d/%d", host, 1000+question, question), category, host,
			}
			for k, target := range targetsQuest {
				row = append(row, qualityQuest(s, target, k, asked, answered))
			}
			train = append(train, row)
			id += 1 + s.IntN(2)
		}
	}
	var test, sample [][]string
	for _, row := range train[:3] {
		test = append(test, append([]string{itoa(id)}, row[1:11]...))
		id++
		line := []string{itoa(id - 1)}
		for range targetsQuest {
			line = append(line, "0.00308")
		}
		sample = append(sample, line)
	}
	s.csv("train.csv", append(slices.Clone(textQuest), targetsQuest...), train)
	s.csv("test.csv", textQuest, test)
	s.csv("sample_submission.csv", append([]string{"qa_id"}, targetsQuest...), sample)
}

// textOfQuest is a text of so many words of which a share is good.
func textOfQuest(s *set, share float64, words int) string {
	var b strings.Builder
	for range words {
		if s.Float64() < share {
			b.WriteString(s.one("clear ", "detail "))
		} else {
			b.WriteString(s.one("thing, ", "maybe ", "how ", "the ", "some\r\n"))
		}
	}
	return b.String()
}

// qualityQuest is a rating by three people in thirds or sixths.
func qualityQuest(s *set, target string, k int, asked, answered float64) string {
	if target == "question_type_spelling" {
		return []string{"0.0", "0.3333333333333333"}[s.weighted(40, 1+2*asked)]
	}
	share := asked
	if strings.HasPrefix(target, "answer") {
		share = answered
	}
	if k%3 == 1 {
		share = 1 - share
	}
	steps := float64(3 * (1 + k%2))
	v := math.Round(steps*min(1, max(0, share+s.normal(0, 0.15)))) / steps
	if v == math.Trunc(v) {
		return ftoa(v, 1)
	}
	return ftoa(v, 16)
}

// featuresQuest are the shares of good words, and the lengths of the texts, which keep a
// prediction from being constant.
func featuresQuest(r *rows, i int) []float64 {
	var x []float64
	for _, column := range []string{"question_body", "answer"} {
		text := r.get(i, column)
		good := strings.Count(text, "clear") + strings.Count(text, "detail")
		x = append(x, float64(good)/float64(1+len(strings.Fields(text))), float64(len(text))/100)
	}
	return x
}

// learnQuest fits a regression for each quality.
func learnQuest(l *lesson) {
	train, test := l.rows("train.csv"), l.rows("test.csv")
	var x [][]float64
	for i := range train.len() {
		x = append(x, featuresQuest(train, i))
	}
	models := make([]linear, len(targetsQuest))
	for k, target := range targetsQuest {
		var y []float64
		for i := range train.len() {
			y = append(y, train.number(i, target))
		}
		models[k] = fitLinear(x, y)
	}
	l.submitLike("sample_submission.csv", targetsQuest, func(_ *rows, i int) []string {
		var out []string
		for _, m := range models {
			out = append(out, ftoa(min(1, max(0, m.predict(featuresQuest(test, i)))), 8))
		}
		return out
	})
}
