package metric

import (
	"math"
	"slices"
	"strconv"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
)

var lwlrap = Metric{
	Name: "lwlrap", Better: Higher,
	Doc: `Label-weighted label-ranking average precision.
A true label's precision is (true labels ranked at or above it) / (labels ranked at or above it), ties sharing the lowest rank; a row's is the mean over its true labels, 1 if all are true. The score is the mean over rows weighted by their true labels; rows without any are left out. Missing and infinite values in the others, only booleans, and no rows have no score.`,
	Source: "scikit-learn 1.5 label_ranking_average_precision_score with sample weights",
	Kaggle: Aliases{"Label-Weighted Label-Ranking Average Precision": nil},
	New:    func(Args) (Scorer, error) { return scoreLWLRAP, nil },
}

func scoreLWLRAP(in Input) (Score, error) {
	pairs, err := in.pairs()
	if err != nil {
		return Score{}, err
	}
	truth, scores := make([][]float64, len(pairs)), make([][]float64, len(pairs))
	allBool := true
	for k, p := range pairs {
		if scores[k], err = anyFloats(p.pred); err != nil {
			return Score{}, err
		}
		truth[k] = p.truth.Floats()
		allBool = allBool && p.pred.Kind() == table.Bool
	}
	if len(scores[0]) == 0 {
		return Score{}, unscorable("there are no rows")
	}
	if allBool {
		return Score{}, unscorable("booleans cannot be ranked")
	}
	if err := integerScores(pairs, scores); err != nil {
		return Score{}, err
	}
	sum, weight := 0.0, 0.0
	for i := range scores[0] {
		relevant, row := make([]bool, len(pairs)), make([]float64, len(pairs))
		for k := range pairs {
			relevant[k], row[k] = truth[k][i] > 0, scores[k][i]
		}
		if !slices.Contains(relevant, true) {
			continue
		}
		for k, x := range row {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return Score{}, &Unscorable{Column: pairs[k].pred.Name(), Reason: "row " + strconv.Itoa(i+1) + " is missing or not finite"}
			}
		}
		precision, labels := labelRankingPrecision(relevant, row)
		sum += float64(precision * float64(labels))
		weight += float64(labels)
	}
	if weight == 0 {
		return Score{}, unscorable("no row has a true label")
	}
	return Score{Value: sum / weight}, nil
}

// integerScores replaces the scores of a submission that holds int64 only, or
// uint64 only, by their places. scikit-learn ranks such a row by its negated
// scores; the lowest integer is its own negative and so ranks first.
func integerScores(pairs []pair, scores [][]float64) error {
	if !oneInteger(pairs) {
		return nil
	}
	columns, lowest := lists.Of(pairs, func(p pair) *table.Column { return p.pred }), int64(0)
	if columns[0].Kind() == table.Int64 {
		lowest = math.MinInt64
	}
	places, err := encodeTogether(columns...)
	for k, codes := range places.codes {
		scores[k] = lists.Of(codes, func(place int32) float64 { return float64(place) })
		for i, x := range columns[k].Ints() {
			if x == lowest {
				scores[k][i] = float64(places.count)
			}
		}
	}
	return err
}

// labelRankingPrecision returns the precision of one row (see the metric
// lwlrap) and the number of its true labels.
func labelRankingPrecision(relevant []bool, scores []float64) (precision float64, labels int) {
	var own []float64
	for k, r := range relevant {
		if r {
			own = append(own, scores[k])
		}
	}
	if len(own) == 0 || len(own) == len(scores) {
		return 1, len(own)
	}
	all := slices.Sorted(slices.Values(scores))
	sorted := slices.Sorted(slices.Values(own))
	each := lists.Of(own, func(s float64) float64 { return float64(atLeast(sorted, s)) / float64(atLeast(all, s)) })
	return Mean(each), len(own)
}

// atLeast returns how many of the ascending values are v or greater.
func atLeast(sorted []float64, v float64) int {
	i, _ := slices.BinarySearch(sorted, v)
	return len(sorted) - i
}
