package results

import (
	"slices"

	"github.com/mleflow/mleflow/competitions/evidence"
)

// Check holds the findings of rule checks in an attempt.
type Check struct {
	// Rules are the names of the rules that were applied, sorted.
	Rules    []string           `json:"rules"`
	Findings []evidence.Finding `json:"findings"`
}

// Join returns the findings of both checks; either may be nil.
func (c *Check) Join(other *Check) *Check {
	switch {
	case c == nil:
		return other
	case other == nil:
		return c
	}
	return &Check{Rules: unique(c.Rules, other.Rules), Findings: slices.Concat(c.Findings, other.Findings)}
}

// Count is the number of findings of a severity; 0 of nil.
func (c *Check) Count(of evidence.Severity) (n int) {
	if c == nil {
		return 0
	}
	for _, f := range c.Findings {
		if f.Severity == of {
			n++
		}
	}
	return n
}

// FoundBy are the names of the rules with findings of a severity, sorted; those of
// any with "".
func (c *Check) FoundBy(of evidence.Severity) []string {
	if c == nil {
		return nil
	}
	var names []string
	for _, f := range c.Findings {
		if of == "" || f.Severity == of {
			names = append(names, f.Rule)
		}
	}
	return unique(names)
}

// Against are the rules with findings, notes included, in their given order.
func (c *Check) Against(rules []string) (list []string) {
	found := c.FoundBy("")
	for _, name := range rules {
		if slices.Contains(found, name) {
			list = append(list, name)
		}
	}
	return list
}

// Lacks are the rules that were not applied.
func (c *Check) Lacks(rules []string) (list []string) {
	for _, name := range rules {
		if c == nil || !slices.Contains(c.Rules, name) {
			list = append(list, name)
		}
	}
	return list
}

func unique(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
