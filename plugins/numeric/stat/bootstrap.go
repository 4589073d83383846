package stat

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mleflow/mleflow/plugins/numeric/random"
)

// ErrNoInterval is the cause of errors that say that the data give no
// interval.
var ErrNoInterval = errors.New("no interval")

// maxDenominator bounds the common multiple of the strata's sizes, so that
// sums of integers do not overflow. Sizes up to 36 in any mixture fit.
const maxDenominator = 1 << 50

// Interval is a confidence interval.
type Interval struct {
	Lower, Upper float64
}

// Bootstrap says how to resample.
type Bootstrap struct {
	Resamples  int     // how many; at least 2
	Seed       uint64  // of numpy's default_rng
	Confidence float64 // such as 0.95
}

// Result are the intervals of one bootstrap.
type Result struct {
	// Observed is the statistic of the data.
	Observed float64
	// Percentile is the interval of the quantiles of the replicates.
	Percentile Interval
	// BCa is the bias-corrected and accelerated interval; nil where it is not
	// defined, which is when all replicates are on one side of the statistic
	// or no observation moves it.
	BCa *Interval
}

// MeanOfMeans resamples within each stratum and returns intervals of the mean
// of the strata's means. With one stratum it is the ordinary bootstrap of a
// mean. The differences are integers.
//
// It is scipy.stats.bootstrap(strata, statistic, paired=False, n_resamples=R,
// rng=default_rng(seed)), with method "percentile" and "BCa".
//
// A single stratum of one, or strata of one each, hold no information on how
// results vary: ErrNoInterval. Strata of n make the interval narrower than it
// should be by about the root of (n-1)/n.
//
// Sources: Efron, Better Bootstrap Confidence Intervals, JASA 82 (1987); Efron
// and Tibshirani, An Introduction to the Bootstrap (1993), chapters 13 and 14.
func (o Bootstrap) MeanOfMeans(strata [][]int64) (Result, error) {
	m, err := newMeans(strata)
	if err != nil {
		return Result{}, fmt.Errorf("bootstrap: %w", err)
	}
	if o.Resamples < 2 || !(o.Confidence > 0 && o.Confidence < 1) {
		return Result{}, fmt.Errorf("bootstrap: %d resamples and confidence %v, want 2 or more and one between 0 and 1", o.Resamples, o.Confidence)
	}
	replicates, err := m.resample(o)
	if err != nil {
		return Result{}, fmt.Errorf("bootstrap: %w", err)
	}
	slices.Sort(replicates)
	tail := float64((1 - o.Confidence) / 2)
	r := Result{Observed: m.value(m.observed()), Percentile: m.interval(replicates, tail, 1-tail)}
	if low, high, ok := m.accelerated(replicates, tail); ok {
		bca := m.interval(replicates, low, high)
		r.BCa = &bca
	}
	return r, nil
}

// means are strata whose means of means are kept as integers: the sum of
// weight times difference, to be divided by scale.
type means struct {
	strata  [][]int64
	weights []int64 // common multiple by the stratum's size
	scale   float64 // common multiple times the number of strata
}

func newMeans(strata [][]int64) (*means, error) {
	multiple, varied := int64(1), false
	for _, s := range strata {
		if len(s) == 0 {
			return nil, fmt.Errorf("a stratum is empty")
		}
		n := int64(len(s))
		multiple = multiple / divisor(multiple, n) * n
		if multiple > maxDenominator {
			return nil, fmt.Errorf("the sizes of the strata have no small common multiple")
		}
		varied = varied || n > 1
	}
	if !varied {
		return nil, fmt.Errorf("%w: every stratum has one observation", ErrNoInterval)
	}
	m := &means{strata: strata, scale: float64(multiple) * float64(len(strata))}
	for _, s := range strata {
		m.weights = append(m.weights, multiple/int64(len(s)))
	}
	return m, nil
}

func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (m *means) value(sum int64) float64 { return float64(sum) / m.scale }

func (m *means) observed() int64 {
	var sum int64
	for i, s := range m.strata {
		for _, d := range s {
			sum += d * m.weights[i]
		}
	}
	return sum
}

// resample draws as scipy does: all resamples of a stratum before the next.
func (m *means) resample(o Bootstrap) ([]int64, error) {
	rng := random.NewGenerator(o.Seed)
	out := make([]int64, o.Resamples)
	for i, s := range m.strata {
		for r := range out {
			picks, err := rng.Integers(0, int64(len(s)), len(s))
			if err != nil {
				return nil, err
			}
			for _, p := range picks {
				out[r] += s[p] * m.weights[i]
			}
		}
	}
	return out, nil
}

// interval returns the quantiles of the sorted replicates, interpolated
// linearly.
func (m *means) interval(sorted []int64, low, high float64) Interval {
	return Interval{m.quantile(sorted, low), m.quantile(sorted, high)}
}

func (m *means) quantile(sorted []int64, q float64) float64 {
	at := float64(q * float64(len(sorted)-1))
	below := min(max(int(math.Floor(at)), 0), len(sorted)-1)
	above := min(below+1, len(sorted)-1)
	a, b := m.value(sorted[below]), m.value(sorted[above])
	return a + float64((b-a)*(at-float64(below)))
}

// accelerated returns the levels of the BCa interval, and whether there are
// any.
func (m *means) accelerated(sorted []int64, tail float64) (low, high float64, ok bool) {
	observed := m.observed()
	below, _ := slices.BinarySearch(sorted, observed)
	upTo, _ := slices.BinarySearch(sorted, observed+1)
	bias := NormalQuantile((float64(below) + float64(upTo)) / float64(2*len(sorted)))
	a, ok := m.acceleration()
	if !ok || math.IsInf(bias, 0) {
		return 0, 0, false
	}
	level := func(p float64) float64 {
		z := bias + NormalQuantile(p)
		return NormalCDF(bias + z/(1-float64(a*z)))
	}
	return level(tail), level(1 - tail), true
}

// acceleration is the skewness of the jackknife values over all strata. Strata
// of one have none and add nothing.
func (m *means) acceleration() (float64, bool) {
	var cubes, squares float64
	for i, s := range m.strata {
		if len(s) < 2 {
			continue
		}
		n, cube, square := float64(len(s)), 0.0, 0.0
		var sum int64
		for _, d := range s {
			sum += d
		}
		for _, d := range s {
			// Leaving d out moves the stratum's mean from sum/n to
			// (sum-d)/(n-1), and the mean of those is sum/n.
			u := float64((int64(len(s))*d - sum) * m.weights[i])
			cube += float64(u * u * u)
			square += float64(u * u)
		}
		cubes += cube / (n * n * n)
		squares += square / (n * n)
	}
	if squares == 0 {
		return 0, false
	}
	return cubes / (6 * float64(squares*math.Sqrt(squares))), true
}
