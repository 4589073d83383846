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
