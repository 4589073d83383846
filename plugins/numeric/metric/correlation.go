package metric

import (
	"cmp"
	"math"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/table"
)

var pearson = Metric{
	Name: "pearson", Better: Higher,
	Doc: `Pearson's correlation coefficient. Several targets are averaged without weights.
A constant column, or a missing or infinite value, on either side gives NaN, which is a score. Two rows give 1, 0 or -1. Norms are scaled against overflow; the last digit depends on the order of summation. Strings, also of digits, and booleans with missing cells have no score.`,
	Source: "scipy 1.14 stats.pearsonr",
	Kaggle: Aliases{"Pearson Correlation Coefficient": nil},
	New:    func(Args) (Scorer, error) { return scorePearson, nil },
}

var spearman = Metric{
	Name: "spearman", Better: Higher,
	Doc: `Spearman's correlation: Pearson's coefficient of ranks, ties getting their average. Several targets are averaged without weights.
A constant column or a missing value on either side gives NaN, which is a score. Infinities rank first and last. Strings, and numbers among them, rank by code points.`,
	Source: "scipy 1.13 stats.spearmanr",
	Kaggle: Aliases{"Mean Columnwise Spearman": nil},
	New:    func(Args) (Scorer, error) { return scoreSpearman, nil },
}

var matthews = Metric{
	Name: "mcc", Better: Higher,
	Doc: `Matthews correlation coefficient of two or more classes (Gorodkin's R_K); 0 if one side is constant.
Floats that are not integers, strings against numbers, missing cells and infinities have no score.`,
	Source: "Gorodkin 2004; scikit-learn 1.5 matthews_corrcoef",
	Kaggle: Aliases{"Matthews Correlation Coefficient": nil},
	New:    func(Args) (Scorer, error) { return ofLabels(scoreMatthews), nil },
}

func scorePearson(in Input) (Score, error) {
	return eachPair(in, func(p pair, _ []pair) (float64, error) {
		switch {
		case p.truth.Len() < 2:
			return 0, unscorable("a correlation needs two rows")
		case isObject(p.pred) || isObject(p.truth):
			return 0, &Unscorable{Column: p.pred.Name(), Reason: "is not numeric"}
		}
		return pearsonOf(p.truth.Floats(), p.pred.Floats()), nil
	})
}

// isObject reports whether pandas keeps the column as Python objects.
func isObject(c *table.Column) bool {
	return c.Kind() == table.Text || c.Kind() == table.Mixed || c.Kind() == table.Bool && c.MissingCount() > 0
}

func scoreSpearman(in Input) (Score, error) {
	return eachRead(in, rankable, func(truth, pred []float64) (float64, error) { return spearmanOf(truth, pred), nil })
}

// rankable returns numbers in the order of the column's cells: its numbers, or
// the places of its texts among the distinct ones; NaN where a cell is missing.
func rankable(c *table.Column) ([]float64, error) {
	if c.Kind() != table.Text {
		return anyFloats(c)
	}
	texts := c.Texts()
	distinct := slices.Compact(slices.Sorted(slices.Values(texts)))
	out := make([]float64, len(texts))
	for i, s := range texts {
		place, _ := slices.BinarySearch(distinct, s)
		out[i] = float64(place)
		if c.IsMissing(i) {
			out[i] = math.NaN()
		}
	}
	return out, nil
}

// pearsonOf returns the correlation of a and b, which must be of one length,
// clipped to [-1, 1]; NaN where one is constant or holds a NaN or an infinity,
// which two rows may hold.
func pearsonOf(a, b []float64) float64 {
	if constant(a) || constant(b) {
		return math.NaN()
	}
	if len(a) == 2 {
		return sign(a[1]-a[0]) * sign(b[1]-b[0])
	}
	return product(normalized(a), normalized(b))
}

// product returns the scalar product of two vectors of norm 1.
func product(x, y []float64) float64 {
	return clip(Sum(table.Collect(len(x), func(i int) float64 { return float64(x[i] * y[i]) })), -1, 1)
}

// sign returns -1, 1 or, of a NaN, NaN; v is not 0.
func sign(v float64) float64 {
	if v != v {
		return v
	}
	return math.Copysign(1, v)
}

func constant(v []float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return x != v[0] })
}

// normalized returns v less its mean, divided by its norm.
func normalized(v []float64) []float64 {
	mean := Mean(v)
	out := make([]float64, len(v))
	largest := 0.0
	for i, x := range v {
		out[i] = x - mean
		largest = max(largest, math.Abs(out[i]))
	}
	squares := make([]float64, len(v))
	for i := range out {
		scaled := out[i] / largest
		squares[i] = float64(scaled * scaled)
	}
	norm := largest * math.Sqrt(Sum(squares))
	for i := range out {
		out[i] /= norm
	}
	return out
}

// spearmanOf returns the rank correlation of a and b, which must be of one
// length; NaN where one is constant or holds a NaN, and for less than two
// rows.
func spearmanOf(a, b []float64) float64 {
	if len(a) < 2 || slices.ContainsFunc(a, math.IsNaN) || slices.ContainsFunc(b, math.IsNaN) || constant(a) || constant(b) {
		return math.NaN()
	}
	return product(normalized(ranksOf(a)), normalized(ranksOf(b)))
}

// ranksOf returns the rank of every value from 1, ties sharing their average.
func ranksOf(v []float64) []float64 {
	order := rowsOf(len(v))
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(v[i], v[j]) })
	out := make([]float64, len(v))
	for lo := 0; lo < len(order); {
		hi := lo
		for hi < len(order) && v[order[hi]] == v[order[lo]] {
			hi++
		}
		for _, i := range order[lo:hi] {
			out[i] = float64(lo+1+hi) / 2
		}
		lo = hi
	}
	return out
}

func scoreMatthews(p pair) (Score, error) {
	labels, err := encodeTogether(p.truth, p.pred)
	if err != nil {
		return Score{}, err
	}
	return Score{Value: matthewsOf(labels.codes[0], labels.codes[1], labels.count)}, nil
}

// matthewsOf returns the Matthews correlation of labels 0 to count-1.
func matthewsOf(truth, pred []int32, count int) float64 {
	t, p := make([]float64, count), make([]float64, count)
	for i := range truth {
		t[truth[i]]++
		p[pred[i]]++
	}
	n := float64(len(truth))
	right := float64(matches(truth, pred))
	dot := func(a, b []float64) float64 {
		sum := 0.0
		for i := range a {
			sum += float64(a[i] * b[i])
		}
		return sum
	}
	both := float64(right*n) - dot(t, p)
	spread := float64((float64(n*n) - dot(p, p)) * (float64(n*n) - dot(t, t)))
	if spread == 0 {
		return 0
	}
	return both / math.Sqrt(spread)
}
