// Package evidence defines the one form in which checks of an attempt report their
// findings.
//
// A finding points at a place and tells a person where to look. It is never a
// verdict: nothing in mleflow changes a score because of a finding.
// The reader of a board may leave out attempts by rule, and the board says so.
package evidence

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity is the weight of a finding.
type Severity string

// The severities.
const (
	// Note is worth reading. Honest attempts have some.
	Note Severity = "note"
	// Warning is hard to explain in an honest attempt.
	Warning Severity = "warning"
)

// Finding is the finding of a rule at one place.
type Finding struct {
	// Rule is the name of the rule, such as "plagiarism".
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	// File is a path that begins with the output it is in: "code/main.py",
	// "logs/output.log", "transcript/3". Line is from 1; 0 is the whole file.
	// Place names the line where that is not enough, as in a notebook.
	File  string `json:"file"`
	Line  int    `json:"line,omitempty"`
	Place string `json:"place,omitempty"`
	// Excerpt is the text at the place, shortened.
	Excerpt string `json:"excerpt,omitempty"`
	// Explanation describes the finding in a sentence or two.
	Explanation string `json:"explanation"`
}

// Where returns the file with the line, if there is one.
func (f Finding) Where() string {
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return f.File
}

// Sort puts warnings first, then orders by rule and place.
func Sort(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(-cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}
