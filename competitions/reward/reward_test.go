package reward

import (
	"math"
	"testing"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
)

// TestRewards: in both directions of a metric, at, between and beyond the two scores of
// the scale.
func TestRewards(t *testing.T) {
	type measured struct {
		grading.Report
		Scale
	}
	report := func(score, zero, one float64, rank int) measured {
		exact := grading.Number(score)
		r := grading.Report{Detail: grading.Detail{Outcome: outcome.Scored, ExactScore: &exact, Rank: &rank, Teams: 4}}
		r.Score, r.LowerIsBetter = &exact, one < zero
		return measured{r, Scale{zero, one}}
	}
	rehearsed := func(score, sample, best float64) measured {
		r := report(score, sample, best, 1)
		r.Conditions = []string{"data=rehearsal"}
		return r
	}
	nan := math.NaN()
	bronze, failed := report(0.5, 0.25, 0.25, 2), report(1, 0, 1, 1)
	bronze.BronzeMedal, failed.Outcome = true, outcome.Invalid
	infinite := func(sign int, zero, one float64) measured {
		r := report(math.Inf(sign), zero, one, 1)
		r.NonFinite, r.GoldMedal = true, true
		return r
	}
	notANumber := report(math.NaN(), 0, 1, 1)
	notANumber.NonFinite = true
	rehearsedPerfect := rehearsed(math.Inf(-1), 0.5, nan)
	rehearsedPerfect.NonFinite, rehearsedPerfect.LowerIsBetter = true, true
	rehearsedNone := rehearsed(nan, nan, 1)
	rehearsedNone.NonFinite = true
	gold := report(1, 0, 1, 1)
	gold.GoldMedal = true
	for _, tt := range []struct {
		name, kind string
		report     measured
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
		{"not a number", "margin", notANumber, 0},
		{"infinitely good", "margin", infinite(1, 0, 1), 1},
		{"infinitely good, lower is better", "margin", infinite(-1, -0.9, -2.8), 1},
		{"infinitely good, lower is better", "rank", infinite(-1, -0.9, -2.8), 1},
		{"infinitely good, lower is better", "medal", infinite(-1, -0.9, -2.8), 1},
		{"infinitely bad", "margin", infinite(-1, 0, 1), 0},
		{"infinitely bad, lower is better", "rank", infinite(1, -0.9, -2.8), 0},
		{"infinitely good, in a rehearsal", "margin", rehearsedPerfect, 1},
		{"better than the sample", "sample", rehearsed(0.75, 0.5, 1), 1},
		{"as the sample", "sample", rehearsed(0.5, 0.5, 1), 0},
		{"better than the sample, lower is better", "sample", rehearsed(0.5, 0.75, 0), 1},
		{"worse than the sample, lower is better", "sample", rehearsed(0.875, 0.75, 0), 0},
		{"a sample without a score", "sample", rehearsed(0.5, nan, 1), 1},
		{"not a number, in a rehearsal", "sample", rehearsedNone, 0},
		{"at least as good as three of four", "percentile", report(1, 0, 1, 2), 0.75},
		{"behind all", "percentile", report(1, 0, 1, 5), 0},
		{"between, in a rehearsal", "margin", rehearsed(0.75, 0.5, 1), 0.5},
		{"answers without a score", "margin", rehearsed(0.75, 0.5, nan), 1},
	} {
		if beats := Beats(tt.report.Report, tt.report.Zero); tt.kind == "sample" && beats != (tt.want == 1) {
			t.Errorf("%s: better than the sample: %v", tt.name, beats)
		}
		if got := tt.report.Of(tt.kind, tt.report.Report); got != tt.want {
			t.Errorf("%s, %s: %v, want %v", tt.kind, tt.name, got, tt.want)
		}
	}
}
