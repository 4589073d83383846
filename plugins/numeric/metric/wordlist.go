package metric

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// textCells returns the cells of a column of texts; a missing cell or a
// column that reads as numbers is refused.
func textCells(c *table.Column) ([]string, error) {
	if c.Kind() != table.Text && c.Len() > 0 {
		return nil, &Unscorable{Column: c.Name(), Reason: "contains cells that are not strings"}
	}
	for i := range c.Len() {
		if c.IsMissing(i) {
			return nil, &Unscorable{Column: c.Name(), Reason: "row " + strconv.Itoa(i+1) + " is missing"}
		}
	}
	return c.Texts(), nil
}

// textPair returns the cells of the only target on both sides.
func textPair(in Input) (truth, pred []string, err error) {
	p, err := in.single()
	if err != nil {
		return nil, nil, err
	}
	if truth, pred, err = read(p, textCells); err != nil {
		return nil, nil, err
	}
	if len(truth) == 0 {
		return nil, nil, unscorable("there are no rows")
	}
	return truth, pred, nil
}

// ofTexts returns the scorer of a function of the cells that textPair returns.
func ofTexts(score func(truth, pred []string) (Score, error)) Scorer {
	return func(in Input) (Score, error) {
		truth, pred, err := textPair(in)
		if err != nil {
			return Score{}, err
		}
		return score(truth, pred)
	}
}

func wordSet(list []string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, w := range list {
		out[w] = true
	}
	return out
}

var mapAtK = Metric{
	Name: "map_at_k", Better: Higher,
	Doc: `Mean average precision at k over rows whose cells are lists of words.
Words are split at every single space, so two spaces give an empty word with a position. Each of the first k predicted words that is in the truth, a set, and not earlier in the list adds hits so far / its position. The sum is divided by the smaller of k and the truth's size. An empty truth scores 0.`,
	Source: "ml_metrics apk/mapk (B. Hamner)",
	Params: []Param{{Name: "k", Kind: NumberParam, Doc: "the number of predicted words that count"}},
	Kaggle: Aliases{"MAP@K": {"k": 5.0}},
	New: func(a Args) (Scorer, error) {
		return ofTexts(func(truth, pred []string) (Score, error) { return scoreMAP(truth, pred, int(a.number("k"))) }), nil
	},
}

func scoreMAP(truth, pred []string, k int) (Score, error) {
	return Score{Value: Mean(table.Collect(len(truth), func(i int) float64 {
		return averagePrecisionAt(wordSet(strings.Split(truth[i], " ")), strings.Split(pred[i], " "), k)
	}))}, nil
}

// averagePrecisionAt returns the average precision of the first k words of
// pred: see the metric map_at_k.
func averagePrecisionAt(truth map[string]bool, pred []string, k int) float64 {
	if len(truth) == 0 || k <= 0 {
		return 0
	}
	seen := map[string]bool{}
	hits, sum := 0.0, 0.0
	for i, word := range pred[:min(k, len(pred))] {
		if truth[word] && !seen[word] {
			hits++
			sum += hits / float64(i+1)
		}
		seen[word] = true
	}
	return sum / float64(min(len(truth), k))
}

var multilabelF1 = Metric{
	Name: "multilabel_f1", Better: Higher,
	Doc: `F-beta of rows' labels, 0 without a correct one. Cells list labels, split at white space. A repeated label counts once.
"micro" counts over pairs of row and label: a predicted label in no true cell costs nothing, and fewer than two labels have no score. "samples" averages over rows, in which every predicted label counts; two empty cells score 0.`,
	Source: "scikit-learn 1.5 MultiLabelBinarizer(classes) and fbeta_score",
	Params: []Param{{Name: "average", Kind: TextParam, Default: "micro", OneOf: []string{"micro", "samples"}, Doc: "what one score is computed over"}, betaParam},
	Kaggle: Aliases{"Mean F1 (lists of labels)": {"average": "samples"}, "Mean F2": {"average": "samples", "beta": 2.0}},
	New: func(a Args) (Scorer, error) {
		return ofTexts(func(truth, pred []string) (Score, error) {
			return scoreMultilabel(truth, pred, a.text("average"), fBeta(a))
		}), nil
	},
}

func scoreMultilabel(truth, pred []string, average string, of func(tally) float64) (Score, error) {
	known := wordSet(slices.Concat(lists.Of(truth, pytext.Fields)...))
	if average == "micro" && len(known) < 2 {
		return Score{}, unscorable("the answers contain fewer than two different labels")
	}
	each := make([]tally, len(truth))
	for i, cell := range truth {
		t := wordSet(pytext.Fields(cell))
		for w := range wordSet(pytext.Fields(pred[i])) {
			if average == "samples" || known[w] {
				each[i].add(t[w], true)
			}
		}
		each[i].truth = float64(len(t))
	}
	return Score{Value: averaged(each, average, of)}, nil
}

var jaccardWords = Metric{
	Name: "jaccard_words", Better: Higher,
	Doc: `Mean over rows of |A∩B| / |A∪B| of the two cells' sets of words, in lower case and split at white space as Python's str.lower and str.split do.
If both are empty, the row scores 0 (both_empty = "zero") or the submission has no score ("refuse"). With "zero", fewer than two different words in all cells have no score, as in the source.`,
	Source: "scikit-learn 1.5 jaccard_score(average=\"samples\")",
	Params: []Param{{Name: "both_empty", Kind: TextParam, Default: "zero", OneOf: []string{"zero", "refuse"}, Doc: "how a row without words on both sides is scored"}},
	Kaggle: Aliases{"Word-level Jaccard": nil},
	New: func(a Args) (Scorer, error) {
		return ofTexts(func(truth, pred []string) (Score, error) {
			return scoreJaccard(truth, pred, a.text("both_empty") == "refuse")
		}), nil
	},
}

func scoreJaccard(truth, pred []string, refuse bool) (Score, error) {
	each := make([]float64, len(truth))
	all := map[string]bool{}
	for i := range each {
		a, b := wordSet(pytext.Fields(pytext.Lower(truth[i]))), wordSet(pytext.Fields(pytext.Lower(pred[i])))
		if len(all) < 2 {
			maps.Copy(all, a)
			maps.Copy(all, b)
		}
		if len(a)+len(b) == 0 && refuse {
			return Score{}, unscorable("row %d has no words and none are expected, so its index is undefined", i+1)
		}
		each[i] = jaccardOf(a, b)
	}
	if len(all) < 2 && !refuse {
		return Score{}, unscorable("there are fewer than two different words")
	}
	return Score{Value: Mean(each)}, nil
}

// jaccardOf returns |a∩b| / |a∪b|, 0 for two empty sets.
func jaccardOf[T comparable](a, b map[T]bool) float64 {
	shared := 0
	for x := range a {
		if b[x] {
			shared++
		}
	}
	if union := len(a) + len(b) - shared; union > 0 {
		return float64(shared) / float64(union)
	}
	return 0
}
