package app

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/diag"
)

// RetryWords are the attempts that -retry knows by a word: the outcome of the attempt or
// of its grade, or failed for several.
var RetryWords = []string{"failed", "invalid", "no-submission", "timed-out", "out-of-memory", "out-of-disk", "out-of-budget", "data-changed", "provider-failed", "budget-too-small"}

// failedOutcomes are the outcomes of attempts that failed.
var failedOutcomes = []string{"agent_failed", "out_of_memory", "out_of_disk", "out_of_budget", "data_changed", "provider_failed", "budget_too_small"}

// retryOf reads the values of -retry; nil without any.
func retryOf(texts []string) (*engine.Retry, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	var c chooser
	var named []string
	for _, text := range texts {
		switch word := strings.ReplaceAll(text, "_", "-"); {
		case strings.Contains(text, "."):
			named = append(named, text)
		case !slices.Contains(RetryWords, word):
			return nil, Usagef("flag -retry: %q is neither an address nor one of %s", text, strings.Join(RetryWords, ", "))
		case word == "failed":
			c = append(c, failedOutcomes...)
		default:
			c = append(c, strings.ReplaceAll(word, "-", "_"))
		}
	}
	list, err := Addresses("retry", named)
	return &engine.Retry{Named: list, Choose: c.choose}, err
}

// chooser chooses the attempts with some outcomes, and those that were named themselves
// or by their grades.
type chooser []string

func (c chooser) choose(steps []engine.Past) (again []int, diags diag.List) {
	for i, s := range steps {
		attempts := []int{i}
		if s.Kind == conditions.GradeKind {
			attempts = s.After
		}
		attempts = slices.DeleteFunc(slices.Clone(attempts), func(at int) bool { return steps[at].Kind != conditions.AttemptKind })
		var outcome string
		if s.Record != nil {
			_ = json.Unmarshal(s.Record.Outputs["outcome"].JSON, &outcome) // none is no outcome
		}
		if s.Named && len(attempts) == 0 {
			diags = append(diags, diag.General("No attempt", "-retry %s: it is neither an attempt of an agent nor the grade of one; -force runs any step again.", s.Name))
		}
		if s.Named || slices.Contains(c, outcome) {
			again = append(again, attempts...)
		}
	}
	return again, diags
}
