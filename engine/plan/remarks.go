package plan

import (
	"fmt"
	"strings"
)

// Remarks are texts about steps, each said once for all of them: those about the agents of
// a sweep may differ in the agent's name.
type Remarks []*remark

type remark struct {
	text, neutral string
	steps         int
	agents        map[string]bool
}

// Neutral is a text about a step without the name of its agent.
func Neutral(agent, text string) string {
	return strings.ReplaceAll(text, fmt.Sprintf("agent %q", agent), "the agent")
}

// Add adds a text about a step of an agent; either may be "".
func (r *Remarks) Add(agent, text string) {
	neutral := Neutral(agent, text)
	if text == "" {
		return
	}
	for _, known := range *r {
		if known.neutral == neutral {
			known.steps++
			known.agents[agent] = true
			return
		}
	}
	*r = append(*r, &remark{text, neutral, 1, map[string]bool{agent: true}})
}

// Each calls fn with each text, in the order in which they were added first, and with
// what it is whoever the agent is. Of several agents the text begins with their
// number: "24 attempts of 8 agents: …".
func (r Remarks) Each(fn func(text, neutral string)) {
	for _, m := range r {
		if n := len(m.agents); n > 1 {
			m.text = fmt.Sprintf("%d attempts of %d agents: %s", m.steps, n, m.neutral)
		}
		fn(m.text, m.neutral)
	}
}
