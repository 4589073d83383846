package split

import (
	"errors"
	"fmt"
	"math"

	"github.com/mleflow/mleflow/plugins/numeric/random"
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
	train, test, err = trainTest(n, o)
	if err != nil {
		return nil, nil, fmt.Errorf("split %d rows: %w", n, err)
	}
	return train, test, nil
}

func trainTest(n int, o Options) (train, test []int, err error) {
	nTrain, nTest, err := partSizes(n, o.Test, o.Train, Share(0.25))
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
		return stratified(rng, o.Stratify, nTrain, nTest)
	}
	perm := rng.Permutation(n)
	return perm[nTest : nTest+nTrain : nTest+nTrain], perm[:nTest:nTest], nil
}

// newState is scikit-learn's check_random_state for an integer.
func newState(seed int64) (*random.RandomState, error) {
	if seed < 0 || seed > math.MaxUint32 {
		return nil, fmt.Errorf("random_state = %d: a seed must be between 0 and %d", seed, uint32(math.MaxUint32))
	}
	return random.NewRandomState(uint32(seed)), nil
}
