package split

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// foldCase is what a splitter of scikit-learn gave for all folds; testdata/folds.py.
type foldCase struct {
	Call                       string
	N, Splits, Size, Gap, Most int
	Seed                       *int64
	Labels                     []any
	Who                        []int
	Train, Test                [][]int
	Error                      bool
}

func TestFolds(t *testing.T) {
	raw, err := os.ReadFile("testdata/folds.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []foldCase }
	if err := json.Unmarshal(raw, &file); err != nil || len(file.Cases) < 500 {
		t.Fatalf("%d cases, %v", len(file.Cases), err)
	}
	for _, c := range file.Cases {
		args, _ := json.Marshal([]any{c.Call, c.N, c.Splits, c.Seed, c.Labels, c.Size, c.Gap, c.Most})
		train, test, err := c.run()
		if c.Error != (err != nil) {
			t.Errorf("%s: the library fails: %v; ours: %v", args, c.Error, err)
		}
		if diff := cmp.Diff([2][][]int{c.Train, c.Test}, [2][][]int{train, test}); diff != "" {
			t.Errorf("%s:\n%s", args, diff)
		}
	}
}

// run returns the parts of every fold, train as the case holds it.
func (c foldCase) run() (train, test [][]int, err error) {
	o := FoldOptions{Splits: c.Splits}
	if c.Seed != nil {
		o.Shuffled, o.Seed = true, *c.Seed
	}
	if c.Labels != nil {
		codes := labels(c.N, int(c.Labels[0].(float64)), c.Labels[1].(bool))
		switch c.Call {
		case "group":
			o.Groups = ranked(codes, true)
		case "both":
			o.Stratify, o.Groups = ranked(codes, true), ranked(c.Who, true)
		default:
			o.Stratify = ranked(codes, false)
		}
	}
	for fold := range c.Splits {
		switch c.Call {
		case "time":
			from, until, start, stop, err := TimeSeries(c.N, TimeOptions{Splits: c.Splits, Fold: fold, TestSize: c.Size, MaxTrain: c.Most, Gap: c.Gap})
			if err != nil {
				return nil, nil, err
			}
			train, test = append(train, []int{from, until - from}), append(test, rows(stop, func(row int) bool { return row >= start }))
		case "shuffle":
			a, b, err := TrainTestSplit(c.N, Options{Test: 0.3, Seed: *c.Seed, Before: fold, Stratify: labelsOf(c)})
			if err != nil {
				return nil, nil, err
			}
			train, test = append(train, a), append(test, b)
		default:
			folds, err := Folds(c.N, o)
			if err != nil {
				return nil, nil, err
			}
			test = append(test, rows(c.N, func(row int) bool { return folds[row] == fold }))
		}
	}
	return train, test, nil
}

// ranked numbers labels in their order, or in that of their first appearance.
func ranked(codes []int, sorted bool) []int {
	var seen []int
	for _, code := range codes {
		if !slices.Contains(seen, code) {
			seen = append(seen, code)
		}
	}
	if sorted {
		slices.Sort(seen)
	}
	out := make([]int, len(codes))
	for i, code := range codes {
		out[i] = slices.Index(seen, code)
	}
	return out
}

func labelsOf(c foldCase) []int {
	if c.Labels == nil {
		return nil
	}
	return ranked(labels(c.N, int(c.Labels[0].(float64)), c.Labels[1].(bool)), true)
}

func rows(n int, holds func(int) bool) []int {
	out := []int{}
	for row := range n {
		if holds(row) {
			out = append(out, row)
		}
	}
	return out
}

// Sizes that overflow when they are multiplied are refused.
func TestTimeSeriesOfHugeSizes(t *testing.T) {
	for _, o := range []TimeOptions{
		{Splits: 2, TestSize: math.MaxInt}, {Splits: 3, TestSize: math.MaxInt/3 + 1}, {Splits: 2, Gap: math.MaxInt}, {Splits: 2, TestSize: -1}, {Splits: math.MaxInt},
	} {
		if from, until, start, stop, err := TimeSeries(10, o); err == nil {
			t.Errorf("%+v: %d to %d, %d to %d", o, from, until, start, stop)
		}
	}
}
