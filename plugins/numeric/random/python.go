package random

import (
	"errors"
	"fmt"
	"math/bits"
)

// Python is CPython's random.Random (3.11 and 3.12 agree), which the
// functions of the random module after random.seed are too. It is not safe
// for use by several goroutines at once.
type Python struct{ mt mt19937 }

// NewPython is random.Random(seed) for an integer seed; its sign does not
// count.
func NewPython(seed int64) *Python {
	p := new(Python)
	size := uint64(max(seed, -seed)) // the least integer is its own negative
	key := []uint32{uint32(size), uint32(size >> 32)}
	if key[1] == 0 {
		key = key[:1]
	}
	p.mt.seedWords(key)
	return p
}

// Clone returns a generator that goes on as p would, without touching p.
func (p *Python) Clone() *Python {
	c := *p
	return &c
}

// Bits is getrandbits(k) for k up to 64; a larger k counts as 64 and k < 1
// gives 0 without a draw.
func (p *Python) Bits(k int) uint64 {
	switch k = min(k, 64); {
	case k < 1:
		return 0
	case k <= 32:
		return uint64(p.mt.uint32() >> (32 - k))
	}
	low := uint64(p.mt.uint32())
	return uint64(p.mt.uint32()>>(64-k))<<32 | low
}

// Below is the module's own bounded draw, randrange(n): 0 … n-1 from as many
// bits as n has, drawn until one fits. n = 0 gives 0.
func (p *Python) Below(n uint64) uint64 {
	if n == 0 {
		return 0
	}
	k := bits.Len64(n)
	for {
		if v := p.Bits(k); v < n {
			return v
		}
	}
}

func (p *Python) interval(top uint64) uint64 { return p.Below(top + 1) }

func (p *Python) intervals(dst []uint32, top uint32) {
	for k := range dst {
		last := top - uint32(k)
		shift := bits.LeadingZeros32(last + 1)
		v := p.mt.uint32() >> shift
		for v > last {
			v = p.mt.uint32() >> shift
		}
		dst[k] = v
	}
}

// Choice is choice(range(n)): the position of the chosen element. It is an
// error when there is nothing to choose from.
func (p *Python) Choice(n int) (int, error) {
	if n <= 0 {
		return 0, errors.New("choose element: the sequence is empty")
	}
	return int(p.Below(uint64(n))), nil
}

// Sample is sample(range(n), k): the positions of k different elements, in
// the order they are drawn.
func (p *Python) Sample(n, k int) ([]int, error) {
	if k < 0 || k > n {
		return nil, fmt.Errorf("sample elements: %d wanted of %d", k, n)
	}
	if n <= poolLimit(k) {
		return p.samplePool(n, k), nil
	}
	return p.sampleSet(n, k), nil
}

// poolLimit is the largest population that the module copies rather than
// remembering what was drawn. It uses 4**ceil(log(3k, 4)); 3k is never a
// power of 4, so integers give the same.
func poolLimit(k int) int {
	limit := 21
	if k > 5 {
		limit += 1 << (2 * ((bits.Len64(uint64(3*k)-1) + 1) / 2))
	}
	return limit
}

func (p *Python) samplePool(n, k int) []int {
	pool := ascending(n)
	out := make([]int, k)
	for i := range out {
		j := p.Below(uint64(n - i))
		out[i] = pool[j]
		pool[j] = pool[n-i-1]
	}
	return out
}

func (p *Python) sampleSet(n, k int) []int {
	seen := make(map[int]struct{}, k)
	out := make([]int, 0, k)
	for len(out) < k {
		j := int(p.Below(uint64(n)))
		if _, ok := seen[j]; !ok {
			seen[j] = struct{}{}
			out = append(out, j)
		}
	}
	return out
}
