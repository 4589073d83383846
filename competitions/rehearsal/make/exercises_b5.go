package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// recordB is a JSON object whose fields keep their order: names and values by turns.
type recordB []any

func (r recordB) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := 0; i < len(r); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(r[i+1])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", r[i], value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// tokenNormEnglish returns the class of a token, how it is written and how it is spoken.
func tokenNormEnglish(s *set) [3]string {
	ones := []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
	months := []string{"January", "March", "May", "June", "August", "October"}
	ordinals := []string{"first", "second", "third", "fourth", "fifth", "sixth"}
	switch s.weighted(70, 10, 4, 4, 4, 2, 2, 1, 1, 1) {
	case 0:
		word := s.one("the", "The", "of", "in", "and", "a", "was", "born", "town", "river", "album", "he", "station", "team", "family", "is")
		return [3]string{"PLAIN", word, word}
	case 1:
		mark := s.one(",", "(", ")", ";")
		return [3]string{"PUNCT", mark, mark}
	case 2:
		n := s.IntN(len(ones))
		return [3]string{"CARDINAL", itoa(n), ones[n]}
	case 3:
		month, day := s.one(months...), 1+s.IntN(len(ordinals))
		spoken := "the " + ordinals[day-1] + " of " + strings.ToLower(month)
		return [3]string{"DATE", itoa(day) + " " + month, spoken}
	case 4:
		letters := s.one("BBC", "US", "UK", "FC", "NASA", "II")
		if letters == "II" {
			return [3]string{"CARDINAL", "II", "two"}
		}
		return [3]string{"LETTERS", letters, strings.ToLower(strings.Join(strings.Split(letters, ""), " "))}
	case 5:
		n := 1 + s.IntN(len(ordinals))
		suffix := []string{"st", "nd", "rd", "th", "th", "th"}[n-1]
		return [3]string{"ORDINAL", itoa(n) + suffix, ordinals[n-1]}
	case 6:
		n := 2 + s.IntN(5)
		return [3]string{"MEASURE", itoa(n) + " km", ones[n] + " kilometers"}
	case 7:
		n := 2 + s.IntN(5)
		return [3]string{"MONEY", "$" + itoa(n), ones[n] + " dollars"}
	case 8:
		return [3]string{"VERBATIM", "&", "and"}
	default:
		return [3]string{"PLAIN", "null", "null"}
	}
}

// drawNormEnglish draws sentences of tokens: how a token is spoken depends on how it is
// written. Text is quoted, numbers are not; some tokens read like a missing value.
func drawNormEnglish(s *set) {
	var train, test, sample strings.Builder
	train.WriteString(`"sentence_id","token_id","class","before","after"` + "\n")
	test.WriteString(`"sentence_id","token_id","before"` + "\n")
	sample.WriteString(`"id","after"` + "\n")
	for i := range 255 {
		n := 5 + s.IntN(12)
		for k := range n + 1 {
			t := tokenNormEnglish(s)
			if k == n {
				t = [3]string{"PUNCT", ".", "."}
			}
			if i < 250 {
				train.WriteString(itoa(i) + "," + itoa(k) + `,"` + strings.Join(t[:], `","`) + "\"\n")
				continue
			}
			test.WriteString(itoa(i-250) + "," + itoa(k) + `,"` + t[1] + "\"\n")
			sample.WriteString(`"` + itoa(i-250) + "_" + itoa(k) + `","` + t[1] + "\"\n")
		}
	}
	for name, text := range map[string]string{
		"en_train.csv": train.String(), "en_test.csv": test.String(), "en_test_2.csv": test.String(),
		"en_sample_submission.csv": sample.String(), "en_sample_submission_2.csv": sample.String(),
	} {
		p := s.part()
		p.file(name, []byte(text))
		s.zip(name+".zip", p)
	}
}

// learnNormEnglish looks tokens up: the last spoken form of the same written one.
func learnNormEnglish(l *lesson) {
	train, spoken := readRows(l.member("en_train.csv.zip", "en_train.csv")), map[string]string{}
	for i := range train.len() {
		spoken[train.get(i, "before")] = train.get(i, "after")
	}
	sample := readRows(l.member("en_sample_submission_2.csv.zip", "en_sample_submission_2.csv"))
	for i, row := range sample.cells {
		if after, ok := spoken[sample.get(i, "after")]; ok {
			row[sample.at("after")] = after
		}
	}
	l.submit(sample.header, sample.cells)
}

// drawVentilator draws breaths of 80 steps: the pressure depends on the inflow, on its
// sum, and on the lung's two properties.
func drawVentilator(s *set) {
	header := []string{"id", "breath_id", "R", "C", "time_step", "u_in", "u_out", "pressure"}
	var train, test, sample [][]string
	breath := 0
	for n := range 36 {
		breath += 1 + s.IntN(3)
		r, c := s.one("5", "20", "50"), s.one("10", "20", "50")
		resistance, _ := strconv.ParseFloat(r, 64)
		compliance, _ := strconv.ParseFloat(c, 64)
		top, peak, step := s.between(10, 40), s.between(5, 20), s.between(0.031, 0.036)
		volume := 0.0
		for k := range 80 {
			in, out := 0.0, "0"
			if k < 32 {
				in = top * math.Exp(-math.Pow((float64(k)-peak)/9, 2))
			} else {
				out = "1"
				in = 5 * (1 - math.Exp(-float64(k-32)/6))
			}
			volume += in * step
			pressure := 6 + in*resistance/60 + volume*8/math.Sqrt(compliance) + s.normal(0, 0.2)
			if out == "1" {
				pressure = 6 + 5*math.Exp(-float64(k-32)/3)
			}
			pressure = -1.895744294564641 + 0.07030214545121*math.Round((pressure+1.9)/0.07030214545121)
			row := []string{itoa(n*80 + k + 1), itoa(breath), r, c, strconv.FormatFloat(float64(k)*math.Round(step*1e6)/1e6, 'g', -1, 64),
				strconv.FormatFloat(math.Round(in*1e3)/1e3, 'g', -1, 64), out, strconv.FormatFloat(pressure, 'g', -1, 64)}
			if n < 34 {
				train = append(train, row)
				continue
			}
			row[0] = itoa((n-34)*80 + k + 1)
			test = append(test, row[:7])
			sample = append(sample, []string{row[0], "0"})
		}
	}
	s.csv("train.csv", header, train)
	s.csv("test.csv", header[:7], test)
	s.csv("sample_submission.csv", []string{"id", "pressure"}, sample)
}

// learnVentilator fits a line to the inflow, its sum, and their products with the lung's
// properties, where the outlet is closed.
func learnVentilator(l *lesson) {
	features := func(r *rows) (x [][]float64) {
		volume := 0.0
		for i := range r.len() {
			if i > 0 && r.get(i, "breath_id") != r.get(i-1, "breath_id") {
				volume = 0
			}
			in := r.number(i, "u_in")
			volume += in / 30
			x = append(x, []float64{in, volume, in * r.number(i, "R") / 50, volume * 10 / r.number(i, "C")})
		}
		return x
	}
	train, test := l.rows("train.csv"), l.rows("test.csv")
	var x [][]float64
	var y []float64
	for i, row := range features(train) {
		if train.get(i, "u_out") == "0" {
			x, y = append(x, row), append(y, train.number(i, "pressure"))
		}
	}
	model, tests := fitLinear(x, y), features(test)
	l.submitLike("sample_submission.csv", []string{"pressure"}, func(_ *rows, i int) []string {
		return []string{ftoa(model.predict(tests[i]), 6)}
	})
}
