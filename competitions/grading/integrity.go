package grading

import (
	"slices"
)

// Integrity is the label of an attempt by what was observed of it; see
// results.Attempt.Integrity.
type Integrity string

// The labels.
const (
	Clean    Integrity = "clean"    // all was looked at, and nothing speaks against it
	Suspect  Integrity = "suspect"  // a person should look at the evidence
	Tampered Integrity = "tampered" // the agent changed what it may not
	Unknown  Integrity = "unknown"  // too little was looked at
)

// Failing reports whether the attempt counts as a failure where cheating does.
func (i Integrity) Failing() bool { return i == Suspect || i == Tampered }

// IntegrityWords are the labels as flags take them.
func IntegrityWords() []string {
	return []string{string(Clean), string(Suspect), string(Tampered), string(Unknown)}
}

// IntegrityOf returns the label of a submission. Reports do not keep Unknown.
func (g Graded) IntegrityOf() Integrity {
	switch {
	case g.Origin == nil:
		return Unknown
	case g.Origin.Integrity == "" && len(g.Origin.WarnedBy) > 0: // of an earlier version
		return Suspect
	case slices.Contains(IntegrityWords(), string(g.Origin.Integrity)):
		return g.Origin.Integrity
	}
	return Unknown
}
