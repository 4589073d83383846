package split

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/plugins/numeric/random"
)

// stratifiedGroupFolds puts the groups, those of the most uneven classes first, each into
// the fold that keeps the classes' shares most even. Version 1.5 shuffles the counts of the
// groups, but not the groups: a shuffled group is placed by the counts of another.
func stratifiedGroupFolds(rng *random.RandomState, o FoldOptions) ([]int, error) {
	classes := lists.Of(rowsOf(o.Stratify), func(rows []int) float64 { return float64(len(rows)) })
	if most := slices.Max(classes); int(most) < o.Splits {
		return nil, fmt.Errorf("splits = %d: no class has more than %v rows", o.Splits, most)
	}
	groups := table.Collect(slices.Max(o.Groups)+1, func(int) []float64 { return make([]float64, len(classes)) })
	for row, group := range o.Groups {
		groups[group][o.Stratify[row]]++
	}
	if o.Shuffled {
		random.Shuffle(rng, groups)
	}
	uneven := lists.Of(groups, func(counts []float64) float64 {
		return deviation(counts, metric.Sum)
	})
	order := table.Collect(len(groups), func(i int) int { return i })
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(uneven[b], uneven[a]) })
	folds := table.Collect(o.Splits, func(int) []float64 { return make([]float64, len(classes)) })
	foldOf := make([]int, len(groups))
	for _, group := range order {
		foldOf[group] = evenest(folds, classes, groups[group])
		addTo(folds[foldOf[group]], groups[group], 1)
	}
	return lists.Of(o.Groups, func(group int) int { return foldOf[group] }), nil
}

// evenest returns the fold that a group of these counts leaves the classes' shares most even
// in; of those that are about equal, one with fewer rows.
func evenest(folds [][]float64, classes, counts []float64) (best int) {
	least, fewest := math.Inf(1), math.Inf(1)
	for i, fold := range folds {
		addTo(fold, counts, 1)
		uneven := unevenness(folds, classes)
		addTo(fold, counts, -1)
		rows := metric.Sum(fold)
		if uneven < least || math.Abs(uneven-least) <= 1e-8+float64(1e-5*least) && rows < fewest {
			least, fewest, best = uneven, rows, i
		}
	}
	return best
}

func addTo(fold, counts []float64, sign float64) {
	for class, n := range counts {
		fold[class] += float64(sign * n)
	}
}

// unevenness is the mean over classes of the deviation of the folds' shares of it.
func unevenness(folds [][]float64, classes []float64) float64 {
	sum := inOrder
	if len(classes) == 1 {
		sum = metric.Sum // numpy adds up a single column as it does a row
	}
	return metric.Mean(table.Collect(len(classes), func(class int) float64 {
		return deviation(lists.Of(folds, func(fold []float64) float64 { return fold[class] / classes[class] }), sum)
	}))
}

// deviation is numpy.std, with the order in which it adds.
func deviation(v []float64, sum func([]float64) float64) float64 {
	n := float64(len(v))
	mean := sum(v) / n
	squares := lists.Of(v, func(x float64) float64 { return float64((x - mean) * (x - mean)) })
	return math.Sqrt(sum(squares) / n)
}

func inOrder(v []float64) (sum float64) {
	for _, x := range v {
		sum += x
	}
	return sum
}
