package metric

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

var rocAUC = Metric{
	Name: "roc_auc", Better: Higher,
	Doc: `Area under the ROC curve: the probability that a positive row ranks above a negative one; ties count half.
The greater true value is positive. Several targets are averaged without weights. Missing or infinite predictions and a truth of one value have no score; any finite number is fine unless a require rule says otherwise. Several columns are one array: unless all hold integers of one kind, integers are rounded to doubles. With max_fpr, the area up to this false positive rate is standardized: 0.5 is chance, 1 is best.`,
	Source: "scikit-learn 1.5 roc_auc_score (average=\"macro\")",
	Params: []Param{
		{Name: "by_column", Kind: BoolParam, Default: false, Doc: "each column is an array of its own, so that no integers are rounded"},
		{Name: "max_fpr", Kind: NumberParam, Default: 1.0, Doc: "the false positive rate up to which the area counts"},
	},
	Kaggle: Aliases{"Area Under Receiver Operating Characteristic Curve": nil, "Mean Columnwise AUC": nil, "Partial AUC": {"max_fpr": 0.2}},
	New: func(a Args) (Scorer, error) {
		if most := a.number("max_fpr"); !(most > 0 && most <= 1) {
			return nil, fmt.Errorf("max_fpr = %v is not above 0 and at most 1", most)
		}
		return func(in Input) (Score, error) { return scoreAUC(in, a.bool("by_column"), a.number("max_fpr")) }, nil
	},
}

func scoreAUC(in Input, alone bool, most float64) (Score, error) {
	return eachPair(in, func(p pair, all []pair) (float64, error) {
		truth, err := twoClasses(p.truth)
		if err != nil {
			return 0, err
		}
		scores, err := rankedScores(p.pred, oneInteger(all) || alone && oneInteger([]pair{p}))
		if err != nil {
			return 0, err
		}
		return aucUpTo(most, truth, scores)
	})
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
	return lists.Of(codes, func(k int32) float64 { return float64(k) }), err
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
	return lists.Of(codes, func(k int32) bool { return k == 1 }), err
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
func aucOf(truth []bool, scores []float64) (float64, error) { return aucUpTo(1, truth, scores) }

// aucUpTo is aucOf, or with less than 1 the standardized area up to this false positive rate.
func aucUpTo(most float64, truth []bool, scores []float64) (float64, error) {
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
	area := areaUnderCurve(positive, negative, most)
	if most < 1 {
		least := float64(0.5 * float64(most*most))
		area = float64(0.5 * (1 + (area-least)/(most-least)))
	}
	return area, nil
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

// areaUnderCurve adds the trapezoids between the points of the curve up to a
// false positive rate, scaled to the unit square.
func areaUnderCurve(positive, negative []uint64, most float64) float64 {
	width, height := float64(len(negative)), float64(len(positive))
	lastX, lastY := 0.0, 0.0
	var area summer
	walkCurve(positive, negative, func(c corner) {
		x, y := float64(c.negative)/width, float64(c.positive)/height
		if x > most {
			if lastX > most {
				return
			}
			cut := float64((y-lastY)/(x-lastX)*(most-lastX)) + lastY // numpy.interp
			area.add(float64((most-lastX)*(cut+lastY)) / 2)
			lastX = x
			return
		}
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

// both runs f and g at the same time.
func both(f, g func()) {
	var wait sync.WaitGroup
	wait.Go(f)
	g()
	wait.Wait()
}

const (
	radixBits   = 11
	radixPasses = 3
)

// radixSort sorts v ascending by the highest bits in which its numbers differ,
// least significant digit first, and then those few that are alike in them.
func radixSort(v []uint64) {
	differ := uint64(0)
	for _, x := range v {
		differ |= x ^ v[0]
	}
	low := max(0, bits.Len64(differ)-radixPasses*radixBits)
	var counts [radixPasses][1 << radixBits]uint32
	for _, x := range v {
		for p := range counts {
			counts[p][x>>(low+p*radixBits)&(1<<radixBits-1)]++
		}
	}
	from, to := v, make([]uint64, len(v))
	for p := range counts {
		if scatter(from, to, &counts[p], low+p*radixBits) {
			from, to = to, from
		}
	}
	if len(v) > 0 && &from[0] != &v[0] {
		copy(v, from)
	}
	for lo, hi := 0, 1; low > 0 && lo < len(v); hi++ {
		if hi == len(v) || (v[hi]^v[lo])>>low != 0 {
			slices.Sort(v[lo:hi])
			lo = hi
		}
	}
}

// scatter moves from to to by one digit. It reports false, and moves nothing,
// when all have the same digit.
func scatter(from, to []uint64, counts *[1 << radixBits]uint32, shift int) bool {
	next := uint32(0)
	for d, n := range counts {
		if int(n) == len(from) {
			return false
		}
		counts[d] = next
		next += n
	}
	for _, x := range from {
		d := x >> shift & (1<<radixBits - 1)
		to[counts[d]] = x
		counts[d]++
	}
	return true
}

var biasAUC = Metric{
	Name: "bias_auc", Better: Higher,
	Doc: `Mean of the area under the ROC curve of all rows and three power means (exponent -5) over the identities: of the area of rows with the identity; of its negative rows with other positive rows; of its positive rows with other negative rows.
Predictions, truth and identities become 0 or 1 at the threshold 0.5; missing is 0. A subset with one class has no score.`,
	Source:       "Borkan et al. 2019; metric of the Jigsaw unintended bias competition with scikit-learn 1.5",
	Params:       []Param{{Name: "identities", Kind: TextsParam, Doc: "columns of the answers"}},
	Placeholders: Placeholders{"identities": {"0", "0", "1", "1"}},
	Kaggle:       Aliases{"Bias AUC": {"identities": []string{"male", "female"}}},
	New: func(a Args) (Scorer, error) {
		identities := a.texts("identities")
		if len(identities) == 0 {
			return nil, fmt.Errorf("no identities are given")
		}
		return func(in Input) (Score, error) { return scoreBiasAUC(in, identities) }, nil
	},
}

func scoreBiasAUC(in Input, identities []string) (Score, error) {
	p, values, err := in.plainFloats()
	if err != nil {
		return Score{}, err
	}
	pred := lists.Of(halves(values), func(on bool) float64 { return float64(count(on)) })
	truth := halves(p.truth.Floats())
	overall, err := aucOf(truth, pred)
	if err != nil {
		return Score{}, err
	}
	columns, err := in.answers(identities...)
	if err != nil {
		return Score{}, err
	}
	var powers [3]float64
	for _, c := range columns {
		with := halves(c.Floats())
		for k, keep := range []func(positive, with bool) bool{
			func(_, with bool) bool { return with },
			func(positive, with bool) bool { return positive != with },
			func(positive, with bool) bool { return positive == with },
		} {
			area, err := subsetAUC(truth, pred, with, keep)
			if err != nil {
				return Score{}, err
			}
			powers[k] += libm.Pow(area, -5)
		}
	}
	bias := 0.0
	for _, sum := range powers {
		bias += float64(0.25 * libm.Pow(sum/float64(len(identities)), 1.0/-5))
	}
	return Score{Value: float64(0.25*overall) + bias}, nil
}

func halves(v []float64) []bool { return lists.Of(v, func(x float64) bool { return x >= 0.5 }) }

func subsetAUC(truth []bool, pred []float64, with []bool, keep func(positive, with bool) bool) (float64, error) {
	var t []bool
	var p []float64
	for i := range truth {
		if keep(truth[i], with[i]) {
			t, p = append(t, truth[i]), append(p, pred[i])
		}
	}
	return aucOf(t, p)
}
