package metric

import (
	"math"
	"slices"

	"github.com/mleflow/mleflow/plugins/table"
)

var rocAUC = Metric{
	Name:   "roc_auc",
	Better: Higher,
	Doc: `Area under the receiver operating characteristic curve: the chance that a positive row scores higher than a negative one, ties counting half.
Of the two values of the truth the greater one is positive. Several target columns are scored one by one and averaged without weights. A missing or infinite score, and a truth with one value only, have no score. Scores may be any finite numbers; a range is a matter of the require rules.`,
	Source: "scikit-learn 1.5 roc_auc_score (average=\"macro\")",
	New: func(Args) (Scorer, error) {
		return scorerFunc(scoreAUC), nil
	},
}

func scoreAUC(in Input) (Score, error) {
	pairs, err := in.pairs()
	if err != nil {
		return Score{}, err
	}
	each := make([]float64, len(pairs))
	for i, p := range pairs {
		truth, err := twoClasses(p.truth)
		if err != nil {
			return Score{}, err
		}
		scores, err := finiteFloats(p.pred)
		if err != nil {
			return Score{}, err
		}
		if each[i], err = AUC(truth, scores); err != nil {
			return Score{}, err
		}
	}
	return Score{Value: Mean(each)}, nil
}

// twoClasses returns which rows hold the greater of the column's two values.
func twoClasses(c *table.Column) ([]bool, error) {
	codes, count, err := encode(c)
	if err != nil {
		return nil, err
	}
	if count != 2 {
		return nil, &Unscorable{Column: c.Name(), Reason: "the answers hold one class only, or more than two"}
	}
	out := make([]bool, len(codes))
	for i, k := range codes {
		out[i] = k == 1
	}
	return out, nil
}

// AUC returns the area under the ROC curve by the trapezoid rule over the
// distinct scores, points on a straight line left out, exactly as scikit-learn
// 1.5 computes it. Scores must be finite; -0 equals 0. Both classes must
// occur.
func AUC(truth []bool, scores []float64) (float64, error) {
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
	return trapezoid(rocCorners(positive, negative)), nil
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

// rocCorners walks the ascending keys from the top and returns the curve from
// (0, 0), without points between two others on a line.
func rocCorners(positive, negative []uint64) []corner {
	points := make([]corner, 1, 1024)
	p, n := len(positive), len(negative)
	for p > 0 || n > 0 {
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
		points = append(points, corner{len(negative) - n, len(positive) - p})
	}
	return points[:1+dropCollinear(points[1:])]
}

// dropCollinear keeps the points where the direction changes, the first and
// the last, and returns how many. The test is scikit-learn's second
// difference, which compares equal steps only, and looks at all points.
func dropCollinear(points []corner) int {
	if len(points) <= 2 {
		return len(points)
	}
	kept := 1
	before := points[0]
	for i := 1; i+1 < len(points); i++ {
		here, next := points[i], points[i+1]
		if next.negative-here.negative != here.negative-before.negative || next.positive-here.positive != here.positive-before.positive {
			points[kept] = here
			kept++
		}
		before = here
	}
	points[kept] = points[len(points)-1]
	return kept + 1
}

// trapezoid returns the area under the curve scaled to the unit square.
func trapezoid(points []corner) float64 {
	last := points[len(points)-1]
	width, height := float64(last.negative), float64(last.positive)
	areas := make([]float64, len(points)-1)
	x, y := 0.0, 0.0
	for i, p := range points[1:] {
		nextX, nextY := float64(p.negative)/width, float64(p.positive)/height
		areas[i] = float64((nextX-x)*(nextY+y)) / 2
		x, y = nextX, nextY
	}
	return Sum(areas)
}
