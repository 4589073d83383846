package app

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/diag"
)

// retryOf reads the values of -retry; nil without any.
func retryOf(texts []string) (*engine.Retry, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	var c chooser
	var named []string
	for _, text := range texts {
		list := outcome.Retried(text)
		switch {
		case strings.Contains(text, "."):
			named = append(named, text)
		case list == nil:
			return nil, Usagef("--retry: %q is neither an address nor one of %s", text, strings.Join(outcome.RetryWords(), ", "))
		default:
			c = append(c, list...)
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
		var ended string
		if s.Record != nil {
			_ = json.Unmarshal(s.Record.Outputs["outcome"].JSON, &ended) // none is no outcome
		}
		if s.Named && len(attempts) == 0 {
			diags = append(diags, diag.General("No attempt", "--retry %s: it is neither an attempt of an agent nor the grade of one; --force runs any step again.", s.Name))
		}
		if s.Named || slices.Contains(c, ended) {
			again = append(again, attempts...)
		}
	}
	return again, diags
}
