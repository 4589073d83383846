package export

import (
	"strings"

	"github.com/mleflow/mleflow/competitions/grading"
)

// attemptColumns adds the known facts about the attempts.
func attemptColumns(r *rows[Run]) {
	usage := func(of func(Usage) *float64) func(Run) *float64 {
		return func(r Run) *float64 {
			if r.Attempt.Usage == nil {
				return nil
			}
			return of(*r.Attempt.Usage)
		}
	}
	r.text("attempt_outcome", func(r Run) string { return r.Attempt.Outcome })
	r.number("wall_seconds", func(r Run) *float64 { return r.Attempt.WallSeconds })
	r.number("cpu_seconds", func(r Run) *float64 { return r.Attempt.CPUSeconds })
	r.number("validations", func(r Run) *float64 { return knownInt(r.Attempt.Validations) })
	said := func(of func(Usage) string) func(Run) string {
		return func(r Run) string {
			if r.Attempt.Usage == nil {
				return ""
			}
			return of(*r.Attempt.Usage)
		}
	}
	r.text("model", said(func(u Usage) string { return u.Model }))
	r.text("usage_source", said(func(u Usage) string { return u.Source }))
	r.number("requests", usage(func(u Usage) *float64 { return u.Requests }))
	r.number("input_tokens", usage(func(u Usage) *float64 { return u.InputTokens }))
	r.number("cached_input_tokens", usage(func(u Usage) *float64 { return u.CachedInputTokens }))
	r.number("output_tokens", usage(func(u Usage) *float64 { return u.OutputTokens }))
	r.number("cost_usd", usage(func(u Usage) *float64 { return u.CostUSD }))
}

// Join lists thresholds in one text.
func Join(names []grading.Threshold) string {
	var texts []string
	for _, n := range names {
		texts = append(texts, string(n))
	}
	return strings.Join(texts, " ")
}
