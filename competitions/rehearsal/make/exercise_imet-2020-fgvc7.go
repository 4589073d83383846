package main

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strings"
)

// attributesImet are the names of attributes: a kind and a value.
var attributesImet = strings.Fields(`country::egypt country::france country::iran country::japan country::peru
culture::american culture::british culture::chinese culture::german culture::roman
dimension::ceramics dimension::metalwork dimension::textiles
medium::bronze medium::canvas medium::glass medium::paper medium::silver medium::wood
tags::birds tags::boats tags::flowers tags::horses tags::landscapes tags::men tags::trees tags::women`)

// drawImet draws pictures of works: red decides the country, green the medium, blue the
// first tag; all others are chance.
func drawImet(s *set) {
	var labels, train [][]string
	of := map[string][]int{}
	for i, name := range attributesImet {
		labels = append(labels, []string{itoa(i), name})
		kind, _, _ := strings.Cut(name, "::")
		of[kind] = append(of[kind], i)
	}
	for range 170 {
		seen := map[int]bool{}
		var c [3]float64
		for k, kind := range []string{"country", "medium", "tags"} {
			i := min(s.IntN(len(of[kind])), s.IntN(len(of[kind])))
			seen[of[kind][i]] = true
			c[k] = 20 + 210*float64(i)/float64(len(of[kind])-1) + s.normal(0, 6)
		}
		for _, kind := range []string{"culture", "dimension", "tags"} {
			if s.IntN(4) == 0 {
				seen[of[kind][s.IntN(len(of[kind]))]] = true
			}
		}
		var ids []string
		for i := range attributesImet {
			if seen[i] {
				ids = append(ids, itoa(i))
			}
		}
		id := s.hex(16)
		train = append(train, []string{id, strings.Join(ids, " ")})
		s.file("train/"+id+".png", pngOf(s.picture(16+s.IntN(4), 16, color.RGBA{clip(c[0]), clip(c[1]), clip(c[2]), 255}, 1)))
	}
	s.csv("train.csv", []string{"id", "attribute_ids"}, train)
	s.csv("labels.csv", []string{"attribute_id", "attribute_name"}, labels)
	s.csv("sample_submission.csv", []string{"id", "attribute_ids"}, [][]string{{s.hex(16), "0 1 2"}, {s.hex(16), "0 1 2"}})
}

// learnImet takes the attributes that most of the five pictures with the nearest colors
// have.
func learnImet(l *lesson) {
	train := l.rows("train.csv")
	var x [][]float64
	for i := range train.len() {
		x = append(x, colors(l.file("train/"+train.get(i, "id")+".png")))
	}
	l.submitLike("sample_submission.csv", []string{"attribute_ids"}, func(r *rows, i int) []string {
		at := colors(l.file("test/" + r.get(i, "id") + ".png"))
		order := make([]int, len(x))
		for k := range order {
			order[k] = k
		}
		far := func(k int) float64 {
			return math.Hypot(math.Hypot(x[k][0]-at[0], x[k][1]-at[1]), x[k][2]-at[2])
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(far(a), far(b)) })
		votes, found := map[string]int{}, []string{}
		for _, k := range order[:5] {
			for id := range strings.FieldsSeq(train.get(k, "attribute_ids")) {
				if votes[id]++; votes[id] == 3 {
					found = append(found, id)
				}
			}
		}
		return []string{strings.Join(found, " ")}
	})
}
