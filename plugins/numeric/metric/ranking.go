package metric

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

var averagePrecisionScore = Metric{
	Name: "average_precision", Better: Higher,
	Doc: `Area under the curve of precision over recall, without interpolation: Σ (R_n - R_(n-1))·P_n over the distinct predictions, falling.
Several targets are averaged without weights. Without a positive row it is 0. More than two labels, a positive label that neither of two is, and missing or infinite predictions have no score.`,
	Source: "scikit-learn 1.5 average_precision_score",
	Params: []Param{positiveParam},
	Kaggle: Aliases{"Average Precision (PR AUC)": nil},
	New: func(a Args) (Scorer, error) {
		return func(in Input) (Score, error) {
			return eachPair(in, func(p pair, all []pair) (float64, error) {
				truth, err := positives(p.truth, a.text("positive"))
				if err != nil {
					return 0, err
				}
				scores, err := rankedScores(p.pred, oneInteger(all))
				return precisionArea(truth, scores), err
			})
		}, nil
	},
}

// positives returns which rows of a column of at most two labels have the positive one.
func positives(c *table.Column, label string) ([]bool, error) {
	if err := checkTargets(c, c); err != nil {
		return nil, err
	}
	codes, count, err := encode(c)
	if err != nil {
		return nil, err
	}
	row := positiveRow(c, label)
	if count > 2 || count == 2 && row < 0 {
		return nil, &Unscorable{Column: c.Name(), Reason: "the answers must have two classes, one of them " + quote(label)}
	}
	return lists.Of(codes, func(k int32) bool { return row >= 0 && k == codes[row] }), nil
}

var gini = Metric{
	Name: "gini", Better: Higher,
	Doc: `Normalized Gini coefficient: that of the truth ordered by falling predictions, divided by that of the truth ordered by itself. Ties keep the order of rows.
The coefficient is Σ of the cumulative shares of the truth, less (n+1)/2, over n. A truth that is constant or adds up to 0 gives NaN. Missing cells, infinities and strings have no score. For two classes without ties it is 2·roc_auc - 1.`,
	Source: "metric of the Allstate and Porto Seguro competitions, with numpy 1.26",
	Kaggle: Aliases{"Normalized Gini Index": nil},
	New: func(Args) (Scorer, error) {
		return func(in Input) (Score, error) {
			return eachRead(in, finiteFloats, func(truth, pred []float64) (float64, error) { return giniOf(truth, pred) / giniOf(truth, truth), nil })
		}, nil
	},
}

func giniOf(truth, by []float64) float64 {
	order := rowsOf(len(truth))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(by[b], by[a]) })
	sorted, sum := pick(truth, order), 0.0
	total := Sum(sorted)
	for i, x := range sorted {
		sum += x
		sorted[i] = sum
	}
	n := float64(len(truth))
	return (Sum(sorted)/total - float64((n+1)/2)) / n
}

var ndcg = Metric{
	Name: "ndcg", Better: Higher,
	Doc: `Normalized discounted cumulative gain, mean over queries. A truth at rank r, from 1, is worth gain / log2(r+1); the sum is divided by that of the best order. Tied predictions share the mean gain of their ranks. A query of gain 0 scores 0.
A query is a row with several targets or, with group, the rows of a group with one target. Negative truths are an error. Missing cells, infinities and strings have no score.`,
	Source: "scikit-learn 1.5 ndcg_score",
	Params: []Param{
		{Name: "k", Kind: NumberParam, Default: 0.0, Doc: "the ranks that count; all if 0"},
		{Name: "group", Kind: TextParam, Default: "", Doc: "the column of the answers whose values are the queries"},
		{Name: "gain", Kind: TextParam, Default: "linear", OneOf: []string{"linear", "exponential"}, Doc: "whether a truth t is worth t or 2^t - 1"},
	},
	Placeholders: Placeholders{"group": {"a"}},
	Kaggle:       Aliases{"NDCG@K (columns or groups)": {"k": 5.0}},
	New: func(a Args) (Scorer, error) {
		return func(in Input) (Score, error) { return scoreNDCG(in, a) }, nil
	},
}

func scoreNDCG(in Input, a Args) (Score, error) {
	pairs, err := in.pairs()
	if err != nil {
		return Score{}, err
	}
	group := a.text("group")
	if (len(pairs) > 1) == (group != "") {
		return Score{}, fmt.Errorf("ndcg needs several targets, or one and group")
	}
	truth, pred := make([][]float64, len(pairs)), make([][]float64, len(pairs))
	for k, p := range pairs {
		if truth[k], pred[k], err = read(p, finiteFloats); err != nil {
			return Score{}, err
		}
		for i, t := range truth[k] {
			if t < 0 {
				return Score{}, fmt.Errorf("answers: column %q: row %d is negative", p.truth.Name(), i+1)
			}
			if a.text("gain") == "exponential" {
				truth[k] = lists.Of(truth[k], func(x float64) float64 { return libm.Pow(2, x) - 1 })
				break
			}
		}
	}
	var each []float64
	if group == "" {
		across := func(of [][]float64, i int) []float64 { return lists.Of(of, func(c []float64) float64 { return c[i] }) }
		each = table.Collect(len(truth[0]), func(i int) float64 { return ndcgOf(across(truth, i), across(pred, i), a.number("k")) })
	} else {
		groups, err := rowsByGroup(in.answers(group))
		if err != nil {
			return Score{}, err
		}
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			each = append(each, ndcgOf(pick(truth[0], groups[name]), pick(pred[0], groups[name]), a.number("k")))
		}
	}
	return Score{Value: Mean(each)}, nil
}

// ndcgOf returns the gain of one query divided by the greatest; 0 where that is 0.
func ndcgOf(gains, scores []float64, k float64) float64 {
	best := slices.Clone(gains)
	slices.Sort(best)
	slices.Reverse(best)
	discounts, ideal := make([]float64, len(gains)), make([]float64, len(gains))
	for i := range gains {
		if k == 0 || float64(i) < k {
			discounts[i] = discount(i)
		}
		ideal[i] = float64(best[i] * discounts[i])
	}
	order := rowsOf(len(scores))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	var parts []float64
	before, cumulative := 0.0, 0.0
	for lo := 0; lo < len(order); {
		hi, tied := lo, 0.0
		for ; hi < len(order) && scores[order[hi]] == scores[order[lo]]; hi++ {
			tied += gains[order[hi]]
			cumulative += discounts[hi]
		}
		parts = append(parts, float64(tied/float64(hi-lo)*(cumulative-before)))
		lo, before = hi, cumulative
	}
	return quotient(Sum(parts), Sum(ideal))
}

// discount is what a gain at a place, from 0, is multiplied by.
func discount(place int) float64 { return 1 / (libm.Log(float64(place+2)) / math.Ln2) }

const listDoc = ` Cells are lists of words, split at white space. A repeated word counts at its first place only. A row with an empty truth has no hit.`

var cutParam = []Param{{Name: "k", Kind: NumberParam, Default: 0.0, Doc: "the number of predicted words that count; all if 0"}}

var mrr = Metric{
	Name: "mrr", Better: Higher,
	Doc:    `Mean reciprocal rank: 1 / the place of the first predicted word that is in the truth, 0 without one.` + listDoc,
	Source: "Voorhees 1999", Params: cutParam,
	Kaggle: Aliases{"Mean Reciprocal Rank": nil},
	New: ofLists(func(hits []int, _, _ int) float64 {
		if len(hits) == 0 {
			return 0
		}
		return 1 / float64(hits[0]+1)
	}),
}

var bestErrorAtK = Metric{
	Name: "best_error_at_k", Better: Lower,
	Doc:    `Mean best error at k: the share of rows without a true word among the first k predicted ones.` + listDoc,
	Source: "metric of the iNaturalist and Places competitions; scikit-learn 1.5 1 - top_k_accuracy_score", Params: cutParam,
	Kaggle: Aliases{"Mean Best Error at K": {"k": 5.0}},
	New:    ofLists(func(hits []int, _, _ int) float64 { return float64(count(len(hits) == 0)) }),
}

var recallAtK = Metric{
	Name: "recall_at_k", Better: Higher,
	Doc:    `Mean share of the true words that are among the first k predicted ones.` + listDoc,
	Source: "Manning et al. 2008, chapter 8", Params: cutParam,
	Kaggle: Aliases{"Recall@K": {"k": 20.0}},
	New:    ofLists(func(hits []int, truths, _ int) float64 { return quotient(float64(len(hits)), float64(truths)) }),
}

var precisionAtK = Metric{
	Name: "precision_at_k", Better: Higher,
	Doc:    `Mean of the true words among the first k predicted ones, divided by k, or by the length of the list without k.` + listDoc,
	Source: "Manning et al. 2008, chapter 8", Params: cutParam,
	Kaggle: Aliases{"Precision@K": {"k": 3.0}},
	New:    ofLists(func(hits []int, _, k int) float64 { return quotient(float64(len(hits)), float64(k)) }),
}

var ndcgAtK = Metric{
	Name: "ndcg_at_k", Better: Higher,
	Doc:    `Normalized discounted cumulative gain of lists: each true word is worth 1 / log2(place + 1), places from 1, divided by the sum for the true words in front.` + listDoc,
	Source: "Järvelin and Kekäläinen 2002", Params: cutParam,
	Kaggle: Aliases{"NDCG@K (lists)": {"k": 5.0}},
	New: ofLists(func(hits []int, truths, k int) float64 {
		sum, best := 0.0, 0.0
		for _, place := range hits {
			sum += discount(place)
		}
		for place := range min(truths, k) {
			best += discount(place)
		}
		return quotient(sum, best)
	}),
}

// ofLists makes the scorer of the mean over rows of a function of the places, from 0, at
// which the first k predicted words are true, and of the number of true words and k.
func ofLists(score func(hits []int, truths, k int) float64) func(Args) (Scorer, error) {
	return func(a Args) (Scorer, error) {
		return ofTexts(func(truth, pred []string) (Score, error) {
			each := make([]float64, len(truth))
			for i := range truth {
				left, list, k := wordSet(pytext.Fields(truth[i])), pytext.Fields(pred[i]), int(a.number("k"))
				if k == 0 {
					k = len(list)
				}
				truths, hits := len(left), []int(nil)
				for place, word := range list[:min(k, len(list))] {
					if left[word] {
						hits = append(hits, place)
						delete(left, word)
					}
				}
				each[i] = score(hits, truths, k)
			}
			return Score{Value: Mean(each)}, nil
		}), nil
	}
}
