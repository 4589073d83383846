package attempts

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
)

// Name is how people name an attempt: agent/competition/seed.
func Name(a *results.Attempt) string {
	return strings.Join([]string{a.Agent, a.Competition(), a.Seed}, "/")
}

// Of returns the attempts of a run as its journal has them, and what happened to its
// steps.
func Of(past *history.Past) ([]*results.Attempt, *history.Summary, error) {
	sum, err := past.Summary()
	if err != nil {
		return nil, nil, err
	}
	p, err := past.Plan()
	if err != nil {
		return nil, nil, err
	}
	j := JournalOf(p, sum)
	return j.List(), sum, nil
}

// Find returns the attempts that a key names: agent/competition/seed, in each part of
// which * stands for anything, or the address of a step, with * for its keys.
func Find(list []*results.Attempt, key string) (found []*results.Attempt, err error) {
	if _, err := path.Match(key, ""); err != nil {
		return nil, fmt.Errorf("%q is not a pattern: %w", key, err)
	}
	for _, a := range list {
		named, _ := path.Match(key, Name(a))
		if named || slices.Contains([]string{a.Address, a.GradeAddress}, key) {
			found = append(found, a)
		}
	}
	return found, nil
}
