package board

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// RuleTally sums up what rule checks found in the attempts of an agent.
type RuleTally struct {
	Attempts int `json:"attempts"`
	// Checked is how many of them a step of kind check looked at, Warned how many
	// have a warning.
	Checked int `json:"checked"`
	Warned  int `json:"warned"`
	// Rules counts the attempts that each rule warns of.
	Rules map[string]int `json:"rules"`
}

// RuleTally is nil if no attempt is known to have been checked.
func (s Standing) RuleTally() *RuleTally {
	t := &RuleTally{Attempts: len(s.File.Reports), Rules: map[string]int{}}
	for _, g := range s.File.Reports {
		if g.Origin == nil || !g.Origin.Checked {
			continue
		}
		t.Checked++
		if len(g.Origin.WarnedBy) > 0 {
			t.Warned++
		}
		for _, name := range g.Origin.WarnedBy {
			t.Rules[name]++
		}
	}
	if t.Checked == 0 {
		return nil
	}
	return t
}

// Sentence says it of an agent.
func (t *RuleTally) Sentence(agent string) string {
	var by []string
	for _, name := range slices.Sorted(maps.Keys(t.Rules)) {
		by = append(by, fmt.Sprintf("%s %d", name, t.Rules[name]))
	}
	text := fmt.Sprintf("Rule checks of %s: warnings in %d of %d attempts", agent, t.Warned, t.Checked)
	if len(by) > 0 {
		text += " (" + strings.Join(by, ", ") + ")"
	}
	if left := t.Attempts - t.Checked; left > 0 {
		text += fmt.Sprintf("; %d not checked", left)
	}
	return text + "."
}
