package metric

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/plugins/data/pytext"
	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

var laplace = Metric{
	Name: "laplace_log_likelihood", Better: Higher,
	Doc: `Modified Laplace log likelihood, mean over rows: -√2·d/s - ln(√2·s) with s = max(confidence, 70) and d = min(|truth - prediction|, 1000).
Of the answers (align = "position"), rows without truth are dropped and the last rows of each group kept, by the integer after the id's last underscore. The submission's rows with these ids are graded, sorted by id; missing ids are ignored; if all are missing, the score is NaN. A missing confidence counts as 0, a missing prediction gives NaN, an infinite confidence minus infinity.`,
	Source: "metric of the OSIC pulmonary fibrosis competition",
	Params: []Param{
		{Name: "confidence", Kind: TextParam, Doc: "the submission's column of confidences"},
		{Name: "group", Kind: TextParam, Doc: "the column of the answers whose values are the groups"},
		{Name: "last", Kind: NumberParam, Doc: "the number of rows of a group that are graded"},
	},
	Placeholders: Placeholders{"group": {"a"}},
	Sparse:       true,
	Kaggle:       Aliases{"Laplace Log Likelihood": {"confidence": "Confidence", "group": "Patient", "last": 3.0}},
	New: func(a Args) (Scorer, error) {
		l := laplaceScorer{confidence: a.text("confidence"), group: a.text("group"), last: int(a.number("last"))}
		return l.score, nil
	},
}

type laplaceScorer struct {
	confidence, group string
	last              int
}

func (l laplaceScorer) score(in Input) (Score, error) {
	if len(in.Targets) != 1 {
		return Score{}, fmt.Errorf("laplace_log_likelihood has one target")
	}
	graded, err := l.graded(in)
	if err != nil {
		return Score{}, err
	}
	columns, err := in.submitted(in.ID)
	if err != nil {
		return Score{}, err
	}
	ids := columns[0]
	var rows []int
	present := map[string]bool{}
	for i := range ids.Len() {
		if _, ok := graded[ids.Text(i)]; ok && !ids.IsMissing(i) {
			rows = append(rows, i)
			present[ids.Text(i)] = true
		}
	}
	if len(present) != len(rows) && len(present) != 1 {
		return Score{}, unscorable("column %q: a graded id occurs twice", in.ID)
	}
	slices.SortStableFunc(rows, func(a, b int) int { return strings.Compare(ids.Text(a), ids.Text(b)) })
	if columns, err = in.submitted(in.Targets[0], l.confidence); err != nil {
		return Score{}, err
	}
	values := make([]float64, len(rows))
	for i, row := range rows {
		sure := columns[1].Float(row)
		if sure != sure {
			sure = 0
		}
		values[i] = laplaceLogLikelihood(graded[ids.Text(row)], columns[0].Float(row), sure)
	}
	return Score{Value: Mean(values)}, nil
}

// graded returns the truth of the graded rows by id.
func (l laplaceScorer) graded(in Input) (map[string]float64, error) {
	columns, err := in.answers(in.ID, in.TruthNames[0])
	if err != nil {
		return nil, err
	}
	ids, truth := columns[0], columns[1]
	groups, err := rowsByGroup(in.answers(l.group))
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for _, rows := range groups {
		rows = slices.DeleteFunc(rows, truth.IsMissing)
		week := func(row int) int64 {
			id := ids.Text(row)
			n, _ := pytext.Int(table.TextValue(id[strings.LastIndexByte(id, '_')+1:]))
			return n.Int()
		}
		slices.SortStableFunc(rows, func(a, b int) int { return int(week(a) - week(b)) })
		for _, row := range rows[max(0, len(rows)-l.last):] {
			out[ids.Text(row)] = truth.Float(row)
		}
	}
	return out, nil
}

// laplaceLogLikelihood returns the value of one row; see the metric
// laplace_log_likelihood.
func laplaceLogLikelihood(truth, pred, confidence float64) float64 {
	s := max(confidence, 70)
	d := min(math.Abs(truth-pred), 1000)
	return float64(-math.Sqrt2*d)/s - libm.Log(float64(math.Sqrt2*s))
}
