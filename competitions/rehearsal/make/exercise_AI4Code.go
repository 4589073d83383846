package main

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// topicsAI4Code are the parts of a notebook in their usual order: words of the text, and
// code with # for a number.
var topicsAI4Code = [][2]string{
	{"import libraries packages setup needed", "import numpy as np\nimport pandas as pd"},
	{"load read input files tables", "df = pd.read_csv('../input/table#.csv')"},
	{"look overview first rows shape", "df.head(#)"},
	{"missing gaps empty fill clean", "df['c#'] = df['c#'].fillna(0)"},
	{"plot distribution correlation chart explore", "sns.histplot(df['c#'])\nplt.show()"},
	{"features encoding scale columns transform", "X['c#'] = np.log1p(df['c#'])"},
	{"model train fit parameters folds", "model = LGBMClassifier(num_leaves=#)\nmodel.fit(X, y)"},
	{"evaluate score validation accuracy errors", "print(accuracy_score(y_valid, pred))"},
	{"submission predict save output final", "sub.to_csv('submission#.csv', index=False)"},
}

// notebookAI4Code is a drawn notebook. Its file has the code cells in order, then the
// shuffled texts.
type notebookAI4Code struct{ order, code, texts []string }

// drawNotebookAI4Code draws a notebook: most topics in order, each with some code and
// often a text before it.
func drawNotebookAI4Code(s *set) (n notebookAI4Code, file []byte) {
	source := map[string]string{}
	cell := func(kind *[]string, content string) {
		id := s.hex(8)
		source[id] = content
		n.order, *kind = append(n.order, id), append(*kind, id)
	}
	text := func(words string) string {
		var out []string
		for range 3 + s.IntN(3) {
			out = append(out, s.one(strings.Fields(words)...), s.one("the", "and", "we", "of", "data", "our"))
		}
		return s.one("", "", "# ", "## ", "### ", "**Note:** ") + strings.Join(out, " ")
	}
	if s.IntN(3) > 0 {
		cell(&n.texts, text("welcome introduction notebook competition hello about"))
	}
	for k, topic := range topicsAI4Code {
		if k > 0 && s.IntN(4) == 0 {
			continue
		}
		if s.IntN(5) > 1 {
			cell(&n.texts, text(topic[0]))
		}
		for range 1 + s.IntN(2) {
			cell(&n.code, strings.ReplaceAll(topic[1], "#", itoa(s.IntN(20))))
		}
	}
	s.Shuffle(len(n.texts), func(i, j int) { n.texts[i], n.texts[j] = n.texts[j], n.texts[i] })
	var kinds, sources []string
	for i, id := range slices.Concat(n.code, n.texts) {
		kind := "code"
		if i >= len(n.code) {
			kind = "markdown"
		}
		quoted, err := json.Marshal(source[id])
		must(err)
		kinds = append(kinds, `"`+id+`": "`+kind+`"`)
		sources = append(sources, `"`+id+`": `+string(quoted))
	}
	return n, []byte(`{"cell_type": {` + strings.Join(kinds, ", ") + `}, "source": {` + strings.Join(sources, ", ") + "}}")
}

// drawAI4Code draws notebooks, some of which descend from others: the place of a text
// depends on the topic of its words.
func drawAI4Code(s *set) {
	var orders, ancestors [][]string
	for len(orders) < 130 {
		ancestor, parent := s.hex(8), ""
		for range 1 + s.weighted(8, 2, 1) {
			id := s.hex(14)
			n, file := drawNotebookAI4Code(s)
			s.file("train/"+id+".json", file)
			orders = append(orders, []string{id, strings.Join(n.order, " ")})
			ancestors = append(ancestors, []string{id, ancestor, parent})
			parent = id
			if s.IntN(3) == 0 {
				parent = ""
			}
		}
	}
	s.Shuffle(len(orders), func(i, j int) { orders[i], orders[j] = orders[j], orders[i] })
	s.csv("train_orders.csv", []string{"id", "cell_order"}, orders)
	s.csv("train_ancestors.csv", []string{"id", "ancestor_id", "parent_id"}, ancestors)
	id := s.hex(14)
	n, file := drawNotebookAI4Code(s)
	s.file("test/"+id+".json", file)
	s.csv("sample_submission.csv", []string{"id", "cell_order"}, [][]string{{id, strings.Join(slices.Concat(n.code, n.texts), " ")}})
}

// fileAI4Code is a notebook as its file has it.
type fileAI4Code struct {
	Kind   map[string]string `json:"cell_type"`
	Source map[string]string `json:"source"`
}

func readAI4Code(l *lesson, name string) (f fileAI4Code) {
	must(json.Unmarshal(l.file(name), &f))
	return f
}

// learnAI4Code places a text by its words: each word has a mean place among the code
// cells, and counts more when its places vary less.
func learnAI4Code(l *lesson) {
	train, places := l.rows("train_orders.csv"), map[string][]float64{}
	for i := range train.len() {
		f := readAI4Code(l, "train/"+train.get(i, "id")+".json")
		var before float64
		found, all := map[string]float64{}, 0.0
		cells := strings.Fields(train.get(i, "cell_order"))
		for _, id := range cells {
			if f.Kind[id] == "code" {
				before++
			}
			found[id], all = before, before
		}
		for _, id := range cells {
			for w := range strings.FieldsSeq(f.Source[id]) {
				if f.Kind[id] == "markdown" {
					places[w] = append(places[w], found[id]/max(1, all))
				}
			}
		}
	}
	place := func(text string) float64 {
		sum, weights := 0.0, 1e-9
		for w := range strings.FieldsSeq(text) {
			m, squares := mean(places[w]), 0.0
			for _, p := range places[w] {
				squares += (p - m) * (p - m) / float64(len(places[w]))
			}
			weight := math.Pow(squares+0.01, -2)
			sum, weights = sum+weight*m, weights+weight
		}
		return sum / weights
	}
	l.submitLike("sample_submission.csv", []string{"cell_order"}, func(r *rows, i int) []string {
		f, at := readAI4Code(l, "test/"+r.get(i, "id")+".json"), map[string]float64{}
		cells, code := strings.Fields(r.get(i, "cell_order")), 0.0
		for _, id := range cells {
			if f.Kind[id] == "code" {
				code++
				at[id] = code
			}
		}
		for _, id := range cells {
			if f.Kind[id] == "code" {
				at[id] = (at[id] - 0.5) / code
			} else {
				at[id] = place(f.Source[id])
			}
		}
		slices.SortStableFunc(cells, func(a, b string) int { return cmp.Compare(at[a], at[b]) })
		return []string{strings.Join(cells, " ")}
	})
}
