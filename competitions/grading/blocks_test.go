package grading

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mleflow/mleflow/plugins/metric"
)

// testdata/blocks holds the grade blocks of the reference's competitions that
// are not defined yet: they show that the vocabulary is enough for them. Each
// gave the reference's score for all golden submissions of its competition
// (save one: smartphone-decimeter-2022/antipode.csv, where the result hangs on
// the last digit of the sine and the versions of numpy differ).
func TestBlocksDecode(t *testing.T) {
	files, err := filepath.Glob("testdata/blocks/*.hcl")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d blocks, %v", len(files), err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			plan, diags := Decode(define(t, string(text), leaderboard), metric.All(), nil)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			if len(plan.requirements) == 0 || len(plan.Targets) == 0 {
				t.Errorf("got %+v", plan)
			}
		})
	}
}
