package random

import "math/bits"

// words is a generator of uniform machine words.
type words interface {
	uint32() uint32
	uint64() uint64
}

// masked draws from 0 … top: a word cut down to the bits of top, drawn again
// until it is in range. A top of 32 bits costs 32-bit words, 0 costs none.
func masked(w words, top uint64) uint64 {
	if top == 0 {
		return 0
	}
	mask := ^uint64(0) >> bits.LeadingZeros64(top)
	for {
		var v uint64
		if top>>32 == 0 {
			v = uint64(w.uint32()) & mask
		} else {
			v = w.uint64() & mask
		}
		if v <= top {
			return v
		}
	}
}

// integers is n draws of one. As in numpy, no range is refused when n is 0.
func integers(one func(low, high int64) (int64, error), low, high int64, n int) ([]int64, error) {
	out := make([]int64, max(n, 0))
	for i := range out {
		v, err := one(low, high)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}
