package export

import (
	"strings"

	"github.com/mleflow/mleflow/competitions/results"
)

// attemptColumns adds the known facts about the attempts.
func attemptColumns(r *rows[*results.Attempt]) {
	r.text("attempt_outcome", func(r *results.Attempt) string { return string(r.Made.Outcome) })
	r.number("wall_seconds", func(r *results.Attempt) *float64 { return r.Made.WallSeconds })
	r.number("cpu_seconds", func(r *results.Attempt) *float64 { return r.Made.CPUSeconds })
	r.number("validations", func(r *results.Attempt) *float64 { return knownInt(r.Made.Validations) })
	usedText := func(of func(*results.Usage) string) func(*results.Attempt) string {
		return func(r *results.Attempt) string {
			if r.Made.Usage == nil {
				return ""
			}
			return of(r.Made.Usage)
		}
	}
	r.text("model", usedText(func(u *results.Usage) string { return u.Model }))
	r.text("usage_source", usedText(func(u *results.Usage) string { return u.Source }))
	r.number("requests", used(func(u *results.Usage) *float64 { return u.Requests }))
	r.number("input_tokens", used(func(u *results.Usage) *float64 { return u.InputTokens }))
	r.number("cached_input_tokens", used(func(u *results.Usage) *float64 { return u.CachedInputTokens }))
	r.number("output_tokens", used(func(u *results.Usage) *float64 { return u.OutputTokens }))
	r.number("cost_usd", used(func(u *results.Usage) *float64 { return u.CostUSD }))
}

// used returns a figure of the use of models; nil where that is not known.
func used(of func(*results.Usage) *float64) func(*results.Attempt) *float64 {
	return func(r *results.Attempt) *float64 {
		if r.Made.Usage == nil {
			return nil
		}
		return of(r.Made.Usage)
	}
}

// Join lists names in one text.
func Join[S ~string](names []S) string {
	var texts []string
	for _, n := range names {
		texts = append(texts, string(n))
	}
	return strings.Join(texts, " ")
}
