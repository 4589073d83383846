package metric

import (
	"math"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/libm"
)

var klDivergence = Metric{
	Name:   "kl_divergence",
	Better: Lower,
	Doc: `Kullback-Leibler divergence of the predicted from the true distribution, in nats, mean over rows.
True targets are counts, divided by their sum. A cell with truth t > 0 adds t·ln(t / clip(p, 1e-15, 1 - 1e-15)); t = 0 or a missing p adds nothing. In a column of integers the bounds are cut to integers, so p = 0 gives infinity.
All columns but the id, targets or not, must be numbers within [0, 1] that add up to 1 (tolerance 1e-8 + 1e-5), not booleans.`,
	Source: "Kaggle metric kullback-leibler-divergence with pandas 1.5 to 2.2",
	New:    func(Args) (Scorer, error) { return scorerFunc(scoreKL), nil },
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
