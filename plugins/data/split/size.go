package split

import (
	"fmt"
	"math"
)

// Size says how large a part is: a share of the rows, a number of rows, or
// (the zero value) not said.
type Size struct {
	kind  sizeKind
	share float64
	count int
}

type sizeKind uint8

const (
	sizeUnset sizeKind = iota
	sizeShare
	sizeCount
)

// Share is a part of the rows as a fraction strictly between 0 and 1.
func Share(f float64) Size { return Size{kind: sizeShare, share: f} }

// Count is an absolute number of rows.
func Count(n int) Size { return Size{kind: sizeCount, count: n} }

// isSet reports whether the size was said.
func (s Size) isSet() bool { return s.kind != sizeUnset }

func (s Size) String() string {
	switch s.kind {
	case sizeShare:
		return fmt.Sprint(s.share)
	case sizeCount:
		return fmt.Sprint(s.count)
	default:
		return "unset"
	}
}

// check refuses a size that cannot leave rows on both sides.
func (s Size) check(name string, n int) error {
	switch {
	case s.kind == sizeShare && !(s.share > 0 && s.share < 1):
		return fmt.Errorf("%s = %v: a share must be strictly between 0 and 1; for a number of rows, give an integer", name, s)
	case s.kind == sizeCount && s.count <= 0:
		return fmt.Errorf("%s = %v: a number of rows must be at least 1", name, s)
	case s.kind == sizeCount && s.count >= n:
		return fmt.Errorf("%s = %v: there are only %d rows, and the other part must keep at least one", name, s, n)
	}
	return nil
}

// rows is the size in rows; a share is rounded by round.
func (s Size) rows(n int, round func(float64) float64) int {
	if s.kind == sizeShare {
		return int(round(float64(s.share * float64(n))))
	}
	return s.count
}

// partSizes works out the rows of both parts as scikit-learn (1.5 and later)
// does: a test share is rounded up, a training share down, an unset size
// takes the rows that the other leaves, and whenUnset is the test size if neither
// is set. Rows that two sizes leave over go to neither part.
func partSizes(n int, test, train, whenUnset Size) (nTrain, nTest int, err error) {
	if !test.isSet() && !train.isSet() {
		test = whenUnset
	}
	if err := test.check("test_size", n); err != nil {
		return 0, 0, err
	}
	if err := train.check("train_size", n); err != nil {
		return 0, 0, err
	}
	if test.kind == sizeShare && train.kind == sizeShare && test.share+train.share > 1 {
		return 0, 0, fmt.Errorf("test_size = %v and train_size = %v add up to more than 1", test, train)
	}
	nTest, nTrain = test.rows(n, math.Ceil), train.rows(n, math.Floor)
	if !train.isSet() {
		nTrain = n - nTest
	}
	if !test.isSet() {
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
