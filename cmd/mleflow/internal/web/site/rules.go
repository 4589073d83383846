package site

import (
	"fmt"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/competitions/results"
)

// Excluded lists the rows left out of a board because of findings of rules.
type Excluded struct {
	Rules []string `json:"rules"`
	// Rows is the number of rows that do not count for this reason.
	Rows int `json:"rows"`
	// Unchecked is the number of rows that count although not all rules were applied to
	// them.
	Unchecked int `json:"unchecked"`
}

// exclude sets aside the rows in which one of the rules found something.
func (s *Site) exclude(rules []string) {
	if len(rules) == 0 {
		return
	}
	s.Excluded = &Excluded{Rules: rules}
	for _, r := range s.rows {
		if r.Aside != "" {
			continue
		}
		if found := r.Check.Against(rules); len(found) > 0 {
			r.Aside = "left out by rule: " + strings.Join(found, ", ")
			s.Excluded.Rows++
		} else if len(r.Check.Lacks(rules)) > 0 {
			s.Excluded.Unchecked++
		}
	}
}

// checked reports whether rules looked at any of the rows.
func checked(rows []*Row) bool {
	for _, r := range rows {
		if r.Check != nil {
			return true
		}
	}
	return false
}

// foundIn returns the findings of rules in an attempt.
func foundIn(c *results.Check) cell {
	warnings, notes := c.Count(evidence.Warning), c.Count(evidence.Note)
	switch {
	case c == nil:
		return cell{Text: "not checked"}
	case warnings > 0:
		return pill(view.Plural(warnings, "warning")+": "+strings.Join(c.FoundBy(evidence.Warning), ", "), "warn")
	case notes > 0:
		return cell{Text: view.Plural(notes, "note") + ": " + strings.Join(c.FoundBy(evidence.Note), ", ")}
	}
	return cell{Text: "none"}
}

// foundInAll sums up the findings of rules in an agent's attempts.
func foundInAll(rows []*Row) cell {
	warned, looked := 0, 0
	for _, r := range rows {
		if r.Check != nil {
			looked++
		}
		if r.Check.Count(evidence.Warning) > 0 {
			warned++
		}
	}
	switch {
	case looked == 0:
		return cell{Text: "not checked"}
	case warned == 0 && looked == len(rows):
		return cell{Text: "no warnings"}
	}
	text := fmt.Sprintf("warnings in %d of %d", warned, looked)
	if looked < len(rows) {
		text += fmt.Sprintf(", %d not checked", len(rows)-looked)
	}
	if warned > 0 {
		return pill(text, "warn")
	}
	return cell{Text: text}
}
