package metric

import (
	"math"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

const regressionDoc = ` Several targets are averaged without weights. Missing cells, infinities and strings have no score; a sum that overflows gives infinity. If both sides hold integers, they are subtracted and squared as 64-bit integers.`

var rmse = Metric{
	Name: "rmse", Better: Lower,
	Doc:    `Root of the mean squared difference, with the rules of mse.`,
	Source: "scikit-learn 1.5 root_mean_squared_error",
	New: func(Args) (Scorer, error) {
		return columnMean(func(d numbers) float64 { return math.Sqrt(d.meanSquare()) }), nil
	},
}

var mse = Metric{
	Name: "mse", Better: Lower,
	Doc:    `Mean squared difference.` + regressionDoc,
	Source: "scikit-learn 1.5 mean_squared_error",
	New:    func(Args) (Scorer, error) { return columnMean(numbers.meanSquare), nil },
}

var mae = Metric{
	Name: "mae", Better: Lower,
	Doc:    `Mean absolute difference.` + regressionDoc,
	Source: "scikit-learn 1.5 mean_absolute_error",
	Params: []Param{{Name: "whole", Kind: BoolParam, Default: false, Doc: "round the score, halves to even; infinity has no score"}},
	New:    newMAE,
}

func newMAE(a Args) (Scorer, error) {
	plain := columnMean(numbers.meanSize)
	if !a.bool("whole") {
		return plain, nil
	}
	return func(in Input) (Score, error) {
		s, err := plain(in)
		if err == nil && (math.IsInf(s.Value, 0) || math.IsNaN(s.Value)) {
			err = unscorable("the mean of the differences overflows and cannot be rounded")
		}
		return Score{Value: math.RoundToEven(s.Value), Rounding: WholeNumber}, err
	}, nil
}

var rmsle = Metric{
	Name: "rmsle", Better: Lower,
	Doc:    `Root of the mean squared difference of ln(1+x). A negative value has no score (-0 is fine). Logarithms of booleans have half precision, as in numpy. Otherwise the rules of mse.`,
	Source: "scikit-learn 1.5 root_mean_squared_log_error (later versions refuse only values of -1 and less)",
	New:    func(Args) (Scorer, error) { return scoreRMSLE, nil },
}

// columnMean scores the differences of every target and averages.
func columnMean(score func(differences numbers) float64) Scorer {
	return func(in Input) (Score, error) {
		return eachRead(in, finiteNumbers, func(truth, pred numbers) (float64, error) { return score(truth.minus(pred)), nil })
	}
}

// eachRead scores every target, whose columns are read alike, and averages.
func eachRead[T any](in Input, as func(*table.Column) (T, error), score func(truth, pred T) (float64, error)) (Score, error) {
	return eachPair(in, func(p pair, _ []pair) (float64, error) {
		truth, pred, err := read(p, as)
		if err != nil {
			return 0, err
		}
		return score(truth, pred)
	})
}

func scoreRMSLE(in Input) (Score, error) {
	return eachRead(in, finiteNumbers, func(truth, pred numbers) (float64, error) {
		t, p := truth.asFloats(), pred.asFloats()
		for i := range p {
			if t[i] < 0 || p[i] < 0 {
				return 0, unscorable("row %d: the logarithm of a negative value is not defined", i+1)
			}
		}
		return math.Sqrt(minus(truth.log1p(), pred.log1p()).meanSquare()), nil
	})
}

// halfLog2 is ln 2 in half precision, in which numpy takes the logarithms of
// booleans.
const halfLog2 = 0.693359375

// log1p returns ln(1+x) of every number as numpy.log1p does on its type.
func (a numbers) log1p() []float64 {
	if !a.truths {
		return log1pAll(a.asFloats())
	}
	return lists.Of(a.floats, func(x float64) float64 { return x * halfLog2 })
}

func minus(a, b []float64) numbers { return numbers{floats: a}.minus(numbers{floats: b}) }

// maeOf returns the mean of |truth-pred|. No rows give NaN.
func maeOf(truth, pred []float64) float64 { return minus(truth, pred).meanSize() }

func log1pAll(v []float64) []float64 {
	out := make([]float64, len(v))
	inParallel(len(v), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out[i] = libm.Log1p(v[i])
		}
	})
	return out
}
