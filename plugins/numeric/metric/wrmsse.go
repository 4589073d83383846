package metric

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

var wrmsse = Metric{
	Name: "wrmsse", Better: Lower,
	Doc: `Weighted root mean squared scaled error of forecasts, mean over levels.
A row is a series, a target one step ahead. In each level, the rows that its column of the answers names alike are added up. A sum's error is √(mean squared error over the targets / mean squared step of its history since the first value other than 0); its weight is that of its rows divided by all rows'. A sum without weight is left out; one whose history never changes is a fault of the answers. Missing cells, infinities and strings have no score.`,
	Source: "Makridakis et al. 2022, the M5 accuracy competition; numpy 1.26",
	Params: []Param{
		{Name: "levels", Kind: TextsParam, Doc: "columns of the answers that name each row's sum at a level"},
		{Name: "history", Kind: TextsParam, Doc: "the answers' columns of the past, in the order of time"},
		{Name: "weight", Kind: TextParam, Doc: "the answers' column of the rows' weights"},
	},
	Placeholders: Placeholders{"levels": {"a"}, "history": {"1", "2"}, "weight": {"1"}},
	Kaggle:       Aliases{"WRMSSE": {"levels": []string{"total", "state_id", "id"}, "history": []string{"d_1", "d_2", "d_3"}, "weight": "sales"}},
	New: func(a Args) (Scorer, error) {
		if len(a.texts("levels")) == 0 || len(a.texts("history")) < 2 {
			return nil, fmt.Errorf("give one level or more, and two columns of history or more")
		}
		return func(in Input) (Score, error) { return scoreWRMSSE(in, a) }, nil
	},
}

func scoreWRMSSE(in Input, a Args) (Score, error) {
	pairs, err := in.pairs()
	if err != nil {
		return Score{}, err
	}
	weights, err := in.weights(a.text("weight"))
	if err != nil {
		return Score{}, err
	}
	var errs [][]float64
	for _, p := range pairs {
		truth, pred, err := read(p, finiteFloats)
		if err != nil {
			return Score{}, err
		}
		errs = append(errs, differences(truth, pred))
	}
	history, err := in.numbersOf(a.texts("history")...)
	if err != nil {
		return Score{}, err
	}
	levels := make([]float64, len(a.texts("levels")))
	for k, name := range a.texts("levels") {
		groups, err := rowsByGroup(in.answers(name))
		if err != nil {
			return Score{}, err
		}
		for _, group := range slices.Sorted(maps.Keys(groups)) {
			weight := Sum(pick(weights, groups[group]))
			if weight == 0 {
				continue
			}
			scale := steps(addedUp(history, groups[group])).squares().average(nil)
			if !(scale > 0) {
				return Score{}, fmt.Errorf("answers: the history of %s in %q never changes", quote(group), name)
			}
			mean := numbers{floats: addedUp(errs, groups[group])}.squares().average(nil)
			levels[k] += float64(weight / Sum(weights) * math.Sqrt(mean/scale))
		}
	}
	return Score{Value: Mean(levels)}, nil
}

// addedUp returns the sum over rows of each column.
func addedUp(columns [][]float64, rows []int) []float64 {
	out := make([]float64, len(columns))
	for k, c := range columns {
		for _, row := range rows {
			out[k] += c[row]
		}
	}
	return out
}

// steps returns the differences of neighbours since the first value other than 0.
func steps(v []float64) numbers {
	for len(v) > 1 && v[0] == 0 {
		v = v[1:]
	}
	return minus(v[1:], v[:len(v)-1])
}
