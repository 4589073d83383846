package plan

import (
	"fmt"
	"strings"
)

// Evaluation is an evaluate block, a comparison of two agents that decides which
// of their attempts run, and what is known of the answer.
type Evaluation struct {
	Name string `json:"name"`
	// Agents are the two agents. Over is the step block that grades them.
	Agents []string `json:"agents"`
	Over   string   `json:"over"`
	// Decide is the verdict that is compared. Difference is the smallest
	// difference that matters, in percentage points.
	Decide     string  `json:"decide"`
	Difference float64 `json:"difference"`
	Confidence float64 `json:"confidence"`
	// Budget is the largest number of attempts.
	Budget int `json:"budget"`
	// Competitions is the number of competitions.
	Competitions int `json:"competitions"`
	// Rule is the digest of all of the above that an answer follows from: not
	// the budget, since the confidence holds at every look.
	Rule string `json:"rule"`

	// Round is the number of rounds that have ended, and Attempts the number of
	// attempts in them. Next is the number of attempts in the next round, or 0
	// after the last one.
	Round    int `json:"round"`
	Attempts int `json:"attempts"`
	Next     int `json:"next"`
	// Decision is the answer: "first better", "second better", "no difference"
	// or "undecided". Estimate is the first agent's advantage in percentage
	// points, and Low and High are its confidence sequence, which holds with the
	// probability Covers.
	Decision string  `json:"decision"`
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Covers   float64 `json:"interval_confidence"`
	Declared
}

// Declared counts the attempts of an evaluation that were not chosen by it, as
// the chain shows. All are 0 if the rule was declared before the first attempt
// and everything that it chose counts.
type Declared struct {
	// Outside began in a run that had not declared this rule.
	Outside int `json:"chosen_afterwards"`
	// Unknown are not in the chain.
	Unknown int `json:"not_in_chain"`
	// Repeated began again with --force or --retry.
	Repeated int `json:"repeated"`
	// Unused began under the rule and do not count.
	Unused int `json:"unused"`
	// FirstBudget is the budget with which the rule was declared first, or 0.
	FirstBudget int `json:"first_budget"`
}

// Selected reports whether the answer may have been chosen after its attempts.
func (d Declared) Selected() bool { return d.Outside+d.Repeated+d.Unused > 0 }

// Declaration says when the evaluation was declared. It is empty before the
// first attempt.
func (e *Evaluation) Declaration() string {
	if e.Attempts == 0 {
		return ""
	}
	var list []string
	add := func(n int, format string, args ...any) {
		if n > 0 {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	add(e.Outside, "chosen afterwards: %d of %d attempts began in runs without this rule", e.Outside, e.Attempts)
	add(e.Unknown, "not provable that it was declared first: %d of %d attempts are not in the chain", e.Unknown, e.Attempts)
	add(e.Repeated, "possibly selected: %d of %d attempts were repeated by --force or --retry", e.Repeated, e.Attempts)
	add(e.Unused, "possibly selected: %d more began for it and do not count", e.Unused)
	if len(list) == 0 {
		list = []string{"declared before its first attempt"}
	}
	if e.FirstBudget > 0 && e.FirstBudget != e.Budget {
		list = append(list, fmt.Sprintf("with a budget of %d at first", e.FirstBudget))
	}
	return strings.Join(list, ", ")
}
