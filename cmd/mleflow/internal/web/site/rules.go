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

// excluded returns the note on the first page.
func (s *Site) excluded() section {
	e := s.Excluded
	sec := section{ID: "left-out", Title: "Left out by rule", Text: []string{fmt.Sprintf(
		"Whoever built this board left out the attempts in which one of these rules found something: %s. That is %s. A finding is evidence, not proof; each such attempt is listed with its agent and competition, with its findings, and does not count.",
		strings.Join(e.Rules, ", "), view.Plural(e.Rows, "attempt"))}}
	if e.Unchecked > 0 {
		sec.Text = append(sec.Text, fmt.Sprintf("%s not checked by all of them, and %s.", were(e.Unchecked, "attempt"), counts(e.Unchecked)))
	}
	return sec
}

func were(n int, what string) string {
	if n == 1 {
		return "1 " + what + " was"
	}
	return fmt.Sprintf("%d %ss were", n, what)
}

func counts(n int) string {
	if n == 1 {
		return "counts"
	}
	return "count"
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
