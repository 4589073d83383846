package results

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
)

// MadeBy enters the outputs outcome and stats of the step agent-run, each as JSON, and
// returns the use of models by block. What is missing stays unknown. The error is of
// outputs in another form, which say nothing.
func (a *Attempt) MadeBy(end, stats string) (map[string]ModelUse, error) {
	var s struct {
		WallSeconds     *float64 `json:"wall_seconds"`
		CPUSeconds      *float64 `json:"cpu_seconds"`
		PeakMemoryBytes float64  `json:"peak_memory_bytes"`
		ExitCode        int      `json:"exit_code"`
		Validations     *int
		Models          map[string]ModelUse
	}
	if err := errors.Join(decode(end, &a.Made.Outcome), decode(stats, &s)); err != nil {
		return nil, err
	}
	a.Made.WallSeconds, a.Made.CPUSeconds, a.Made.Validations, a.Made.Usage = s.WallSeconds, s.CPUSeconds, s.Validations, Measured(s.Models)
	a.ExitCode, a.Exhausted = s.ExitCode, exhausted(s.Models)
	if s.PeakMemoryBytes > 0 {
		a.PeakMemoryBytes = &s.PeakMemoryBytes
	}
	return s.Models, nil
}

// exhausted says which limits of which models were exhausted.
func exhausted(models map[string]ModelUse) string {
	var limits []string
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if by := models[name].ExhaustedBy; len(by) > 0 {
			limits = append(limits, name+": "+strings.ReplaceAll(strings.Join(by, ", "), "run_", "the run's "))
		}
	}
	return strings.Join(limits, "; ")
}

// GradedBy enters the outputs of a step grade, each as JSON, in place of a report that
// cannot be read. Outputs in another form say nothing.
func (a *Attempt) GradedBy(outputs map[string]string, conditions []string) {
	var medal string
	var score *grading.Number
	r := &a.Report
	a.Graded, r.Conditions = true, conditions
	for name, to := range map[string]any{"outcome": &r.Outcome, "score": &score, "reason": &r.Reason, "medal": &medal} {
		_ = decode(outputs[name], to)
	}
	if r.Score, r.ExactScore = score, score; score != nil {
		r.Outcome = outcome.Scored
	}
	r.SubmissionExists, r.ValidSubmission = r.Outcome != outcome.Missing, r.Outcome == outcome.Scored
	r.GoldMedal, r.SilverMedal, r.BronzeMedal = medal == "gold", medal == "silver", medal == "bronze"
	r.AnyMedal = Medal(*r) != ""
}

func decode(text string, to any) error {
	if text == "" {
		return nil
	}
	return json.Unmarshal([]byte(text), to)
}
