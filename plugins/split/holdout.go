package split

import (
	"errors"
	"fmt"
	"math"

	"github.com/mleflow/mleflow/plugins/random"
)

// Options are the choices of TrainTestSplit. The zero value holds out a
// quarter of the rows, shuffled with seed 0.
type Options struct {
	Test  Size // test_size
	Train Size // train_size
	// Seed is random_state: 0 … 2³²-1.
	Seed int64
	// Unshuffled is shuffle=False: the first rows train, the next ones test.
	Unshuffled bool
	// Stratify gives every row its class, as codes in the order of the
	// classes (Sorted matches the library); nil means no stratification.
	Stratify []int32
}

// TrainTestSplit is sklearn.model_selection.train_test_split (1.5 and later)
// on row numbers: it divides 0 … n-1 into training and test rows, both in the
// shuffled order in which the library returns them. Several arrays split
// together get the same rows, so one call serves them all. Both results share
// one backing array.
func TrainTestSplit(n int, o Options) (train, test []int, err error) {
	return TrainTestSplitOf[int](n, o)
}

// TrainTestSplitOf is TrainTestSplit with row numbers of type T: uint32
// halves the memory of tens of millions of rows.
func TrainTestSplitOf[T random.Index](n int, o Options) (train, test []T, err error) {
	train, test, err = trainTest[T](n, o)
	if err != nil {
		return nil, nil, fmt.Errorf("split %d rows: %w", n, err)
	}
	return train, test, nil
}

func trainTest[T random.Index](n int, o Options) (train, test []T, err error) {
	nTrain, nTest, err := partSizes(n, o.Test, o.Train, Share(0.25))
	if err != nil {
		return nil, nil, err
	}
	if n > 0 && int(T(n-1)) != n-1 {
		return nil, nil, errors.New("the row numbers do not fit the chosen integer type")
	}
	if o.Unshuffled {
		if o.Stratify != nil {
			return nil, nil, errors.New("stratify needs shuffled rows; drop shuffle = false or stratify")
		}
		rows := count[T](nTrain + nTest)
		return rows[:nTrain:nTrain], rows[nTrain:], nil
	}
	rng, err := newState(o.Seed)
	if err != nil {
		return nil, nil, err
	}
	if o.Stratify != nil {
		return stratifiedOf[T](rng, n, nTrain, nTest, o.Stratify)
	}
	perm := random.Permutation[T](rng, n)
	return perm[nTest : nTest+nTrain : nTest+nTrain], perm[:nTest:nTest], nil
}

func stratifiedOf[T random.Index](rng *random.RandomState, n, nTrain, nTest int, classes []int32) (train, test []T, err error) {
	if len(classes) != n {
		return nil, nil, fmt.Errorf("stratify: %d classes for %d rows", len(classes), n)
	}
	a, b, err := stratified(rng, ranks(classes), nTrain, nTest)
	return convert[T](a), convert[T](b), err
}

func convert[T random.Index](rows []int) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = T(r)
	}
	return out
}

// newState is scikit-learn's check_random_state for an integer.
func newState(seed int64) (*random.RandomState, error) {
	if seed < 0 || seed > math.MaxUint32 {
		return nil, fmt.Errorf("random_state = %d: a seed must lie between 0 and %d", seed, uint32(math.MaxUint32))
	}
	return random.NewRandomState(uint32(seed)), nil
}

// count is 0 … n-1.
func count[T random.Index](n int) []T {
	rows := make([]T, n)
	for i := range rows {
		rows[i] = T(i)
	}
	return rows
}
