package harbor

import (
	"math"
	"testing"

	"github.com/mleflow/mleflow/competitions/grading"
)

// TestRewards: in both directions of a metric, at, between and beyond the median and
// the gold threshold.
func TestRewards(t *testing.T) {
	report := func(score, median, gold float64, rank int) grading.Report {
		exact := grading.Number(score)
		r := grading.Report{Detail: grading.Detail{Outcome: grading.Scored, ExactScore: &exact, Rank: &rank, Teams: 4}}
		r.Median, r.Gold = grading.Cutoff(median), grading.Cutoff(gold)
		return r
	}
	bronze, failed, infinite := report(0.5, 0.25, 0.25, 2), report(1, 0, 1, 1), report(math.Inf(1), 0, 1, 1)
	bronze.BronzeMedal, failed.Outcome, infinite.NonFinite = true, grading.InvalidScore, true
	gold := report(1, 0, 1, 1)
	gold.GoldMedal = true
	for _, tt := range []struct {
		name, kind string
		report     grading.Report
		want       float64
	}{
		{"first", "rank", report(1, 0, 1, 1), 1},
		{"second of four", "rank", report(1, 0, 1, 2), 0.75},
		{"last", "rank", report(1, 0, 1, 4), 0.25},
		{"behind all", "rank", report(1, 0, 1, 5), 0},
		{"between", "margin", report(0.75, 0.5, 1, 1), 0.5},
		{"between, lower is better", "margin", report(0.75, 1, 0.5, 1), 0.5},
		{"below the median", "margin", report(0.25, 0.5, 1, 1), 0},
		{"beyond gold, lower is better", "margin", report(0.25, 1, 0.5, 1), 1},
		{"nothing between", "margin", bronze, 1.0 / 3},
		{"bronze", "medal", bronze, 1.0 / 3},
		{"gold", "medal", gold, 1},
		{"invalid", "rank", failed, 0},
		{"not finite", "margin", infinite, 0},
	} {
		if got := Reward(tt.kind, tt.report); got != tt.want {
			t.Errorf("%s, %s: %v, want %v", tt.kind, tt.name, got, tt.want)
		}
	}
}
