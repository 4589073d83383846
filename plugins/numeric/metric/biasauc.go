package metric

import (
	"fmt"

	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

var biasAUC = Metric{
	Name:   "bias_auc",
	Better: Higher,
	Doc: `Mean of the area under the ROC curve of all rows and three power means (exponent -5) over the identities: of the area of rows with the identity; of its negative rows with other positive rows; of its positive rows with other negative rows.
Predictions, truth and identities become 0 or 1 at the threshold 0.5; missing is 0. A subset with one class has no score.`,
	Source:       "Borkan et al. 2019; metric of the Jigsaw unintended bias competition with scikit-learn 1.5",
	Params:       []Param{{Name: "identities", Kind: TextsParam, Doc: "columns of the answers"}},
	Placeholders: Placeholders{"identities": {"0", "0", "1", "1"}},
	New: func(a Args) (Scorer, error) {
		identities := a.texts("identities")
		if len(identities) == 0 {
			return nil, fmt.Errorf("no identities are given")
		}
		return scorerFunc(func(in Input) (Score, error) { return scoreBiasAUC(in, identities) }), nil
	},
}

func scoreBiasAUC(in Input, identities []string) (Score, error) {
	p, err := in.single()
	if err != nil {
		return Score{}, err
	}
	values, err := plainFloats(p.pred)
	if err != nil {
		return Score{}, err
	}
	pred := make([]float64, len(values))
	for i, on := range halves(values) {
		if on {
			pred[i] = 1
		}
	}
	truth := halves(p.truth.Floats())
	overall, err := aucOf(truth, pred)
	if err != nil {
		return Score{}, err
	}
	columns, err := in.answers(identities...)
	if err != nil {
		return Score{}, err
	}
	var powers [3]float64
	for _, c := range columns {
		with := halves(c.Floats())
		for k, keep := range []func(positive, with bool) bool{
			func(_, with bool) bool { return with },
			func(positive, with bool) bool { return positive != with },
			func(positive, with bool) bool { return positive == with },
		} {
			area, err := subsetAUC(truth, pred, with, keep)
			if err != nil {
				return Score{}, err
			}
			powers[k] += libm.Pow(area, -5)
		}
	}
	bias := 0.0
	for _, sum := range powers {
		bias += float64(0.25 * libm.Pow(sum/float64(len(identities)), 1.0/-5))
	}
	return Score{Value: float64(0.25*overall) + bias}, nil
}

func halves(v []float64) []bool {
	return mapped(v, func(x float64) bool { return x >= 0.5 })
}

func subsetAUC(truth []bool, pred []float64, with []bool, keep func(positive, with bool) bool) (float64, error) {
	var t []bool
	var p []float64
	for i := range truth {
		if keep(truth[i], with[i]) {
			t, p = append(t, truth[i]), append(p, pred[i])
		}
	}
	return aucOf(t, p)
}
