package metric

import (
	"math"
	"slices"
)

// maxLabels bounds the distinct labels of kappaOf, whose tables grow with the
// square: beyond it the source runs out of memory.
const maxLabels = 20000

var kappa = Metric{
	Name: "kappa", Better: Higher,
	Doc: `Cohen's kappa: 1 - Σ w·observed / Σ w·expected over the table of predicted and true labels.
Labels are both sides' values, sorted. A pair's weight is 0 or 1 ("none"), the distance ("linear") or the squared distance ("quadratic") of the labels' POSITIONS in that list, not of their values. A constant prediction against a varied truth scores 0; both sides constant and equal give NaN. Can be negative. If integers meet floats or integers beyond 63 bits, and the truth has a label that the prediction lacks, rows with integers that no double equals are left out. Floats that are not integers, strings against numbers, missing cells and infinities have no score.`,
	Source: "Cohen 1968; scikit-learn 1.5 cohen_kappa_score(prediction, truth)",
	Params: []Param{{Name: "weights", Kind: TextParam, Default: "none", OneOf: []string{"none", "linear", "quadratic"}, Doc: "how much a wrong label costs"}},
	Kaggle: Aliases{"Quadratic Weighted Kappa": {"weights": "quadratic"}},
	New: func(a Args) (Scorer, error) {
		return ofLabels(func(p pair) (Score, error) { return scoreKappa(p, kappaWeights[a.text("weights")]) }), nil
	},
}

// kappaWeight is the cost of a pair of labels at a distance in positions.
type kappaWeight func(distance int) int64

var kappaWeights = map[string]kappaWeight{
	"none":      func(d int) int64 { return int64(min(d, 1)) },
	"linear":    func(d int) int64 { return int64(d) },
	"quadratic": func(d int) int64 { return int64(d) * int64(d) },
}

func scoreKappa(p pair, weight kappaWeight) (Score, error) {
	a, b, count, err := confusable(p)
	if err != nil {
		return Score{}, err
	}
	if count > maxLabels {
		return Score{}, unscorable("there are %d different labels; at most %d are supported", count, maxLabels)
	}
	return Score{Value: kappaOf(a, b, count, weight)}, nil
}

// confusable returns the labels of the rows that scikit-learn's confusion_matrix counts.
func confusable(p pair) (pred, truth []int32, count int, err error) {
	labels, values, err := encodeLabels(p.truth, p.pred)
	if err != nil {
		return nil, nil, 0, err
	}
	pred, truth = labels.codes[1], labels.codes[0]
	if values != nil && lacks(pred, truth, labels.count) {
		pred, truth = placed(pred, truth, values)
	}
	return pred, truth, labels.count, nil
}

// lacks reports whether b has a label that a has not.
func lacks(a, b []int32, count int) bool {
	seen := make([]bool, count)
	for _, x := range a {
		seen[x] = true
	}
	return slices.ContainsFunc(b, func(x int32) bool { return !seen[x] })
}

// placed returns the labels of the rows that scikit-learn's confusion_matrix has
// a place for if its list of labels has numbers of both columns, and so holds
// doubles. A row with an integer that is no double is left out, though the
// rounded integer stays in the list; of equal doubles the last is found.
func placed(a, b []int32, values []exact) (inA, inB []int32) {
	found := map[float64]int32{}
	for k, v := range values {
		double, _ := v.nearest()
		found[double] = int32(k)
	}
	for i, x := range a {
		p, isP := values[x].nearest()
		t, isT := values[b[i]].nearest()
		if isP && isT {
			inA, inB = append(inA, found[p]), append(inB, found[t])
		}
	}
	return inA, inB
}

// kappaOf returns the weighted kappa of two lists of labels 0 to count-1. The
// expected part is summed as numpy sums the table whose rows are the labels
// of b and whose columns are those of a.
func kappaOf(a, b []int32, count int, weight kappaWeight) float64 {
	inA, inB := make([]int64, count), make([]int64, count)
	var observed int64
	for i, x := range a {
		inA[x]++
		inB[b[i]]++
		observed += weight(distance(x, b[i]))
	}
	total := float64(len(a))
	var sum summer
	for i := range int32(count) {
		for j := range int32(count) {
			sum.add(float64(float64(weight(distance(i, j))) * (float64(inB[i]*inA[j]) / total)))
		}
	}
	expected := sum.total()
	if expected == 0 && observed == 0 {
		return math.NaN()
	}
	return 1 - float64(observed)/expected
}

func distance(a, b int32) int { return int(max(a, b) - min(a, b)) }
