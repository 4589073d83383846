package main

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// fieldsPizza are the fields of a request that the test file has.
var fieldsPizza = []string{
	"giver_username_if_known", "request_id", "request_text_edit_aware", "request_title", "requester_account_age_in_days_at_request",
	"requester_days_since_first_post_on_raop_at_request", "requester_number_of_comments_at_request", "requester_number_of_comments_in_raop_at_request",
	"requester_number_of_posts_at_request", "requester_number_of_posts_on_raop_at_request", "requester_number_of_subreddits_at_request",
	"requester_subreddits_at_request", "requester_upvotes_minus_downvotes_at_request", "requester_upvotes_plus_downvotes_at_request",
	"requester_username", "unix_timestamp_of_request", "unix_timestamp_of_request_utc",
}

// drawPizza draws requests: a pizza is given more often to long texts, to old accounts,
// and to those who mention work or a proof; givers are known for successes only.
func drawPizza(s *set) {
	var train, test []map[string]any
	var sample [][]string
	for range 180 {
		train = append(train, s.requestPizza())
	}
	for range 60 {
		all, request := s.requestPizza(), map[string]any{}
		for _, name := range fieldsPizza {
			request[name] = all[name]
		}
		test = append(test, request)
		sample = append(sample, []string{all["request_id"].(string), "0"})
	}
	s.json("train.json", train)
	s.json("test.json", test)
	s.csv("sampleSubmission.csv", []string{"request_id", "requester_received_pizza"}, sample)
}

// decimalPizza is a number that is written with a point, even if it is whole.
func decimalPizza(v float64) json.Number {
	text := strconv.FormatFloat(math.Round(v*1e8)/1e8, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return json.Number(text)
}

// requestPizza draws a request with all fields of the training file.
func (s *set) requestPizza() map[string]any {
	var text []string
	strength := -2.2
	for range 1 + s.IntN(6) {
		strength += 0.25
		if s.Float64() < 0.3 {
			strength += 1.1
			text = append(text, s.one("I lost my job last week.", "My paycheck comes on friday.", "I can send a photo as proof.", "I will pay it forward."))
			continue
		}
		text = append(text, s.one("I would love a pizza tonight.", "We are hungry.", "Thanks for reading!", "It is my birthday :)", "Just craving some cheese.", "My friends & I are bored.", "College is hard."))
	}
	age, since := s.between(0, 900), 0.0
	if s.Float64() < 0.2 {
		age = 0
	}
	if s.Float64() < 0.3 {
		since = age * s.Float64()
	}
	strength += age / 600
	received := s.Float64() < 1/(1+math.Exp(-1.6*strength-0.3))
	giver, flair, edited := "N/A", any(nil), any(false)
	if received {
		flair = "shroom"
		if s.Float64() < 0.3 {
			giver = "giver_" + s.hex(5)
		}
		if s.Float64() < 0.1 {
			flair = "PIF"
		}
	}
	body := strings.Join(text, " ")
	whole := body
	if s.Float64() < 0.1 {
		edited = decimalPizza(float64(1300000000 + s.IntN(80000000)))
		whole += "\n\nEDIT: thank you all"
	}
	subreddits := []string{}
	for _, name := range []string{"AskReddit", "gaming", "pics", "funny", "Frugal", "RandomActsOfPizza"} {
		if s.Float64() < age/1500 {
			subreddits = append(subreddits, name)
		}
	}
	comments, posts, votes := s.IntN(1+int(age)), s.IntN(1+int(age)/20), s.IntN(1+4*int(age))
	up, days, at := s.IntN(12), s.between(100, 800), 1300000000+s.IntN(80000000)
	raop := min(len(subreddits), s.IntN(3))
	return map[string]any{
		"giver_username_if_known": giver, "number_of_downvotes_of_request_at_retrieval": s.IntN(5), "number_of_upvotes_of_request_at_retrieval": up,
		"post_was_edited": edited, "request_id": "t3_" + s.hex(5), "request_number_of_comments_at_retrieval": s.IntN(9),
		"request_text": whole, "request_text_edit_aware": body, "request_title": "[Request] " + s.one("Hungry in", "Pizza for a family in", "Student from") + " " + s.one("Ohio", "Texas", "Leeds", "Montréal"),
		"requester_account_age_in_days_at_request": decimalPizza(age), "requester_account_age_in_days_at_retrieval": decimalPizza(age + days),
		"requester_days_since_first_post_on_raop_at_request": decimalPizza(since), "requester_days_since_first_post_on_raop_at_retrieval": decimalPizza(since + days),
		"requester_number_of_comments_at_request": comments, "requester_number_of_comments_at_retrieval": comments + s.IntN(99),
		"requester_number_of_comments_in_raop_at_request": raop, "requester_number_of_comments_in_raop_at_retrieval": raop + s.IntN(4),
		"requester_number_of_posts_at_request": posts, "requester_number_of_posts_at_retrieval": posts + s.IntN(9),
		"requester_number_of_posts_on_raop_at_request": raop / 2, "requester_number_of_posts_on_raop_at_retrieval": raop/2 + 1,
		"requester_number_of_subreddits_at_request": len(subreddits), "requester_received_pizza": received, "requester_subreddits_at_request": subreddits,
		"requester_upvotes_minus_downvotes_at_request": votes / 2, "requester_upvotes_minus_downvotes_at_retrieval": votes/2 + s.IntN(99),
		"requester_upvotes_plus_downvotes_at_request": votes, "requester_upvotes_plus_downvotes_at_retrieval": votes + 99 + s.IntN(99),
		"requester_user_flair": flair, "requester_username": s.one("hungry", "pizza", "blue", "the_real") + "_" + s.hex(5),
		"unix_timestamp_of_request": decimalPizza(float64(at)), "unix_timestamp_of_request_utc": decimalPizza(float64(at - 3600*s.IntN(3))),
	}
}

// learnPizza fits a linear model of the age of the account, the length of the text, and
// the mean success of its words. It leaves out the giver.
func learnPizza(l *lesson) {
	var train, test []map[string]any
	must(json.Unmarshal(l.file("train.json"), &train))
	must(json.Unmarshal(l.file("test.json"), &test))
	words := func(r map[string]any) []string {
		return strings.Fields(strings.ToLower(r["request_text_edit_aware"].(string)))
	}
	all, given := map[string]float64{}, map[string]float64{}
	var y []float64
	for _, r := range train {
		y = append(y, map[bool]float64{true: 1}[r["requester_received_pizza"].(bool)])
	}
	base := mean(y)
	for i, r := range train {
		for _, w := range words(r) {
			all[w]++
			given[w] += y[i]
		}
	}
	features := func(r map[string]any) []float64 {
		success := 0.0
		for _, w := range words(r) {
			success += (given[w]+5*base)/(all[w]+5) - base
		}
		return []float64{success, math.Log1p(float64(len(words(r)))), r["requester_account_age_in_days_at_request"].(float64) / 100}
	}
	var x [][]float64
	for _, r := range train {
		x = append(x, features(r))
	}
	model := fitLinear(x, y)
	predictions := map[string]string{}
	for _, r := range test {
		predictions[r["request_id"].(string)] = ftoa(min(1, max(0, model.predict(features(r)))), 6)
	}
	l.submitLike("sampleSubmission.csv", []string{"requester_received_pizza"}, func(r *rows, i int) []string {
		return []string{predictions[r.get(i, "request_id")]}
	})
}
