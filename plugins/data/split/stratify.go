package split

import (
	"fmt"
	"math"
	"slices"

	"github.com/mleflow/mleflow/plugins/numeric/random"
)

// stratified is the first split of sklearn.model_selection.
// StratifiedShuffleSplit: each class gives its proportional number of rows to
// both parts, and each part is shuffled once more at the end.
func stratified(rng *random.RandomState, classes []int, nTrain, nTest int) (train, test []int, err error) {
	rows := rowsOf(classes)
	counts := make([]int, len(rows))
	for c := range rows {
		counts[c] = len(rows[c])
	}
	if err := checkClasses(counts, nTrain, nTest); err != nil {
		return nil, nil, err
	}
	inTrain := approximateMode(rng, counts, nTrain)
	left := make([]int, len(counts))
	for c := range left {
		left[c] = counts[c] - inTrain[c]
	}
	inTest := approximateMode(rng, left, nTest)
	for c, of := range rows {
		perm := rng.Permutation(len(of))
		for k, p := range perm[:inTrain[c]+inTest[c]] {
			if k < inTrain[c] {
				train = append(train, of[p])
			} else {
				test = append(test, of[p])
			}
		}
	}
	random.Shuffle(rng, train)
	random.Shuffle(rng, test)
	return train, test, nil
}

// rowsOf lists the rows of each class that has any, the classes in their order.
func rowsOf(classes []int) [][]int {
	rows := make([][]int, slices.Max(classes)+1)
	for i, class := range classes {
		rows[class] = append(rows[class], i)
	}
	return slices.DeleteFunc(rows, func(of []int) bool { return len(of) == 0 })
}

func checkClasses(counts []int, nTrain, nTest int) error {
	if slices.Min(counts) < 2 {
		return fmt.Errorf("stratify: class %d of %d has a single row; every class needs at least 2", slices.Index(counts, 1), len(counts))
	}
	if nTrain < len(counts) || nTest < len(counts) {
		return fmt.Errorf("stratify: %d training and %d test rows cannot hold all of %d classes", nTrain, nTest, len(counts))
	}
	return nil
}

// approximateMode is sklearn.utils.extmath._approximate_mode: how many of
// draws rows come from each class. Every class gets its exact part rounded
// down. The missing rows go to the largest remainders, and among equal
// remainders to classes picked at random.
func approximateMode(rng *random.RandomState, counts []int, draws int) []int {
	total := 0
	for _, n := range counts {
		total += n
	}
	out := make([]int, len(counts))
	remainder := make([]float64, len(counts))
	missing := draws
	for c, n := range counts {
		exact := float64(float64(n) / float64(total) * float64(draws))
		whole := math.Floor(exact)
		out[c], remainder[c] = int(whole), exact-whole
		missing -= out[c]
	}
	shareMissing(rng, out, remainder, missing)
	return out
}

// shareMissing adds missing rows to out, one each, by falling remainder.
func shareMissing(rng *random.RandomState, out []int, remainder []float64, missing int) {
	values := slices.Clone(remainder)
	slices.Sort(values)
	values = slices.Compact(values)
	for _, value := range slices.Backward(values) {
		if missing <= 0 {
			return
		}
		var tied []int
		for c, r := range remainder {
			if r == value {
				tied = append(tied, c)
			}
		}
		now := min(len(tied), missing)
		for _, p := range rng.Permutation(len(tied))[:now] {
			out[tied[p]]++
		}
		missing -= now
	}
}
