package metric

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

// epsilon is the distance from 0 and 1 to which LogLoss clips: the machine
// epsilon of float64.
const epsilon = 0x1p-52

var logLoss = Metric{
	Name: "log_loss", Better: Lower,
	Doc: `Cross entropy with the natural logarithm, mean over rows.
One target column: of two classes the greater is positive, p is its probability, and a row costs -ln p or -ln(1-p). Several: each truth is 0 or 1, and a row costs -Σ truth·ln p. p and 1-p are clipped to [eps, 1-eps], eps = 2^-52; rows are not normalized. Missing and infinite predictions have no score.`,
	Source: "scikit-learn 1.5 log_loss",
	Kaggle: Aliases{"Log Loss": nil, "Multiclass Loss": nil},
	New:    func(Args) (Scorer, error) { return scoreLogLoss, nil },
}

var columnwiseLogLoss = Metric{
	Name: "columnwise_log_loss", Better: Lower,
	Doc: `Log loss of each target by itself, averaged over the targets without weights: a target is a column of flags, 0 or 1, and of probabilities of 1.
A row costs -ln p or -ln(1-p), clipped to [eps, 1-eps]. Other answers are at fault. Missing and infinite predictions and strings have no score.`,
	Source: "scikit-learn 1.5 log_loss(labels=[0, 1]) of each column; metric of the MoA competition with eps = 1e-15",
	Params: []Param{{Name: "eps", Kind: NumberParam, Default: epsilon, Doc: "the distance from 0 and 1 to which probabilities are clipped"}},
	Kaggle: Aliases{"Mean Columnwise Log Loss": {"eps": 1e-15}},
	New: func(a Args) (Scorer, error) {
		eps := a.number("eps")
		if !(eps >= 0 && eps < 0.5) {
			return nil, fmt.Errorf("eps = %v is not between 0 and 0.5", eps)
		}
		return func(in Input) (Score, error) {
			return eachPair(in, func(p pair, _ []pair) (float64, error) {
				probs, err := finiteFloats(p.pred)
				if err != nil {
					return 0, err
				}
				flags, err := plainFloats(p.truth)
				if err != nil || slices.ContainsFunc(flags, func(x float64) bool { return x != 0 && x != 1 }) {
					return 0, fmt.Errorf("answers: column %q holds other values than 0 and 1", p.truth.Name())
				}
				return binaryLogLoss(lists.Of(flags, func(x float64) bool { return x == 1 }), probs, eps), nil
			})
		}, nil
	},
}

func scoreLogLoss(in Input) (Score, error) {
	pairs, err := in.pairs()
	if err != nil {
		return Score{}, err
	}
	var value float64
	if len(pairs) == 1 {
		value, err = scoreBinaryLogLoss(pairs[0])
	} else {
		value, err = scoreColumnLogLoss(pairs)
	}
	return Score{Value: value, Rounding: PythonRounding}, err
}

func scoreBinaryLogLoss(p pair) (float64, error) {
	probs, err := finiteFloats(p.pred)
	if err != nil {
		return 0, err
	}
	truth, err := twoClasses(p.truth)
	if err != nil {
		return 0, err
	}
	return binaryLogLoss(truth, probs, epsilon), nil
}

func scoreColumnLogLoss(pairs []pair) (float64, error) {
	losses := make([]float64, pairs[0].truth.Len())
	if len(losses) == 0 {
		return 0, unscorable("there are no rows")
	}
	for _, p := range pairs {
		prob := p.pred.Float // few are looked at, so they are not copied
		if _, _, finite := p.pred.Bounds(); !finite {
			probs, err := finiteFloats(p.pred)
			if err != nil {
				return 0, err
			}
			prob = func(i int) float64 { return probs[i] }
		}
		if p.truth.Kind() == table.Int64 {
			addLoss(losses, p.truth, (*table.Column).IntsInto, prob)
		} else {
			addLoss(losses, p.truth, (*table.Column).FloatsInto, prob)
		}
	}
	return Mean(losses), nil
}

// blockRows is how many rows are looked at together, so that what is made of
// them stays in the processor's cache.
const blockRows = 1 << 12

// addLoss adds what each row costs in one column.
func addLoss[T int64 | float64](losses []float64, truth *table.Column, cells func(*table.Column, []T) []T, prob func(int) float64) {
	inParallel(len(losses), func(lo, hi int) {
		memory := make([]T, min(blockRows, hi-lo))
		for ; lo < hi; lo += blockRows {
			for i, t := range cells(truth.Slice(lo, min(lo+blockRows, hi)), memory) {
				if t != 0 {
					losses[lo+i] -= float64(float64(t) * libm.Log(clip(prob(lo+i), epsilon, 1-epsilon)))
				}
			}
		}
	})
}

// binaryLogLoss returns the mean of -ln of the probability given to what was
// true, clipped to [eps, 1-eps]. Probs must be as long as truth.
func binaryLogLoss(truth []bool, probs []float64, eps float64) float64 {
	losses := make([]float64, len(truth))
	inParallel(len(truth), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			p := probs[i]
			if !truth[i] {
				p = 1 - p
			}
			losses[i] = -libm.Log(clip(p, eps, 1-eps))
		}
	})
	return Mean(losses)
}

func clip(v, lo, hi float64) float64 { return min(max(v, lo), hi) }

// inParallel calls f for parts of 0 to n, at once where that pays.
func inParallel(n int, f func(lo, hi int)) {
	parts := runtime.GOMAXPROCS(0)
	if n < 1<<14 || parts == 1 {
		f(0, n)
		return
	}
	size := (n + parts - 1) / parts
	var wait sync.WaitGroup
	for lo := 0; lo < n; lo += size {
		wait.Go(func() { f(lo, min(lo+size, n)) })
	}
	wait.Wait()
}

var klDivergence = Metric{
	Name: "kl_divergence", Better: Lower,
	Doc: `Kullback-Leibler divergence of the predicted from the true distribution, in nats, mean over rows.
True targets are counts, divided by their sum. A cell with truth t > 0 adds t·ln(t / clip(p, 1e-15, 1 - 1e-15)); t = 0 or a missing p adds nothing. In a column of integers the bounds are cut to integers, so p = 0 gives infinity.
All columns but the id, targets or not, must be numbers within [0, 1] that add up to 1 (tolerance 1e-8 + 1e-5), not booleans.`,
	Source: "Kaggle metric kullback-leibler-divergence with pandas 1.5 to 2.2",
	Kaggle: Aliases{"Kullback-Leibler Divergence": nil},
	New:    func(Args) (Scorer, error) { return scoreKL, nil },
}

func scoreKL(in Input) (Score, error) {
	pairs, err := in.pairs()
	if err != nil {
		return Score{}, err
	}
	if err := checkDistribution(in.Prediction, in.ID); err != nil {
		return Score{}, err
	}
	totals := make([]float64, in.Truth.Len())
	truth := make([][]float64, len(pairs))
	for k, p := range pairs {
		truth[k] = p.truth.Floats()
		for i, x := range truth[k] {
			totals[i] += x
		}
	}
	rows := make([]float64, len(totals))
	for k, p := range pairs {
		addDivergence(rows, truth[k], totals, p.pred)
	}
	return Score{Value: Mean(rows)}, nil
}

func addDivergence(rows, truth, totals []float64, pred *table.Column) {
	const epsilon = 1e-15
	whole := pred.Kind() == table.Int64
	for i, p := range pred.Floats() {
		t := truth[i] / totals[i]
		if p = clip(p, epsilon, 1-epsilon); whole {
			p = math.RoundToEven(p)
		}
		if t == 0 {
			continue
		}
		if cost := float64(t * libm.Log(t/p)); cost == cost {
			rows[i] += cost
		}
	}
}

// checkDistribution checks that every row of the columns other than the id is
// a distribution; missing cells count as 0.
func checkDistribution(t *table.Table, id string) error {
	sums := make([]float64, t.Len())
	for _, c := range t.Columns() {
		if c.Name() == id {
			continue
		}
		if !c.Kind().IsNumber() {
			return &Unscorable{Column: c.Name(), Reason: "is not numeric"}
		}
		for i, x := range c.Floats() {
			if x < 0 || x > 1 {
				return &Unscorable{Column: c.Name(), Reason: "contains a value outside 0 to 1"}
			}
			if x == x {
				sums[i] += x
			}
		}
	}
	for i, sum := range sums {
		if math.Abs(sum-1) > 1e-8+1e-5 {
			return unscorable("row %d adds up to %v over all columns", i+1, sum)
		}
	}
	return nil
}
