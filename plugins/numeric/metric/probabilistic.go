package metric

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

var probabilisticF1 = Metric{
	Name: "probabilistic_f1", Better: Higher,
	Doc: `F1 of probabilities: 2pr / (p + r) with p = Σ over positives / Σ over all, r = Σ over positives / number of positives, predictions clipped to [0, 1] and added in order.
It is 0 unless p and r are above 0, so a missing prediction gives 0. Only negative predictions, answers without positives, and strings have no score.`,
	Source: "Yacouby and Axman 2020; metric of the RSNA breast cancer competition",
	Kaggle: Aliases{"Probabilistic F1": nil},
	New:    func(Args) (Scorer, error) { return scoreProbabilisticF1, nil },
}

func scoreProbabilisticF1(in Input) (Score, error) {
	p, pred, err := in.plainFloats()
	if err != nil {
		return Score{}, err
	}
	positives, right, wrong, negative := 0, 0.0, 0.0, true
	for i, x := range pred {
		negative = negative && x < 0
		if !math.IsNaN(x) {
			x = clip(x, 0, 1)
		}
		if p.truth.Bool(i) {
			positives++
			right += x
		} else {
			wrong += x
		}
	}
	if negative {
		return Score{}, &Unscorable{Column: p.name, Reason: "contains only negative values"}
	}
	if positives == 0 {
		return Score{}, unscorable("the answers contain no positives")
	}
	precision, recall := right/(right+wrong), right/float64(positives)
	if precision > 0 && recall > 0 {
		return Score{Value: 2 * float64(precision*recall) / (precision + recall)}, nil
	}
	return Score{}, nil
}

var weightedLogLoss = Metric{
	Name: "weighted_log_loss", Better: Lower,
	Doc: `Weighted binary log loss over a subject's levels, mean over subjects.
Ids are SUBJECT_LEVEL. A row costs -ln p if the truth is 1, else -ln(1-p), p clipped to [1e-15, 1 - 1e-15]. Its weight is the level's, doubled if the truth is 1; a subject's loss is the weighted mean.`,
	Source: "metric of the RSNA 2022 cervical spine competition",
	Params: []Param{
		{Name: "levels", Kind: TextsParam, Doc: "the names of the levels"},
		{Name: "heavy", Kind: TextParam, Doc: "the level with a weight other than 1"},
		{Name: "weight", Kind: NumberParam, Doc: "the weight of that level"},
	},
	New: func(a Args) (Scorer, error) {
		w := levelWeights{levels: a.texts("levels"), heavy: a.text("heavy"), weight: a.number("weight")}
		return w.score, nil
	},
}

type levelWeights struct {
	levels []string
	heavy  string
	weight float64
}

func (w levelWeights) score(in Input) (Score, error) {
	p, pred, err := in.plainFloats()
	if err != nil {
		return Score{}, err
	}
	columns, err := in.answers(in.ID)
	if err != nil {
		return Score{}, err
	}
	ids := columns[0]
	place := make(map[string]int, len(w.levels))
	for i, level := range w.levels {
		place[level] = i
	}
	subjects, order := map[string][]int{}, []string{} // rows by level, -1 for none
	for i := range ids.Len() {
		subject, level, _ := strings.Cut(ids.Text(i), "_")
		at, ok := place[level]
		if !ok {
			return Score{}, fmt.Errorf("answers: row %d: %s is no level", i+1, strconv.Quote(level))
		}
		if subjects[subject] == nil {
			order = append(order, subject)
			subjects[subject] = slices.Repeat([]int{-1}, len(w.levels))
		}
		subjects[subject][at] = i
	}
	return Score{Value: Mean(lists.Of(order, func(subject string) float64 { return w.loss(subjects[subject], p.truth, pred) }))}, nil
}

// loss returns the loss of one subject; NaN where a level is missing.
func (w levelWeights) loss(rows []int, truth *table.Column, pred []float64) float64 {
	sum, total := 0.0, 0.0
	for k, row := range rows {
		if row < 0 {
			return math.NaN()
		}
		weight := 1.0
		if w.levels[k] == w.heavy {
			weight = w.weight
		}
		p := clip(pred[row], 1e-15, 1-1e-15)
		if truth.Bool(row) {
			weight *= 2
		} else {
			p = 1 - p
		}
		sum -= float64(libm.Log(p) * weight)
		total += weight
	}
	return sum / total
}

var brier = Metric{
	Name: "brier", Better: Lower,
	Doc: `Brier score: the mean of (flag - probability)², with a flag of 1 for the positive label and 0 for another.
Several targets are averaged without weights. More than two labels, a positive label that neither of two is, and probabilities outside 0 to 1 have no score.`,
	Source: "Brier 1950; scikit-learn 1.5 brier_score_loss",
	Params: []Param{positiveParam},
	Kaggle: Aliases{"Brier Score": nil},
	New: func(a Args) (Scorer, error) {
		return func(in Input) (Score, error) {
			return eachPair(in, func(p pair, _ []pair) (float64, error) {
				truth, err := positives(p.truth, a.text("positive"))
				if err != nil {
					return 0, err
				}
				probs, err := finiteFloats(p.pred)
				switch {
				case err != nil:
					return 0, err
				case slices.Min(probs) < 0 || slices.Max(probs) > 1:
					return 0, &Unscorable{Column: p.name, Reason: "contains a value outside 0 to 1"}
				}
				flags := lists.Of(truth, func(t bool) float64 { return float64(count(t)) })
				return minus(flags, probs).squares().average(nil), nil
			})
		}, nil
	},
}

var crps = Metric{
	Name: "crps", Better: Lower,
	Doc: `Continuous ranked probability score: the mean over rows and targets of (P - H)².
Target n, from 0, has the probability P that the value is at most first + n·step, and H is 1 if the true one is, else 0. Probabilities outside 0 to 1, and a row in which they fall, have no score.`,
	Source: "Matheson and Winkler 1976; metric of the NFL Big Data Bowl, with numpy 1.26",
	Params: []Param{
		{Name: "value", Kind: TextParam, Doc: "the column of the answers with the true value"},
		{Name: "first", Kind: NumberParam, Default: 0.0, Doc: "the value of the first target"},
		{Name: "step", Kind: NumberParam, Default: 1.0, Doc: "the distance of two targets' values"},
	},
	Placeholders: Placeholders{"value": {"0"}},
	Kaggle:       Aliases{"Continuous Ranked Probability Score": {"value": "Yards", "first": -99.0}},
	New: func(a Args) (Scorer, error) {
		return func(in Input) (Score, error) { return scoreCRPS(in, a) }, nil
	},
}

func scoreCRPS(in Input, a Args) (Score, error) {
	columns, err := in.answers(a.text("value"))
	if err != nil {
		return Score{}, err
	}
	values, err := finiteFloats(columns[0])
	if err != nil {
		return Score{}, fmt.Errorf("answers: %w", err)
	}
	submitted, err := in.submitted(in.Targets...)
	if err != nil {
		return Score{}, err
	}
	each := make([]float64, len(values)*len(submitted))
	before := make([]float64, len(values))
	for n, c := range submitted {
		probs, err := finiteFloats(c)
		if err == nil && len(probs) != len(values) {
			err = unscorable("the submission has %d rows to compare, the answers have %d", len(probs), len(values))
		}
		if err != nil {
			return Score{}, err
		}
		at := a.number("first") + float64(float64(n)*a.number("step"))
		for i, p := range probs {
			if p < before[i] || p > 1 {
				return Score{}, &Unscorable{Column: c.Name(), Reason: fmt.Sprintf("row %d falls below the target before it, or is outside 0 to 1", i+1)}
			}
			off := p - float64(count(values[i] <= at))
			each[i*len(submitted)+n], before[i] = float64(off*off), p
		}
	}
	return Score{Value: Mean(each)}, nil
}
