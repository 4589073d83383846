package rehearse

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/step"
)

// TestMissingPackages reads what Python, pandas and R print.
func TestMissingPackages(t *testing.T) {
	for printed, want := range map[string]string{
		"Traceback (most recent call last):\nModuleNotFoundError: No module named 'sklearn.ensemble'\n":                                        "scikit-learn",
		"ModuleNotFoundError: No module named 'bson'":                                                                                          "pymongo",
		"ImportError: Missing optional dependency 'pyarrow'.  Use pip or conda to install pyarrow.":                                            "pyarrow",
		"ImportError: Unable to find a usable engine; tried using: 'pyarrow', 'fastparquet'.":                                                  "pyarrow",
		"Error in library(data.table) : there is no package called ‘data.table’":                                                               "data.table",
		"a module of that name is fine":                                                                                                        "",
		"ModuleNotFoundError: No module named 'cv2'\nModuleNotFoundError: No module named 'PIL'\nModuleNotFoundError: No module named 'cv2'\n": "opencv-python-headless pillow",
	} {
		if got := strings.Join(missingPackages(printed), " "); got != want {
			t.Errorf("%q: got %q, want %q", printed, got, want)
		}
	}
}

// TestJudge judges attempts by their outcome, submission and output.
func TestJudge(t *testing.T) {
	number := func(v float64) *grading.Number { n := grading.Number(v); return &n }
	valid := grading.Report{Detail: grading.Detail{ExactScore: number(0.5)}}
	valid.SubmissionExists, valid.ValidSubmission = true, true
	nan, invalid := valid, valid
	nan.ExactScore = number(math.NaN())
	invalid.ExactScore, invalid.ValidSubmission, invalid.Reason = nil, false, "too few rows"
	day := 86400.0
	for _, tt := range []struct {
		name, outcome, printed string
		report                 grading.Report
		problem, fix           string // beginnings
	}{
		{"good", "finished", "", valid, "", ""},
		{"stopped with a submission", "timed_out", "", valid, "", ""},
		{"stopped without one", "timed_out", "", grading.Report{}, "it was stopped at its time limit of 24h00m", "let it submit early"},
		{"invalid", "finished", "", invalid, "its submission is invalid: too few rows", "compare"},
		{"not finite", "finished", "", nan, "its score is not a finite number", "predictions"},
		{"memory", "out_of_memory", "", grading.Report{}, "killed at its memory limit", "raise memory"},
		{"package", "agent_failed", "ModuleNotFoundError: No module named 'pydicom'", grading.Report{}, "it lacks the package pydicom", "add it to the requirements of the agent's python block"},
		{"exception", "agent_failed", "Traceback (most recent call last):\n  File \"a.py\"\nKeyError: 'id'\n", grading.Report{}, "KeyError: 'id'", "mleflow logs"},
		{"provider", "provider_failed", "", grading.Report{}, "the provider", "try"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec := &results.Attempt{Graded: true, TimeLimitSeconds: &day}
			rec.Report, rec.Made.Outcome = tt.report, outcome.End(tt.outcome)
			problem, fix := judge(rec, missingPackages(tt.printed), tt.printed)
			if !strings.HasPrefix(problem, tt.problem) || !strings.HasPrefix(fix, tt.fix) || (problem == "") != (tt.problem == "") {
				t.Errorf("got %q, %q", problem, fix)
			}
		})
	}
}

// TestReal scales the use of a rehearsal to all attempts of the real run, between the two
// assumptions.
func TestReal(t *testing.T) {
	catalog, err := competitions.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	limits := step.Limits{Timeout: time.Hour, GPUs: 2}
	attempts := []Attempt{
		{"a", "mine", "leaf-classification", limits}, {"b", "mine", "leaf-classification", limits},
		{"c", "mine", "siim-isic-melanoma-classification", limits}, {"d", "mine", "demo-digits", limits},
	}
	p := &plan.Plan{Forecast: &plan.Forecast{Space: plan.Space{FreeBytes: 1 << 30}}, Steps: []plan.Step{{Missing: []string{"a key"}}, {Missing: []string{"a key"}}}}
	r := NewReal(attempts, p, catalog)
	wall, tokens, cost := 60.0, 1000.0, 0.5
	r.estimate([]Row{{Agent: "mine", Competition: "leaf-classification", WallSeconds: &wall, Tokens: &tokens, CostUSD: &cost}, {Agent: "other", Competition: "demo-digits", WallSeconds: &wall}})
	if r.Attempts != 4 || r.Competitions != 3 || r.TimeLimitSeconds != 3600 {
		t.Errorf("got %+v", r)
	}
	// Two of the attempts have been rehearsed: 60 s to an hour each, on two GPUs.
	if r.AttemptSeconds != (Range{120, 7200}) || r.GPUSeconds != (Range{240, 14400}) || *r.Tokens != (Range{2000, 120000}) || *r.CostUSD != (Range{1, 60}) {
		t.Errorf("got %+v, %+v, %+v, %+v", r.AttemptSeconds, r.GPUSeconds, r.Tokens, r.CostUSD)
	}
	if !slices.Equal(r.TooLarge, []string{"siim-isic-melanoma-classification"}) || !slices.Equal(r.Obstacles, []string{"a key"}) {
		t.Errorf("got %v, %v", r.TooLarge, r.Obstacles)
	}
	var text strings.Builder
	(&Report{Real: r}).Write(&text, view.Style{})
	for _, want := range []string{"4 attempts at 3 competitions of at most 1h00m", "time:     2m to 2h00m of agents in all, up to 0.1 days of a node that runs one at a time, 4m to 4h00m of GPUs", "cost:     $1.00 to $60.00", "missing: disk space for the data of siim-isic-melanoma-classification"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
}
