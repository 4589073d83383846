package metric

import (
	"math/bits"
	"slices"
	"sync"
)

// both runs f and g at the same time.
func both(f, g func()) {
	var wait sync.WaitGroup
	wait.Go(f)
	g()
	wait.Wait()
}

const (
	radixBits   = 11
	radixPasses = 3
)

// radixSort sorts v ascending by the highest bits in which its numbers differ,
// least significant digit first, and then those few that are alike in them.
func radixSort(v []uint64) {
	differ := uint64(0)
	for _, x := range v {
		differ |= x ^ v[0]
	}
	low := max(0, bits.Len64(differ)-radixPasses*radixBits)
	var counts [radixPasses][1 << radixBits]uint32
	for _, x := range v {
		for p := range counts {
			counts[p][x>>(low+p*radixBits)&(1<<radixBits-1)]++
		}
	}
	from, to := v, make([]uint64, len(v))
	for p := range counts {
		if scatter(from, to, &counts[p], low+p*radixBits) {
			from, to = to, from
		}
	}
	if len(v) > 0 && &from[0] != &v[0] {
		copy(v, from)
	}
	for lo, hi := 0, 1; low > 0 && lo < len(v); hi++ {
		if hi == len(v) || (v[hi]^v[lo])>>low != 0 {
			slices.Sort(v[lo:hi])
			lo = hi
		}
	}
}

// scatter moves from to to by one digit. It reports false, and moves nothing,
// when all have the same digit.
func scatter(from, to []uint64, counts *[1 << radixBits]uint32, shift int) bool {
	next := uint32(0)
	for d, n := range counts {
		if int(n) == len(from) {
			return false
		}
		counts[d] = next
		next += n
	}
	for _, x := range from {
		d := x >> shift & (1<<radixBits - 1)
		to[counts[d]] = x
		counts[d]++
	}
	return true
}
