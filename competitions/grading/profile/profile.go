// Package profile holds the answers of the reference's graders with several versions
// of their libraries, for the reference pages and for tests.
package profile

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed profile.json
var profileData []byte

// Profile holds the answers of the reference's graders with several versions of
// their libraries. ../testdata/profile.py writes it.
type Profile struct {
	// Versions are the versions of libraries, by the column's name and the library's.
	Versions map[string]map[string]string `json:"versions"`
	Cases    []Case                       `json:"cases"`
}

// The columns of a profile. The first is grading.ReferenceProfile.
const (
	Reference = "reference"
	Pandas2   = "pandas-2.3"
	Pandas3   = "pandas-3"
)

// Case is a golden submission with edits and its scores.
type Case struct {
	Rule        string            `json:"rule"`
	Competition string            `json:"competition"`
	Submission  string            `json:"submission"`
	Edits       []json.RawMessage `json:"edits"`
	// Ours is our score if it differs from the profile's, and Why is the reason.
	Ours string `json:"ours"`
	Why  string `json:"why"`
	// Answers are the scores, rounded, by column; "none" without one, "hangs"
	// where the grader does not end.
	Answers map[string]string `json:"answers"`
}

// Change is an edit of cells: values in turn, in all rows unless some are named.
type Change struct {
	Column string
	Rows   []int
	Values []string
}

// Changes returns the edits of cells; the others have names and are texts.
func (c Case) Changes() []Change {
	var out []Change
	for _, text := range c.Edits {
		var e Change
		if json.Unmarshal(text, &e) == nil {
			out = append(out, e)
		}
	}
	return out
}

// Read returns the profile of profile.json.
func Read() (Profile, error) {
	var p Profile
	if err := json.Unmarshal(profileData, &p); err != nil {
		return p, fmt.Errorf("read profile.json: %w", err)
	}
	return p, nil
}

// Differs reports whether our answer or that of newer versions differs from the
// profile.
func (c Case) Differs() bool {
	want := c.Answers[Reference]
	return c.Ours != "" || c.Answers[Pandas2] != want || c.Answers[Pandas3] != want
}
