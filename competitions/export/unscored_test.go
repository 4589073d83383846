package export_test

import (
	"math"
	"testing"

	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
)

func TestUnscored(t *testing.T) {
	score := func(v float64) *grading.Number { n := grading.Number(v); return &n }
	tests := []struct {
		want    string
		report  grading.Report
		outcome string
	}{
		{"", grading.Report{Score: score(0.5), SubmissionExists: true, ValidSubmission: true}, "timed_out"},
		{"", grading.Report{SubmissionExists: true, ValidSubmission: true}, ""},
		{"NaN", grading.Report{Score: score(math.NaN()), SubmissionExists: true, ValidSubmission: true}, "finished"},
		{"infinite", grading.Report{Score: score(math.Inf(-1)), SubmissionExists: true, ValidSubmission: true}, "finished"},
		{"invalid", grading.Report{SubmissionExists: true}, "agent_failed"},
		{"failed", grading.Report{}, "agent_failed"},
		{"timed out", grading.Report{}, "timed_out"},
		{"out of memory", grading.Report{}, "out_of_memory"},
		{"no submission", grading.Report{}, "no_submission"},
		{"no submission", grading.Report{}, ""},
	}
	for _, tt := range tests {
		if got := export.Unscored(tt.report, export.Attempt{Outcome: tt.outcome}); got != tt.want {
			t.Errorf("%+v, %s: %q, want %q", tt.report, tt.outcome, got, tt.want)
		}
	}
}
