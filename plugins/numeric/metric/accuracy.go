package metric

import (
	"sync/atomic"

	"github.com/mleflow/mleflow/plugins/data/table"
)

var accuracy = Metric{
	Name: "accuracy", Better: Higher,
	Doc: `Share of rows whose prediction equals the truth.
Numbers compare by value (3.0 equals 3, true equals 1), strings exactly. Strings against numbers score 0, or have no score if both columns hold at most two distinct values. Floats that are not integers, missing cells and infinities have no score.`,
	Source: "scikit-learn 1.5 accuracy_score",
	Kaggle: Aliases{"Categorization Accuracy": nil},
	New:    accuracyScorer(false),
}

var errorRate = Metric{
	Name: "error_rate", Better: Lower,
	Doc:    `1 - accuracy, with its rules.`,
	Source: "scikit-learn 1.5 accuracy_score",
	New:    accuracyScorer(true),
}

var hammingLoss = Metric{
	Name: "hamming_loss", Better: Lower,
	Doc:    `Share of wrong cells of all targets together, with the rules of accuracy.`,
	Source: "scikit-learn 1.5 hamming_loss",
	Kaggle: Aliases{"Hamming Loss": nil},
	New: func(Args) (Scorer, error) {
		return func(in Input) (Score, error) {
			pairs, err := in.pairs()
			wrong, cells := 0, 0
			for _, p := range pairs {
				if err = checkTargets(p.truth, p.pred); err != nil {
					break
				}
				wrong, cells = wrong+p.truth.Len()-countEqual(p.truth, p.pred), cells+p.truth.Len()
			}
			return Score{Value: float64(wrong) / float64(cells), Rounding: PythonRounding}, err
		}, nil
	},
}

// accuracyScorer counts the rows that are equal, or those that are wrong.
func accuracyScorer(wrong bool) func(Args) (Scorer, error) {
	score := ofLabels(func(p pair) (Score, error) {
		value := float64(countEqual(p.truth, p.pred)) / float64(p.truth.Len())
		if wrong {
			value = 1 - value
		}
		return Score{Value: value, Rounding: PythonRounding}, nil
	})
	return func(Args) (Scorer, error) { return score, nil }
}

func matches[T comparable](a, b []T) int {
	n := 0
	for i, x := range a {
		if x == b[i] {
			n++
		}
	}
	return n
}

// manyMatches is matches for columns of numbers, with several processors.
func manyMatches[T int64 | float64](a, b *table.Column, into func(*table.Column, []T) []T) int {
	var n atomic.Int64
	inParallel(a.Len(), func(lo, hi int) {
		table.EachPair(a.Slice(lo, hi), b.Slice(lo, hi), into, func(_ int, x, y []T) bool {
			n.Add(int64(matches(x, y)))
			return true
		})
	})
	return int(n.Load())
}

// countEqual compares two columns cell by cell as numpy's == does.
func countEqual(a, b *table.Column) int {
	switch {
	case a.Kind() == table.Int64 && b.Kind() == table.Int64:
		return manyMatches(a, b, (*table.Column).IntsInto)
	case isText(a) && isText(b):
		return equalTexts(a, b)
	case a.Kind().IsNumber() && b.Kind().IsNumber() && (a.Kind() == table.Float64 || b.Kind() == table.Float64):
		return manyMatches(a, b, (*table.Column).FloatsInto)
	}
	n := 0
	for i := range a.Len() {
		if v := a.Value(i); !v.IsMissing() && v.Exact() == b.Value(i).Exact() {
			n++
		}
	}
	return n
}

func equalTexts(a, b *table.Column) int {
	n := 0
	for i := range a.Len() {
		if !a.IsMissing(i) && !b.IsMissing(i) && a.Text(i) == b.Text(i) {
			n++
		}
	}
	return n
}
