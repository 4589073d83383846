package split

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mleflow/mleflow/plugins/random"
)

// stratified is the first split of sklearn.model_selection.
// StratifiedShuffleSplit: each class gives its proportional number of rows to
// both parts, and each part is shuffled once more at the end.
func stratified(rng *random.RandomState, codes []int32, nTrain, nTest int) (train, test []int, err error) {
	rows := rowsByCode(codes)
	counts := make([]int, len(rows))
	for c := range rows {
		counts[c] = len(rows[c])
	}
	if err := checkClasses(counts, nTrain, nTest); err != nil {
		return nil, nil, err
	}
	inTrain, err := approximateMode(rng, counts, nTrain)
	if err != nil {
		return nil, nil, err
	}
	left := make([]int, len(counts))
	for c := range left {
		left[c] = counts[c] - inTrain[c]
	}
	inTest, err := approximateMode(rng, left, nTest)
	if err != nil {
		return nil, nil, err
	}
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
// down; what is missing goes to the largest remainders, and within equal
// remainders to classes picked at random.
func approximateMode(rng *random.RandomState, counts []int, draws int) ([]int, error) {
	total := 0
	for _, n := range counts {
		total += n
	}
	if total == 0 {
		return nil, errors.New("stratify: no rows to draw from")
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
	return out, shareMissing(rng, out, remainder, missing)
}

// shareMissing adds missing rows to out, one each, by falling remainder.
func shareMissing(rng *random.RandomState, out []int, remainder []float64, missing int) error {
	values := slices.Clone(remainder)
	slices.Sort(values)
	values = slices.Compact(values)
	for _, value := range slices.Backward(values) {
		if missing <= 0 {
			return nil
		}
		var tied []int
		for c, r := range remainder {
			if r == value {
				tied = append(tied, c)
			}
		}
		now := min(len(tied), missing)
		picks, err := rng.Choice(len(tied), now, false)
		if err != nil {
			return err
		}
		for _, p := range picks {
			out[tied[p]]++
		}
		missing -= now
	}
	return nil
}
