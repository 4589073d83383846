package split

import (
	"errors"
	"fmt"
	"math"
)

// SampleOptions are the choices of Sample.
type SampleOptions struct {
	// Size is n (Count) or frac (Share); 0, the whole and, with Replace,
	// more than the whole are allowed. Unset means one row.
	Size Size
	// Seed is random_state: 0 … 2³²-1.
	Seed int64
	// Replace allows a row to be drawn more than once.
	Replace bool
	// Weights makes some rows likelier, in proportion; nil means none. NaN
	// counts as 0.
	Weights []float64
}

// Sample is pandas.DataFrame.sample (2.2 and later): the drawn row numbers in
// the order drawn. frac·n is rounded half to even.
func Sample(n int, o SampleOptions) ([]int, error) {
	rows, err := sample(n, o)
	if err != nil {
		return nil, fmt.Errorf("sample of %d rows: %w", n, err)
	}
	return rows, nil
}

func sample(n int, o SampleOptions) ([]int, error) {
	size, err := o.rows(n)
	if err != nil {
		return nil, err
	}
	rng, err := newState(o.Seed)
	if err != nil {
		return nil, err
	}
	if o.Weights == nil {
		return rng.Choice(n, size, o.Replace)
	}
	p, err := probabilities(n, o.Weights)
	if err != nil {
		return nil, err
	}
	return rng.WeightedChoice(p, size, o.Replace)
}

// rows is the number of rows wanted of n.
func (o SampleOptions) rows(n int) (int, error) {
	switch share := o.Size.share; {
	case !o.Size.IsSet():
		return 1, nil
	case o.Size.kind == sizeCount:
		return o.Size.count, nil
	case !(share >= 0) || math.IsInf(share, 0):
		return 0, fmt.Errorf("frac = %v: a share must be 0 or more", share)
	case share > 1 && !o.Replace:
		return 0, fmt.Errorf("frac = %v: more than all rows needs replace = true", share)
	default:
		return int(math.RoundToEven(float64(share * float64(n)))), nil
	}
}

// probabilities scales weights to sum to 1.
func probabilities(n int, weights []float64) ([]float64, error) {
	if len(weights) != n {
		return nil, fmt.Errorf("%d weights for %d rows", len(weights), n)
	}
	p := make([]float64, n)
	for i, w := range weights {
		switch {
		case w < 0 || math.IsInf(w, 0):
			return nil, fmt.Errorf("weight %v of row %d: a weight must be finite and not negative", w, i)
		case !math.IsNaN(w):
			p[i] = w
		}
	}
	total := pairwiseSum(p)
	if total == 0 {
		return nil, errors.New("the weights sum to 0")
	}
	for i := range p {
		p[i] /= total
	}
	return p, nil
}

// pairwiseSum adds in numpy's order: eight running sums over blocks of up to
// 128, halves added pairwise above that.
func pairwiseSum(x []float64) float64 {
	n := len(x)
	switch {
	case n < 8:
		sum := 0.0
		for _, v := range x {
			sum += v
		}
		return sum
	case n <= 128:
		var r [8]float64
		copy(r[:], x)
		i := 8
		for ; i < n-n%8; i += 8 {
			for k := range r {
				r[k] += x[i+k]
			}
		}
		sum := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
		for _, v := range x[i:] {
			sum += v
		}
		return sum
	default:
		half := n / 2
		half -= half % 8
		return pairwiseSum(x[:half]) + pairwiseSum(x[half:])
	}
}
