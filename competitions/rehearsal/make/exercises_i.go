package main

import (
	"cmp"
	"encoding/json"
	"image/color"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
)

var exercisesI = []exercise{
	{id: "dogs-vs-cats-redux-kernels-edition", draw: drawRedux, learn: learnRedux},
	{id: "plant-pathology-2020-fgvc7", draw: drawPlant20, learn: learnPlant20},
	{id: "AI4Code", draw: drawAI4Code, learn: learnAI4Code},
	{id: "rsna-miccai-brain-tumor-radiogenomic-classification", draw: drawMiccai, learn: learnMiccai},
	{id: "denoising-dirty-documents", draw: drawDenoising, learn: learnDenoising},
	{id: "osic-pulmonary-fibrosis-progression", draw: drawOsic, learn: learnOsic},
	{id: "whale-categorization-playground", draw: drawWhalePlayground, learn: learnWhalePlayground},
	{id: "jigsaw-toxic-comment-classification-challenge", draw: drawToxicComment, learn: learnToxicComment},
	{id: "tabular-playground-series-may-2022", draw: drawTpsMay22, learn: learnTpsMay22},
}

// drawRedux draws photographs of several sizes: dogs are redder, cats are bluer.
func drawRedux(s *set) {
	photo := func(dog int) []byte {
		c := color.RGBA{uint8(100 + 22*dog + s.IntN(40)), 110, uint8(130 - 22*dog + s.IntN(40)), 255} //nolint:gosec // below 256
		return jpegOf(s.picture(16+s.IntN(10), 16+s.IntN(8), c, 3))
	}
	train, test, sample := s.part(), s.part(), [][]string{}
	for n := range 56 {
		train.file("train/cat."+itoa(n)+".jpg", photo(0))
		train.file("train/dog."+itoa(n)+".jpg", photo(1))
	}
	for n := range 10 {
		test.file("test/"+itoa(n+1)+".jpg", photo(s.IntN(2)))
		sample = append(sample, []string{itoa(n + 1), "0.5"})
	}
	s.zip("train.zip", train)
	s.zip("test.zip", test)
	s.csv("sample_submission.csv", []string{"id", "label"}, sample)
}

// learnRedux classifies by mean color.
func learnRedux(l *lesson) {
	names, err := fs.Glob(l.public, "train/*.jpg")
	must(err)
	var x [][]float64
	var y []string
	for _, name := range names {
		x, y = append(x, colors(l.file(name))), append(y, path.Base(name)[:3])
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", []string{"label"}, func(r *rows, i int) []string {
		return []string{ftoa(model.probability(colors(l.file("test/"+r.get(i, "id")+".jpg")), "dog"), 6)}
	})
}

var diseasesPlant20 = []string{"healthy", "multiple_diseases", "rust", "scab"}

// drawPlant20 draws photographs of leaves: rust is redder, scab is less green, and
// several diseases are both.
func drawPlant20(s *set) {
	photo := func(disease int) []byte {
		red, green := 80+s.IntN(22), 145+s.IntN(22)
		if disease == 1 || disease == 2 {
			red += 35
		}
		if disease == 1 || disease == 3 {
			green -= 35
		}
		return jpegOf(s.picture(24, 16, color.RGBA{uint8(red), uint8(green), 70, 255}, 5)) //nolint:gosec // below 256
	}
	header := append([]string{"image_id"}, diseasesPlant20...)
	var train, test, sample [][]string
	for n := range 160 {
		id, disease := "Train_"+itoa(n), s.weighted(26, 10, 33, 31)
		row := []string{id, "0", "0", "0", "0"}
		row[disease+1] = "1"
		train = append(train, row)
		s.file("images/"+id+".jpg", photo(disease))
	}
	for n := range 8 {
		id := "Test_" + itoa(n)
		test = append(test, []string{id})
		sample = append(sample, []string{id, "0.25", "0.25", "0.25", "0.25"})
		s.file("images/"+id+".jpg", photo(s.IntN(4)))
	}
	s.csv("train.csv", header, train)
	s.csv("test.csv", header[:1], test)
	s.csv("sample_submission.csv", header, sample)
}

// learnPlant20 classifies by mean color.
func learnPlant20(l *lesson) {
	train := l.rows("train.csv")
	var x [][]float64
	var y []string
	for i := range train.len() {
		x = append(x, colors(l.file("images/" + train.get(i, "image_id") + ".jpg"))[:2])
		for _, disease := range diseasesPlant20 {
			if train.get(i, disease) == "1" {
				y = append(y, disease)
			}
		}
	}
	model := fitCentroids(x, y)
	l.submitLike("sample_submission.csv", diseasesPlant20, func(r *rows, i int) []string {
		c := colors(l.file("images/" + r.get(i, "image_id") + ".jpg"))[:2]
		var out []string
		for _, disease := range diseasesPlant20 {
			out = append(out, ftoa(model.probability(c, disease), 6))
		}
		return out
	})
}

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
			for _, w := range strings.Fields(f.Source[id]) {
				if f.Kind[id] == "markdown" {
					places[w] = append(places[w], found[id]/max(1, all))
				}
			}
		}
	}
	place := func(text string) float64 {
		sum, weights := 0.0, 1e-9
		for _, w := range strings.Fields(text) {
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
