package metric

import (
	"math"
	"testing"

	"github.com/mleflow/mleflow/plugins/table"
)

// Expectations from scikit-learn 1.5.2 root_mean_squared_log_error with numpy
// 1.26.4, which takes the logarithms of truth values in half precision.
func TestRMSLEOfTruthValues(t *testing.T) {
	truth, err := table.New(table.FromFloats("x", []float64{0, 1, 0.5}))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		pred *table.Column
		want float64
	}{
		"truth values": {table.FromBools("x", []bool{false, true, true}, nil), 0.16621587763675272},
		"floats":       {table.FromFloats("x", []float64{0, 1, 1}), 0.16609332197106513},
	} {
		pred, err := table.New(c.pred)
		if err != nil {
			t.Fatal(err)
		}
		scorer, err := rmsle.New(Args{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := scorer.Score(Input{Truth: truth, Prediction: pred, Targets: []string{"x"}})
		if err != nil || math.Abs(got.Value-c.want) > 1e-15 {
			t.Errorf("%s: got %v, %v, want %v", name, got.Value, err, c.want)
		}
	}
}
