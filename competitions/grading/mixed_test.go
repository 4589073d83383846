package grading

import (
	"testing"

	"github.com/mleflow/mleflow/plugins/data/table"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// A column of a long file may hold numbers in one part and booleans in another.
// pandas 2.2 keeps both as objects, which compare as numbers; expectation from
// scikit-learn 1.5.2 on such a column.
func TestNumbersAndTruthValues(t *testing.T) {
	def := define(t, "metric = \"roc_auc\"\nid = \"id\"\ntargets = [\"p\"]\nrequire {\nnumeric = true\nbetween = [0, 1]\nsame_ids = true\n}", leaderboard)
	plan, diags := Decode(def, metric.All(), nil)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	ids := table.FromInts("id", []int64{1, 2, 3, 4, 5})
	answers, err := table.New(ids, table.FromInts("p", []int64{0, 1, 1, 0, 0}))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		last  table.Value
		score float64
		ok    bool
	}{
		"boolean":   {table.BoolValue(false), 0.7500000000000001, true},
		"too large": {table.IntValue(2), 0, false},
		"text":      {table.TextValue("0"), 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			column := table.FromValues("p", []table.Value{table.IntValue(0), table.IntValue(1), table.FloatValue(0.5), table.BoolValue(true), c.last})
			if column.Kind() != table.Mixed {
				t.Fatalf("the column is %v", column.Kind())
			}
			submission, err := table.New(ids, column)
			if err != nil {
				t.Fatal(err)
			}
			got, err := plan.Score(submission, answers)
			if (err == nil) != c.ok || got.Value != c.score {
				t.Errorf("got %v, %v, want %v", got.Value, err, c.score)
			}
		})
	}
}
