package metric

import (
	"math"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/table"
)

var rocAUC = Metric{
	Name:   "roc_auc",
	Better: Higher,
	Doc: `Area under the ROC curve: the probability that a positive row ranks above a negative one; ties count half.
The greater true value is positive. Several targets are averaged without weights. Missing or infinite predictions and a truth of one value have no score; any finite number is fine unless a require rule says otherwise. Several columns are one array: unless all hold integers of one kind, integers are rounded to doubles.`,
	Source: "scikit-learn 1.5 roc_auc_score (average=\"macro\")",
	Params: []Param{{Name: "by_column", Kind: BoolParam, Default: false, Doc: "each column is an array of its own, so that no integers are rounded"}},
	New: func(a Args) (Scorer, error) {
		alone := a.bool("by_column")
		return scorerFunc(func(in Input) (Score, error) { return scoreAUC(in, alone) }), nil
	},
}

func scoreAUC(in Input, alone bool) (Score, error) {
	pairs, err := in.pairs()
	if err != nil {
		return Score{}, err
	}
	each, together := make([]float64, len(pairs)), oneInteger(pairs)
	for i, p := range pairs {
		truth, err := twoClasses(p.truth)
		if err != nil {
			return Score{}, err
		}
		scores, err := rankedScores(p.pred, together || alone && oneInteger(pairs[i:i+1]))
		if err != nil {
			return Score{}, err
		}
		if each[i], err = aucOf(truth, scores); err != nil {
			return Score{}, err
		}
	}
	return Score{Value: Mean(each)}, nil
}

// oneInteger reports whether numpy's array of all predictions holds integers.
func oneInteger(pairs []pair) bool {
	kind := pairs[0].pred.Kind()
	return (kind == table.Int64 || kind == table.Uint64) && !slices.ContainsFunc(pairs, func(p pair) bool { return p.pred.Kind() != kind })
}

// rankedScores returns the column as doubles of the same order: its values or, if
// integers are to be kept apart that are one double, their places.
func rankedScores(c *table.Column, exact bool) ([]float64, error) {
	wide := func(v int64) bool { return v > 1<<53 || v < -1<<53 }
	if !exact || c.Len() == 0 || c.Kind() == table.Int64 && !wide(slices.Min(c.Ints())) && !wide(slices.Max(c.Ints())) {
		return finiteFloats(c)
	}
	codes, _, err := encode(c)
	return mapped(codes, func(k int32) float64 { return float64(k) }), err
}

// twoClasses returns which rows hold the greater of the column's two values.
func twoClasses(c *table.Column) ([]bool, error) {
	if greater := twoIntegers(c); greater != nil {
		return greater, nil
	}
	codes, count, err := encode(c)
	if err == nil && count != 2 {
		err = &Unscorable{Column: c.Name(), Reason: "the answers must contain exactly two classes"}
	}
	return mapped(codes, func(k int32) bool { return k == 1 }), err
}

// twoIntegers is twoClasses for integers; nil if there are not two of them.
func twoIntegers(c *table.Column) []bool {
	if c.Kind() != table.Int64 || c.Len() == 0 {
		return nil
	}
	greater, memory := make([]bool, c.Len()), make([]int64, blockRows)
	lo, hi := c.Int(0), c.Int(0)
	for pass := range 2 {
		for at := 0; at < len(greater); at += blockRows {
			for i, v := range c.Slice(at, min(at+blockRows, len(greater))).IntsInto(memory) {
				if pass == 0 {
					lo, hi = min(lo, v), max(hi, v)
				} else if greater[at+i] = v == hi; v != lo && v != hi {
					return nil
				}
			}
		}
	}
	if lo == hi {
		return nil
	}
	return greater
}

// aucOf returns the area under the ROC curve by the trapezoid rule over the
// distinct scores, points on a straight line left out, exactly as scikit-learn
// 1.5 computes it. Scores must be finite; -0 equals 0. Both classes must
// occur.
func aucOf(truth []bool, scores []float64) (float64, error) {
	if len(truth) != len(scores) {
		return 0, unscorable("%d scores for %d rows", len(scores), len(truth))
	}
	positive, negative := splitKeys(truth, scores)
	if len(positive) == 0 || len(negative) == 0 {
		return 0, unscorable("only one class is present: the area under the ROC curve is not defined")
	}
	if len(scores) < 1<<14 {
		slices.Sort(positive)
		slices.Sort(negative)
	} else {
		both(func() { radixSort(positive) }, func() { radixSort(negative) })
	}
	return areaUnderCurve(positive, negative), nil
}

// splitKeys returns the scores of each class as integers of the same order.
func splitKeys(truth []bool, scores []float64) (positive, negative []uint64) {
	count := 0
	for _, t := range truth {
		if t {
			count++
		}
	}
	positive, negative = make([]uint64, 0, count), make([]uint64, 0, len(truth)-count)
	for i, t := range truth {
		key := sortKey(scores[i])
		if t {
			positive = append(positive, key)
		} else {
			negative = append(negative, key)
		}
	}
	return positive, negative
}

// sortKey maps doubles to integers of the same order, -0 to the key of 0.
func sortKey(v float64) uint64 {
	b := math.Float64bits(v + 0) // -0 + 0 is 0
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// corner is a point of the ROC curve in rows.
type corner struct{ negative, positive int }

// areaUnderCurve adds the trapezoids between the points of the curve, scaled
// to the unit square.
func areaUnderCurve(positive, negative []uint64) float64 {
	width, height := float64(len(negative)), float64(len(positive))
	lastX, lastY := 0.0, 0.0
	var area summer
	walkCurve(positive, negative, func(c corner) {
		x, y := float64(c.negative)/width, float64(c.positive)/height
		area.add(float64((x-lastX)*(y+lastY)) / 2)
		lastX, lastY = x, y
	})
	return area.total()
}

// walkCurve walks the ascending keys from the top and visits the points of
// the ROC curve after (0, 0). A point is left out when the step to it equals
// the step from it: scikit-learn's test for points on a line, which never
// leaves out the first and the last.
func walkCurve(positive, negative []uint64, visit func(corner)) {
	p, n := len(positive), len(negative)
	var before, here corner // the last two points met
	for points := 0; p > 0 || n > 0; points++ {
		p, n = nextThreshold(positive, negative, p, n)
		next := corner{len(negative) - n, len(positive) - p}
		if points == 1 || points > 1 && (next.negative-here.negative != here.negative-before.negative ||
			next.positive-here.positive != here.positive-before.positive) {
			visit(here)
		}
		before, here = here, next
	}
	visit(here)
}

// nextThreshold returns how many keys are below the greatest of the first p
// and the first n.
func nextThreshold(positive, negative []uint64, p, n int) (int, int) {
	var top uint64
	if p > 0 {
		top = positive[p-1]
	}
	if n > 0 {
		top = max(top, negative[n-1])
	}
	for p > 0 && positive[p-1] == top {
		p--
	}
	for n > 0 && negative[n-1] == top {
		n--
	}
	return p, n
}
