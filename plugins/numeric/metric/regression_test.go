package metric

import (
	"errors"
	"math"
	"testing"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// Expectations from scikit-learn 1.5.2 root_mean_squared_log_error with numpy
// 1.26.4, which takes the logarithms of booleans in half precision.
func TestRMSLEOfBooleans(t *testing.T) {
	truth, err := table.New(table.FromFloats("x", []float64{0, 1, 0.5}))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		pred *table.Column
		want float64
	}{
		"booleans": {table.FromBools("x", []bool{false, true, true}, nil), 0.16621587763675272},
		"floats":   {table.FromFloats("x", []float64{0, 1, 1}), 0.16609332197106513},
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

// Expectations from scipy 1.17.1 spearmanr of object arrays, pandas 2.2.3: a
// column with one text holds texts only, which rank by code points.
func TestSpearmanOfTexts(t *testing.T) {
	truth, err := table.New(table.FromFloats("x", []float64{.1, .5, .2, .4, .4}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		texts []string
		valid []bool
		want  float64
	}{
		{[]string{"10", "9", "x", "2.0", "é"}, nil, 0.35909242322980395},
		{[]string{"1_0", "9", "10", "a", "0.25"}, nil, 0.30779350562554625},
		{[]string{"0.5", "$1", "0.5", "0.1", ""}, []bool{true, true, true, true, false}, math.NaN()},
	} {
		pred, err := table.New(table.FromTexts("x", c.texts, c.valid))
		if err != nil {
			t.Fatal(err)
		}
		got, err := scoreSpearman(Input{Truth: truth, Prediction: pred, Targets: []string{"x"}})
		if err != nil || !(math.Abs(got.Value-c.want) < 1e-15) && !(math.IsNaN(got.Value) && math.IsNaN(c.want)) {
			t.Errorf("%q: got %v, %v, want %v", c.texts, got.Value, err, c.want)
		}
	}
}

// Expectations from numpy 1.26.4, whose arrays the reference's decoder paints
// with: sums of int64 wrap around, an int64 and a uint64 meet as floats.
func TestDecodeRLEBeyondPictures(t *testing.T) {
	for text, want := range map[string]int{
		"5 9223372036854775807":                      0,
		"5 9223372036854775803":                      26,
		"5 9223372036854775808":                      -1,
		"5 18446744073709551616":                     26,
		"9223372036854775808 1":                      -1,
		"9223372036854775808 9223372036854775808":    0,
		"18446744073709551616 1":                     0,
		"1 2 9223372036854775808 2":                  -1,
		"1 2 9223372036854775807 2":                  2,
		"1 2 9 9223372036854775807 10 2":             4,
		"1 2 18446744073709551616 18446744073709551": 2,
	} {
		mask, err := decodeRLE(text, 30)
		got := mask.Area()
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%s: area %d, %v, want %d", text, got, err, want)
		}
	}
}

// The graders of both competitions raise here: scikit-learn 1.5.2 refuses an
// array without rows, and Python divides by zero positives.
func TestNothingToScore(t *testing.T) {
	for name, c := range map[string]struct {
		metric      Metric
		truth, pred []float64
	}{
		"no rows":      {lwlrap, []float64{}, []float64{}},
		"no positives": {probabilisticF1, []float64{0, 0}, []float64{0.5, 0}},
	} {
		truth, err := table.New(table.FromFloats("x", c.truth))
		if err != nil {
			t.Fatal(err)
		}
		pred, err := table.New(table.FromFloats("x", c.pred))
		if err != nil {
			t.Fatal(err)
		}
		scorer, err := c.metric.New(Args{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := scorer.Score(Input{Truth: truth, Prediction: pred, Targets: []string{"x"}})
		var bad *Unscorable
		if !errors.As(err, &bad) {
			t.Errorf("%s: got %v, %v, want an Unscorable", name, got, err)
		}
	}
}
