package random

import (
	"crypto/sha512"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Python is CPython's random.Random (3.11 and 3.12 agree), which the
// functions of the random module after random.seed are too. It is not safe
// for use by several goroutines at once.
type Python struct{ mt mt19937 }

// NewPython is random.Random(seed) for an integer seed; its sign does not
// count.
func NewPython(seed int64) *Python {
	size := uint64(seed)
	if seed < 0 {
		size = -size
	}
	p := new(Python)
	p.mt.seedWords(words32(size))
	return p
}

// NewPythonText is random.Random(seed) for a text seed (version 2 seeding):
// the UTF-8 bytes followed by their SHA-512 are one big-endian integer.
func NewPythonText(seed string) *Python {
	sum := sha512.Sum512([]byte(seed))
	number := slices.Concat([]byte(seed), sum[:])
	slices.Reverse(number)
	key := make([]uint32, (len(number)+3)/4)
	for i, b := range number {
		key[i/4] |= uint32(b) << (8 * (i % 4))
	}
	for len(key) > 1 && key[len(key)-1] == 0 {
		key = key[:len(key)-1]
	}
	p := new(Python)
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

// Float64 is random(): uniform on [0, 1) with 53 bits.
func (p *Python) Float64() float64 { return p.mt.float64() }

// Uniform is uniform(a, b).
func (p *Python) Uniform(a, b float64) float64 {
	return a + float64((b-a)*p.mt.float64())
}

// Integer is randint(low, high): a whole number from low … high, both
// included, unlike numpy's. It is an error when low > high.
func (p *Python) Integer(low, high int64) (int64, error) {
	width := uint64(high) - uint64(low) + 1
	if low > high || width == 0 {
		return 0, fmt.Errorf("draw integer: no 64-bit range from %d to %d", low, high)
	}
	return low + int64(p.Below(width)), nil
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
// power of 4, so whole numbers give the same.
func poolLimit(k int) int {
	limit := 21
	if k > 5 {
		limit += 1 << (2 * ((bits.Len64(uint64(3*k)-1) + 1) / 2))
	}
	return limit
}

func (p *Python) samplePool(n, k int) []int {
	pool := ascending[int](n)
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

// Choices is choices(range(n), k=k): k positions, repeats allowed.
func (p *Python) Choices(n, k int) ([]int, error) {
	if n <= 0 {
		return nil, errors.New("choose elements: the sequence is empty")
	}
	out := make([]int, max(k, 0))
	for i := range out {
		out[i] = int(math.Floor(float64(p.mt.float64() * float64(n))))
	}
	return out, nil
}

// WeightedChoices is choices(range(len(weights)), weights, k=k) for weights
// that are floats, added up from the first on.
func (p *Python) WeightedChoices(weights []float64, k int) ([]int, error) {
	cumulative := make([]float64, len(weights))
	total := 0.0
	for i, w := range weights {
		total += w
		cumulative[i] = total
	}
	if !(total > 0) || math.IsInf(total, 0) {
		return nil, fmt.Errorf("choose elements: the weights add up to %v, not to a positive number", total)
	}
	out := make([]int, max(k, 0))
	for i := range out {
		x := float64(p.mt.float64() * total)
		out[i] = upperBound(cumulative[:len(cumulative)-1], x)
	}
	return out, nil
}
