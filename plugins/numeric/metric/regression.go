package metric

import (
	"fmt"
	"math"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

const regressionDoc = ` Several targets are averaged without weights. Missing cells, infinities and strings have no score; a sum that overflows gives infinity. If both sides hold integers, they are subtracted and squared as 64-bit integers.`

var (
	weightParams = []Param{{Name: "weight", Kind: TextParam, Default: "", Doc: "the answers' column of the rows' weights; they count the same without"}}
	weightStand  = Placeholders{"weight": {"1"}}
)

var rmse = Metric{
	Name: "rmse", Better: Lower,
	Doc:    `Root of the mean squared difference, with the rules of mse.`,
	Source: "scikit-learn 1.5 root_mean_squared_error",
	Params: weightParams, Placeholders: weightStand,
	Kaggle: Aliases{"Root Mean Squared Error": nil, "MCRMSE (mean columnwise RMSE)": nil},
	New: func(a Args) (Scorer, error) {
		return columnMean(a, func(d numbers, w []float64) float64 { return math.Sqrt(d.squares().average(w)) }), nil
	},
}

var mse = Metric{
	Name: "mse", Better: Lower,
	Doc:    `Mean squared difference.` + regressionDoc,
	Source: "scikit-learn 1.5 mean_squared_error",
	Params: weightParams, Placeholders: weightStand,
	Kaggle: Aliases{"Mean Squared Error": nil},
	New: func(a Args) (Scorer, error) {
		return columnMean(a, func(d numbers, w []float64) float64 { return d.squares().average(w) }), nil
	},
}

var mae = Metric{
	Name: "mae", Better: Lower,
	Doc:    `Mean absolute difference.` + regressionDoc,
	Source: "scikit-learn 1.5 mean_absolute_error",
	Params: slices.Concat(weightParams, []Param{{Name: "whole", Kind: BoolParam, Default: false, Doc: "round the score, halves to even; infinity has no score"}}),
	Kaggle: Aliases{"Mean Absolute Error": nil, "MCMAE (mean columnwise MAE)": nil, "Weighted Mean Absolute Error": {"weight": "weight"}},
	New:    newMAE, Placeholders: weightStand,
}

func newMAE(a Args) (Scorer, error) {
	plain := columnMean(a, func(d numbers, w []float64) float64 { return d.sizes().average(w) })
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
	Params: weightParams, Placeholders: weightStand,
	Kaggle: Aliases{"Root Mean Squared Logarithmic Error": nil, "NWRMSLE (weighted)": {"weight": "perishable"}},
	New:    func(a Args) (Scorer, error) { return eachWeighted(a, rmsleOf), nil },
}

var medianError = Metric{
	Name: "median_absolute_error", Better: Lower,
	Doc:    `Median absolute difference, of an even number of rows the mean of the two in the middle. Otherwise the rules of mse.`,
	Source: "scikit-learn 1.5 median_absolute_error",
	Kaggle: Aliases{"Median Absolute Error": nil},
	New: func(a Args) (Scorer, error) {
		return columnMean(a, func(d numbers, _ []float64) float64 {
			v := d.sizes().asFloats()
			slices.Sort(v)
			return Mean(v[(len(v)-1)/2 : len(v)/2+1])
		}), nil
	},
}

var r2 = Metric{
	Name: "r2", Better: Higher,
	Doc:    `Coefficient of determination: 1 - Σ w·(truth - prediction)² / Σ w·(truth - mean truth)². A constant truth gives 1 if every difference is 0, else 0; one row gives NaN. Integers are taken as doubles; otherwise the rules of mse.`,
	Source: "scikit-learn 1.5 r2_score",
	Params: weightParams, Placeholders: weightStand,
	Kaggle: Aliases{"R2 Score": nil},
	New:    func(a Args) (Scorer, error) { return eachWeighted(a, r2Of), nil },
}

func r2Of(truth, pred numbers, weights []float64) (float64, error) {
	t := truth.asFloats()
	if len(t) < 2 {
		return math.NaN(), nil
	}
	mean := numbers{floats: t}.average(weights)
	squares := func(v numbers) float64 {
		return Sum(table.Collect(len(t), func(i int) float64 {
			square := float64(v.floats[i] * v.floats[i])
			if weights != nil {
				square *= weights[i]
			}
			return square
		}))
	}
	left, all := squares(minus(t, pred.asFloats())), squares(minus(t, slices.Repeat([]float64{mean}, len(t))))
	if all == 0 {
		return float64(count(left == 0)), nil
	}
	return 1 - left/all, nil
}

var mape = Metric{
	Name: "mape", Better: Lower,
	Doc:    `Mean of |truth - prediction| / max(|truth|, 2^-52): a share, not a percentage. Otherwise the rules of mse.`,
	Source: "scikit-learn 1.5 mean_absolute_percentage_error",
	Params: weightParams, Placeholders: weightStand,
	Kaggle: Aliases{"Mean Absolute Percentage Error": nil},
	New: func(a Args) (Scorer, error) {
		return eachWeighted(a, func(truth, pred numbers, weights []float64) (float64, error) {
			sizes, t := truth.minus(pred).sizes().asFloats(), truth.sizes().asFloats()
			for i := range sizes {
				sizes[i] /= max(t[i], epsilon)
			}
			return numbers{floats: sizes}.average(weights), nil
		}), nil
	},
}

var smape = Metric{
	Name: "smape", Better: Lower,
	Doc:    `Symmetric mean absolute percentage error, 0 to 200: 100 times the mean of 2·|prediction - truth| / (|truth| + |prediction|), 0 where both are 0. Otherwise the rules of mse.`,
	Source: "Makridakis 1993, as Kaggle evaluates it",
	Kaggle: Aliases{"Symmetric Mean Absolute Percentage Error": nil},
	New: func(Args) (Scorer, error) {
		return func(in Input) (Score, error) {
			return eachRead(in, finiteFloats, func(truth, pred []float64) (float64, error) {
				of := func(i int) float64 {
					return quotient(2*math.Abs(pred[i]-truth[i]), math.Abs(truth[i])+math.Abs(pred[i]))
				}
				return 100 * Mean(table.Collect(len(truth), of)), nil
			})
		}, nil
	},
}

var rmspe = Metric{
	Name: "rmspe", Better: Lower,
	Doc:    `Root mean square percentage error: the root of the mean of ((truth - prediction) / truth)², a share. Rows whose truth is 0 are left out; without any other there is no score. Otherwise the rules of mse.`,
	Source: "metric of the Rossmann store sales competition",
	Kaggle: Aliases{"Root Mean Square Percentage Error": nil},
	New: func(Args) (Scorer, error) {
		return func(in Input) (Score, error) {
			return eachRead(in, finiteFloats, func(truth, pred []float64) (float64, error) {
				var each []float64
				for i, t := range truth {
					if t != 0 {
						share := (t - pred[i]) / t
						each = append(each, float64(share*share))
					}
				}
				if each == nil {
					return 0, fmt.Errorf("answers: every truth is 0")
				}
				return math.Sqrt(Mean(each)), nil
			})
		}, nil
	},
}

var pinball = Metric{
	Name: "pinball", Better: Lower,
	Doc:    `Mean pinball loss of a predicted quantile: alpha·(truth - prediction), or (alpha - 1)·(truth - prediction) where the prediction is greater. Otherwise the rules of mse.`,
	Source: "scikit-learn 1.5 mean_pinball_loss",
	Params: slices.Concat([]Param{{Name: "alpha", Kind: NumberParam, Default: 0.5, Doc: "the quantile, 0 to 1"}}, weightParams), Placeholders: weightStand,
	Kaggle: Aliases{"Pinball Loss": {"alpha": 0.9}},
	New: func(a Args) (Scorer, error) {
		alpha := a.number("alpha")
		if alpha < 0 || alpha > 1 {
			return nil, fmt.Errorf("alpha = %v is not between 0 and 1", alpha)
		}
		return columnMean(a, func(d numbers, w []float64) float64 {
			return numbers{floats: lists.Of(d.asFloats(), func(x float64) float64 { return pinballOf(x, alpha) })}.average(w)
		}), nil
	},
}

// columnMean scores the differences of every target and averages.
func columnMean(a Args, score func(differences numbers, weights []float64) float64) Scorer {
	return eachWeighted(a, func(truth, pred numbers, weights []float64) (float64, error) {
		return score(truth.minus(pred), weights), nil
	})
}

// eachWeighted scores every target with the weights that the parameter names, and averages.
func eachWeighted(a Args, score func(truth, pred numbers, weights []float64) (float64, error)) Scorer {
	return func(in Input) (Score, error) {
		weights, err := in.weights(a.text("weight"))
		if err != nil {
			return Score{}, err
		}
		return eachRead(in, finiteNumbers, func(truth, pred numbers) (float64, error) { return score(truth, pred, weights) })
	}
}

// weights returns a column of the answers; nil without a name.
func (in Input) weights(name string) (v []float64, err error) {
	if name == "" {
		return nil, nil
	}
	columns, err := in.answers(name)
	if err == nil {
		v, err = finiteFloats(columns[0])
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("the weights: %w", err)
	case Sum(v) == 0:
		return nil, fmt.Errorf("answers: the weights in %q add up to 0", name)
	}
	return v, nil
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

func rmsleOf(truth, pred numbers, weights []float64) (float64, error) {
	t, p := truth.asFloats(), pred.asFloats()
	for i := range p {
		if t[i] < 0 || p[i] < 0 {
			return 0, unscorable("row %d: the logarithm of a negative value is not defined", i+1)
		}
	}
	return math.Sqrt(minus(truth.log1p(), pred.log1p()).squares().average(weights)), nil
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
func maeOf(truth, pred []float64) float64 { return minus(truth, pred).sizes().average(nil) }

func log1pAll(v []float64) []float64 {
	out := make([]float64, len(v))
	inParallel(len(v), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			out[i] = libm.Log1p(v[i])
		}
	})
	return out
}
