package split

import (
	"fmt"
	"math"
	"slices"

	"github.com/mleflow/mleflow/plugins/random"
)

// FoldOptions are the choices of the k-fold splits. Seed matters only with
// Shuffle.
type FoldOptions struct {
	Folds   int // n_splits, at least 2
	Shuffle bool
	Seed    int64 // random_state: 0 … 2³²-1
}

// KFold is sklearn.model_selection.KFold (1.5 and later): the fold, 0 …
// Folds-1, in which each row is tested.
func KFold(n int, o FoldOptions) ([]int32, error) {
	rng, err := o.start(n, "rows")
	if err != nil {
		return nil, err
	}
	rows := count[int](n)
	if o.Shuffle {
		random.Shuffle(rng, rows)
	}
	return deal(rows, o.Folds, make([]int32, n)), nil
}

// StratifiedKFold is sklearn.model_selection.StratifiedKFold (1.5 and later):
// folds with nearly equal numbers of each class. Only which rows share a
// class and in what order classes first occur matters, so any codes do.
func StratifiedKFold(classes []int32, o FoldOptions) ([]int32, error) {
	rng, err := o.start(len(classes), "rows")
	if err != nil {
		return nil, err
	}
	rows := rowsByCode(Appearance(classes))
	if largest := largestGroup(rows); o.Folds > largest {
		return nil, fmt.Errorf("divide into %d folds: the largest class has only %d rows", o.Folds, largest)
	}
	folds := make([]int32, len(classes))
	start := 0 // of the class, were the rows sorted by class
	for _, of := range rows {
		turn := foldsOfClass(start, len(of), o.Folds)
		if o.Shuffle {
			random.Shuffle(rng, turn)
		}
		for k, row := range of {
			folds[row] = turn[k]
		}
		start += len(of)
	}
	return folds, nil
}

// foldsOfClass deals the places start … start+n-1 round robin to the folds
// and returns the folds they fall in, ascending.
func foldsOfClass(start, n, folds int) []int32 {
	turn := make([]int32, n)
	for k := range turn {
		turn[k] = int32((start + k) % folds)
	}
	slices.Sort(turn)
	return turn
}

// GroupKFold is sklearn.model_selection.GroupKFold (1.7 and later; before,
// groups of equal size were ordered by the processor's sort): whole groups,
// largest first, each to the fold that has the fewest rows. With Shuffle, the
// groups are shuffled and dealt out in equal numbers instead. Pass Sorted
// codes to match the library.
func GroupKFold(groups []int32, o FoldOptions) ([]int32, error) {
	groups = ranks(groups)
	sizes := countCodes(groups)
	rng, err := o.start(len(sizes), "groups")
	if err != nil {
		return nil, err
	}
	order := count[int](len(sizes))
	of := make([]int32, len(sizes))
	if o.Shuffle {
		random.Shuffle(rng, order)
		deal(order, o.Folds, of)
	} else {
		slices.SortStableFunc(order, func(a, b int) int { return sizes[a] - sizes[b] })
		slices.Reverse(order)
		fillLightest(order, sizes, o.Folds, of)
	}
	folds := make([]int32, len(groups))
	for i, g := range groups {
		folds[i] = of[g]
	}
	return folds, nil
}

func fillLightest(order, sizes []int, folds int, of []int32) {
	loads := make([]int, folds)
	for _, g := range order {
		lightest := slices.Index(loads, slices.Min(loads))
		loads[lightest] += sizes[g]
		of[g] = int32(lightest)
	}
}

// deal cuts items into folds runs, the first ones longer by one where it does
// not come out even, and notes each item's run.
func deal(items []int, folds int, of []int32) []int32 {
	at := 0
	for f := range folds {
		size := len(items) / folds
		if f < len(items)%folds {
			size++
		}
		for _, item := range items[at : at+size] {
			of[item] = int32(f)
		}
		at += size
	}
	return of
}

// start checks the options against the number of things to divide.
func (o FoldOptions) start(n int, things string) (*random.RandomState, error) {
	if o.Folds < 2 || o.Folds > math.MaxInt32 {
		return nil, fmt.Errorf("divide into %d folds: at least 2 are needed", o.Folds)
	}
	if o.Folds > n {
		return nil, fmt.Errorf("divide into %d folds: there are only %d %s", o.Folds, n, things)
	}
	return newState(o.Seed)
}

func largestGroup(rows [][]int) int {
	largest := 0
	for _, of := range rows {
		largest = max(largest, len(of))
	}
	return largest
}

// Fold lists the rows of every fold but k, and those of fold k, both in row
// order.
func Fold(folds []int32, k int) (train, test []int) {
	for i, f := range folds {
		if int(f) == k {
			test = append(test, i)
		} else {
			train = append(train, i)
		}
	}
	return train, test
}
