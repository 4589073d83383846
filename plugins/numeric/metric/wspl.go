package metric

import (
	"fmt"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
)

var wspl = Metric{
	Name: "wspl", Better: Lower,
	Doc: `Weighted scaled pinball loss of forecast quantiles.
A row is a quantile of a series, a target one step ahead. A row's loss is the mean pinball loss of its targets divided by the mean absolute step of its history since the first value other than 0. The score is the mean of the losses, weighted by a column if one is named. A quantile outside 0 to 1 and a history that never changes are faults of the answers. Missing cells, infinities and strings have no score.`,
	Source: "Makridakis et al. 2022, the M5 uncertainty competition; scikit-learn 1.5 mean_pinball_loss",
	Params: append([]Param{
		{Name: "quantile", Kind: TextParam, Doc: "the answers' column of the rows' quantiles, 0 to 1"},
		{Name: "history", Kind: TextsParam, Doc: "the answers' columns of the past, in the order of time"},
	}, weightParams...),
	Placeholders: Placeholders{"quantile": {"0.5"}, "history": {"1", "2"}, "weight": {"1"}},
	Kaggle:       Aliases{"Weighted Scaled Pinball Loss (WSPL)": {"quantile": "quantile", "history": []string{"d_1", "d_2", "d_3"}, "weight": "weight"}},
	New: func(a Args) (Scorer, error) {
		if len(a.texts("history")) < 2 {
			return nil, fmt.Errorf("give two columns of history or more")
		}
		return func(in Input) (Score, error) { return scoreWSPL(in, a) }, nil
	},
}

func scoreWSPL(in Input, a Args) (Score, error) {
	pairs, err := in.pairs()
	if err != nil {
		return Score{}, err
	}
	weights, err := in.weights(a.text("weight"))
	if err != nil {
		return Score{}, err
	}
	quantiles, err := in.numbersOf(a.text("quantile"))
	if err != nil {
		return Score{}, err
	}
	history, err := in.numbersOf(a.texts("history")...)
	if err != nil {
		return Score{}, err
	}
	losses := make([][]float64, len(pairs))
	for k, p := range pairs {
		truth, pred, err := read(p, finiteFloats)
		if err != nil {
			return Score{}, err
		}
		losses[k] = table.Collect(len(truth), func(i int) float64 { return pinballOf(truth[i]-pred[i], quantiles[0][i]) })
	}
	each := make([]float64, len(quantiles[0]))
	for i, q := range quantiles[0] {
		scale := steps(lists.Of(history, func(c []float64) float64 { return c[i] })).sizes().average(nil)
		if !(q >= 0 && q <= 1) || !(scale > 0) {
			return Score{}, fmt.Errorf("answers: row %d: the quantile is outside 0 to 1, or the history never changes", i+1)
		}
		each[i] = Mean(lists.Of(losses, func(c []float64) float64 { return c[i] })) / scale
	}
	return Score{Value: numbers{floats: each}.average(weights)}, nil
}

// pinballOf returns the pinball loss of truth - prediction.
func pinballOf(difference, alpha float64) float64 {
	if difference >= 0 {
		return float64(alpha * difference)
	}
	return -float64((1 - alpha) * difference)
}

// numbersOf returns columns of numbers of the answers.
func (in Input) numbersOf(names ...string) ([][]float64, error) {
	columns, err := in.answers(names...)
	if err != nil {
		return nil, err
	}
	return table.TryCollect(len(columns), func(i int) ([]float64, error) {
		v, err := finiteFloats(columns[i])
		if err != nil {
			err = fmt.Errorf("answers: %w", err)
		}
		return v, err
	})
}
