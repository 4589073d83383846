package split

import (
	"errors"
	"fmt"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/random"
)

// FoldOptions are the choices of Folds.
type FoldOptions struct {
	Splits   int
	Shuffled bool
	Seed     int64
	// Stratify gives every row its class, numbered from 0 in order of first appearance, or,
	// with groups, in the order of the classes.
	Stratify []int
	// Groups gives every row its group, a number from 0 on by which groups are ordered.
	Groups []int
}

// Folds returns in which fold each of n rows is a test row: that of
// sklearn.model_selection.KFold (1.5), of StratifiedKFold with classes, of
// GroupKFold with groups, which are not shuffled, and of StratifiedGroupKFold with both.
func Folds(n int, o FoldOptions) ([]int, error) {
	rng, err := newState(o.Seed)
	switch {
	case err != nil:
		return nil, err
	case o.Splits < 2 || o.Splits > n:
		return nil, fmt.Errorf("splits = %d: %d rows have 2 to %d folds", o.Splits, n, n)
	case o.Groups != nil && o.Stratify != nil:
		return stratifiedGroupFolds(rng, o)
	case o.Groups != nil && o.Shuffled:
		return nil, errors.New("folds of groups are shuffled only if they are stratified, too")
	case o.Groups != nil:
		return groupFolds(o.Groups, o.Splits)
	case o.Stratify != nil:
		return stratifiedFolds(rng, o)
	}
	order := table.Collect(n, func(i int) int { return i })
	if o.Shuffled {
		order = rng.Permutation(n)
	}
	out := make([]int, n)
	at := 0
	for fold := range o.Splits {
		size := n / o.Splits
		if fold < n%o.Splits {
			size++
		}
		for range size {
			out[order[at]] = fold
			at++
		}
	}
	return out, nil
}

// stratifiedFolds deals the rows, sorted by class, out to the folds in turn; a fold has as
// many rows of a class as it got, and takes them in their order or a shuffled one.
func stratifiedFolds(rng *random.RandomState, o FoldOptions) ([]int, error) {
	out, dealt, most := make([]int, len(o.Stratify)), 0, 0
	for _, rows := range rowsOf(o.Stratify) {
		counts := make([]int, o.Splits)
		for range rows {
			counts[dealt%o.Splits]++
			dealt++
		}
		var folds []int
		for fold, n := range counts {
			for range n {
				folds = append(folds, fold)
			}
		}
		if o.Shuffled {
			random.Shuffle(rng, folds)
		}
		for k, row := range rows {
			out[row] = folds[k]
		}
		most = max(most, len(rows))
	}
	if most < o.Splits {
		return nil, fmt.Errorf("splits = %d: no class has more than %d rows", o.Splits, most)
	}
	return out, nil
}

// groupFolds puts the groups, the largest first, each into the fold with the fewest rows.
func groupFolds(groups []int, splits int) ([]int, error) {
	sizes := lists.Of(rowsOf(groups), func(rows []int) int64 { return int64(len(rows)) })
	if splits > len(sizes) {
		return nil, fmt.Errorf("splits = %d: there are only %d groups", splits, len(sizes))
	}
	order, err := table.FromInts("", sizes).ArgSort(false)
	if err != nil {
		return nil, err
	}
	foldOf, rows := make([]int, len(sizes)), make([]int64, splits)
	for i := len(order) - 1; i >= 0; i-- {
		lightest := 0
		for fold, n := range rows {
			if n < rows[lightest] {
				lightest = fold
			}
		}
		foldOf[order[i]] = lightest
		rows[lightest] += sizes[order[i]]
	}
	return lists.Of(groups, func(group int) int { return foldOf[group] }), nil
}

// TimeOptions are the choices of TimeSeries; sizes of 0 are not said.
type TimeOptions struct{ Splits, Fold, TestSize, MaxTrain, Gap int }

// TimeSeries returns the bounds of a split of sklearn.model_selection.TimeSeriesSplit
// (1.5): rows [from, until) are training rows, [start, stop) test rows.
func TimeSeries(n int, o TimeOptions) (from, until, start, stop int, err error) {
	size := o.TestSize
	if size == 0 {
		size = n / (o.Splits + 1)
	}
	switch {
	case o.Splits < 2 || o.Splits >= n:
		err = fmt.Errorf("splits = %d: %d rows have 2 to %d splits in time", o.Splits, n, n-1)
	case size < 0 || o.Gap < 0 || o.MaxTrain < 0:
		err = errors.New("test_size, gap and max_train_size must not be negative")
	case o.Fold < 0 || o.Fold >= o.Splits:
		err = fmt.Errorf("fold = %d is not between 0 and %d", o.Fold, o.Splits-1)
	case size > (n-o.Gap-1)/o.Splits || n <= o.Gap:
		err = fmt.Errorf("%d rows are too few for %d test parts of %d rows and a gap of %d", n, o.Splits, size, o.Gap)
	}
	if err != nil {
		return 0, 0, 0, 0, err
	}
	start = n - (o.Splits-o.Fold)*size
	if until = start - o.Gap; o.MaxTrain > 0 {
		from = max(0, until-o.MaxTrain)
	}
	return from, until, start, start + size, nil
}
