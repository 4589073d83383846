package cli

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/diag"
)

// retryable are the attempts that --retry knows by a word, as the outcomes of the
// attempt or of its grade.
var retryable = map[string][]string{
	"failed":        {"agent_failed", "out_of_memory", "out_of_disk", "out_of_budget", "data_changed"},
	"invalid":       {"invalid"},
	"no-submission": {"no_submission"},
	"timed-out":     {"timed_out"},
	"out-of-memory": {"out_of_memory"},
	"out-of-disk":   {"out_of_disk"},
	"out-of-budget": {"out_of_budget"},
	"data-changed":  {"data_changed"},
}

// retryWords are the words of retryable in the order in which they are offered.
var retryWords = []string{"failed", "invalid", "no-submission", "timed-out", "out-of-memory", "out-of-disk", "out-of-budget", "data-changed"}

// retryOf reads the values of -retry; nil without any.
func retryOf(texts []string) (*engine.Retry, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	c := chooser{words: texts}
	var named []string
	for _, text := range texts {
		known, isWord := retryable[strings.ReplaceAll(text, "_", "-")]
		c.outcomes = append(c.outcomes, known...)
		switch {
		case isWord:
		case strings.Contains(text, "."):
			named = append(named, text)
		default:
			return nil, usagef("flag -retry: %q is neither an address nor one of %s", text, strings.Join(retryWords, ", "))
		}
	}
	list, err := addresses("retry", named)
	return &engine.Retry{Named: list, Choose: c.choose}, err
}

// chooser chooses the attempts of outcomes, and those that were named themselves or by
// what consumes them.
type chooser struct{ words, outcomes []string }

func (c chooser) choose(steps []engine.Past) (again []int, diags diag.List) {
	for i, s := range steps {
		var outcome string
		if s.Record != nil {
			_ = json.Unmarshal(s.Record.Outputs["outcome"].JSON, &outcome) // none is no outcome
		}
		attempts := []int{i}
		switch s.Kind {
		case conditions.AttemptKind:
		case conditions.GradeKind:
			attempts = slices.DeleteFunc(slices.Clone(s.After), func(at int) bool { return steps[at].Kind != conditions.AttemptKind })
		default:
			attempts = nil
		}
		switch {
		case s.Named && len(attempts) == 0:
			diags = append(diags, diag.General("No attempt", "-retry %s: it is neither an attempt of an agent nor the grade of one; -force runs any step again.", s.Name))
		case s.Named, slices.Contains(c.outcomes, outcome):
			again = append(again, attempts...)
		}
	}
	again = slices.DeleteFunc(again, func(at int) bool { return steps[at].Record == nil }) // it runs anyway
	if len(again) == 0 && len(diags) == 0 {
		diags = append(diags, diag.Notice("Nothing to try again", "-retry %s: there is no such attempt in the cache.", strings.Join(c.words, ", ")))
	}
	return again, diags
}

// completeRetry completes the values of -retry: its words, then addresses.
func (c *completion) completeRetry(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	steps, directive := c.completeSteps(cmd, args, start)
	return slices.Concat(retryWords, steps), directive
}
