package main

import (
	"slices"
	"strings"
)

var (
	identitiesUnintendedBias = strings.Fields(`asian atheist bisexual black buddhist christian female heterosexual hindu
homosexual_gay_or_lesbian intellectual_or_learning_disability jewish latino male muslim other_disability other_gender
other_race_or_ethnicity other_religion other_sexual_orientation physical_disability psychiatric_or_mental_illness
transgender white`)
	gradedUnintendedBias = strings.Fields("male female homosexual_gay_or_lesbian christian jewish muslim black white psychiatric_or_mental_illness")
)

// commentUnintendedBias draws the cells of a comment by name: most toxic comments have a
// rude word, and few others do.
func commentUnintendedBias(s *set) map[string]string {
	toxic := s.weighted(2, 1) == 1
	words := []string{}
	for range 6 + s.IntN(10) {
		words = append(words, s.one("the", "city", "council", "people", "vote", "money", "law", "school", "time", "state", "news", "church", "you", "they", "will", "not", "and", "is", "of", "paper"))
	}
	rude := s.one("idiots", "stupid", "pathetic", "fools", "garbage", "ignorant")
	if toxic != (s.IntN(12) == 0) {
		words[s.IntN(len(words))] = rude
	}
	row := map[string]string{"created_date": "2017-0" + itoa(1+s.IntN(9)) + "-1" + itoa(s.IntN(10)) + " 0" + itoa(s.IntN(10)) + ":14:41.12" + itoa(1000+s.IntN(9000)) + "+00", "publication_id": itoa(2 + s.IntN(100)), "parent_id": "", "article_id": itoa(320000 + s.IntN(60000)), "rating": s.one("approved", "approved", "approved", "rejected")}
	if s.IntN(2) == 0 {
		row["parent_id"] = itoa(5000000+s.IntN(1000000)) + ".0"
	}
	for name := range strings.FieldsSeq("severe_toxicity obscene identity_attack insult threat sexual_explicit") {
		row[name] = "0.0"
	}
	row["toxicity"] = s.one("0.0", "0.0", "0.16666666666666666", "0.3")
	if toxic {
		row["toxicity"] = s.one("0.5", "0.6", "0.8333333333333334", "0.9")
		row["insult"] = row["toxicity"]
	}
	for name := range strings.FieldsSeq("funny wow sad likes disagree") {
		row[name] = itoa(s.weighted(6, 2, 1))
	}
	row["identity_annotator_count"], row["toxicity_annotator_count"] = "0", s.one("4", "10")
	if s.IntN(5) > 0 {
		row["identity_annotator_count"] = "4"
		for _, name := range identitiesUnintendedBias {
			row[name] = "0.0"
			graded := slices.Contains(gradedUnintendedBias, name)
			if graded && s.IntN(6) == 0 || s.IntN(40) == 0 {
				row[name] = s.one("0.25", "0.5", "1.0", "1.0")
				words = append(words, strings.ReplaceAll(name, "_", " "))
			}
		}
	}
	row["comment_text"] = strings.Join(words, " ") + s.one(".", "!", "", "?\n\nNo, \"thanks\".")
	return row
}

// drawUnintendedBias draws comments: toxicity depends on rude words.
func drawUnintendedBias(s *set) {
	scores := strings.Fields("severe_toxicity obscene identity_attack insult threat")
	about := strings.Fields("created_date publication_id parent_id article_id rating funny wow sad likes disagree")
	counts := []string{"identity_annotator_count", "toxicity_annotator_count"}
	train := slices.Concat([]string{"id", "target", "comment_text"}, scores, identitiesUnintendedBias, about, []string{"sexual_explicit"}, counts)
	private := slices.Concat([]string{"id", "comment_text"}, about, strings.Fields("toxicity severe_toxicity obscene sexual_explicit identity_attack insult threat"), identitiesUnintendedBias, counts)
	draw := func(n, first int, header []string) [][]string {
		var out [][]string
		for i := range n {
			comment := commentUnintendedBias(s)
			comment["id"], comment["target"] = itoa(first+i*7+s.IntN(7)), comment["toxicity"]
			row := make([]string, len(header))
			for j, name := range header {
				row[j] = comment[name]
			}
			out = append(out, row)
		}
		return out
	}
	s.csv("train.csv", train, draw(400, 59848, train))
	expanded := draw(250, 7000000, private)
	s.csv("test_private_expanded.csv", private, expanded)
	var test, sample [][]string
	for _, row := range expanded {
		test = append(test, row[:2])
		sample = append(sample, []string{row[0], "0.0"})
	}
	s.csv("test.csv", private[:2], test)
	s.csv("sample_submission.csv", []string{"id", "prediction"}, sample)
}

// learnUnintendedBias counts words in toxic and other comments.
func learnUnintendedBias(l *lesson) {
	train := l.rows("train.csv")
	var texts, labels []string
	for i := range train.len() {
		texts = append(texts, train.get(i, "comment_text"))
		labels = append(labels, itoa(int(train.number(i, "target")+0.5)))
	}
	model, test := fitWordCounts(texts, labels), l.rows("test.csv")
	l.submitLike("sample_submission.csv", []string{"prediction"}, func(r *rows, i int) []string {
		return []string{model.class(test.get(i, "comment_text"))}
	})
}
