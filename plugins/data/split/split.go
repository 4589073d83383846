package split

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/numeric/random"
)

// Options are the choices of TrainTestSplit. The zero value holds out a
// quarter of the rows, shuffled with seed 0.
type Options struct {
	Test  Size // test_size
	Train Size // train_size
	// Seed is random_state: 0 … 2³²-1.
	Seed int64
	// Before is how many splits of ShuffleSplit or StratifiedShuffleSplit are drawn before.
	Before int
	// Unshuffled is shuffle=False: the first rows train, the next ones test.
	Unshuffled bool
	// Stratify gives every row its class, a number from 0 on by which classes are
	// ordered; nil means no stratification.
	Stratify []int
}

// TrainTestSplit is sklearn.model_selection.train_test_split (1.5 and later)
// on row numbers: it divides 0 … n-1 into training and test rows, both in the
// shuffled order in which the library returns them. Several arrays split
// together get the same rows, so one call serves them all. Both results share
// one backing array.
func TrainTestSplit(n int, o Options) (train, test []int, err error) {
	if train, test, err = trainTest(n, o); err != nil {
		return nil, nil, fmt.Errorf("split %d rows: %w", n, err)
	}
	return train, test, nil
}

func trainTest(n int, o Options) (train, test []int, err error) {
	nTrain, nTest, err := partSizes(n, o.Test, o.Train)
	if err != nil {
		return nil, nil, err
	}
	if o.Unshuffled {
		if o.Stratify != nil {
			return nil, nil, errors.New("stratify needs shuffled rows; drop shuffle = false or stratify")
		}
		rows := make([]int, nTrain+nTest)
		for i := range rows {
			rows[i] = i
		}
		return rows[:nTrain:nTrain], rows[nTrain:], nil
	}
	rng, err := newState(o.Seed)
	if err != nil {
		return nil, nil, err
	}
	if o.Stratify != nil {
		if len(o.Stratify) != n {
			return nil, nil, fmt.Errorf("stratify: %d classes for %d rows", len(o.Stratify), n)
		}
		for range o.Before {
			if _, _, err := stratified(rng, o.Stratify, nTrain, nTest); err != nil {
				return nil, nil, err
			}
		}
		return stratified(rng, o.Stratify, nTrain, nTest)
	}
	perm := rng.Permutation(n)
	for range o.Before {
		perm = rng.Permutation(n)
	}
	return perm[nTest : nTest+nTrain : nTest+nTrain], perm[:nTest:nTest], nil
}

// newState is scikit-learn's check_random_state for an integer.
func newState(seed int64) (*random.RandomState, error) {
	if seed < 0 || seed > math.MaxUint32 {
		return nil, fmt.Errorf("random_state = %d: a seed must be between 0 and %d", seed, uint32(math.MaxUint32))
	}
	return random.NewRandomState(uint32(seed)), nil
}

// Size says how large a part is: a share of the rows below 1, a number of rows, or (the
// zero value) not said.
type Size float64

func (s Size) String() string {
	if s == 0 {
		return "unset"
	}
	return strconv.FormatFloat(float64(s), 'f', -1, 64)
}

func (s Size) isShare() bool { return s > 0 && s < 1 }

// check refuses a size that cannot leave rows on both sides.
func (s Size) check(name string, n int) error {
	switch {
	case s == 0 || s.isShare():
		return nil
	case s < 0:
		return fmt.Errorf("%s = %v: a number of rows must be at least 1", name, s)
	case float64(s) != math.Trunc(float64(s)):
		return fmt.Errorf("%s = %v: a share must be strictly between 0 and 1; for a number of rows, give an integer", name, s)
	case float64(s) >= float64(n):
		return fmt.Errorf("%s = %v: there are only %d rows, and the other part must keep at least one", name, s, n)
	}
	return nil
}

// rows is the size in rows; a share is rounded by round.
func (s Size) rows(n int, round func(float64) float64) int {
	if s.isShare() {
		return int(round(float64(float64(s) * float64(n))))
	}
	return int(s)
}

// partSizes works out the rows of both parts as scikit-learn (1.5 and later)
// does: a test share is rounded up, a training share down, an unset size
// takes the rows that the other leaves, and a quarter is the test size if neither
// is set. Rows that two sizes leave over go to neither part.
func partSizes(n int, test, train Size) (nTrain, nTest int, err error) {
	if test == 0 && train == 0 {
		test = 0.25
	}
	if err := test.check("test_size", n); err != nil {
		return 0, 0, err
	}
	if err := train.check("train_size", n); err != nil {
		return 0, 0, err
	}
	if test.isShare() && train.isShare() && test+train > 1 {
		return 0, 0, fmt.Errorf("test_size = %v and train_size = %v add up to more than 1", test, train)
	}
	nTest, nTrain = test.rows(n, math.Ceil), train.rows(n, math.Floor)
	if train == 0 {
		nTrain = n - nTest
	}
	if test == 0 {
		nTest = n - nTrain
	}
	if nTrain+nTest > n {
		return 0, 0, fmt.Errorf("test_size = %v and train_size = %v ask for %d rows of %d", test, train, nTrain+nTest, n)
	}
	if nTrain == 0 {
		return 0, 0, fmt.Errorf("test_size = %v and train_size = %v leave no training rows of %d", test, train, n)
	}
	return nTrain, nTest, nil
}

// stratified is the first split of sklearn.model_selection.
// StratifiedShuffleSplit: each class gives its proportional number of rows to
// both parts, and each part is shuffled once more at the end.
func stratified(rng *random.RandomState, classes []int, nTrain, nTest int) (train, test []int, err error) {
	rows := rowsOf(classes)
	counts := lists.Of(rows, func(of []int) int { return len(of) })
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
