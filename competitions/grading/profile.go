package grading

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// ReferenceProfile names the libraries whose answers grading gives: the oldest
// that the reference (openai/mle-bench) asks for, with the scipy of their time.
// Where newer ones answer otherwise is listed in docs/reference-profile.md.
const ReferenceProfile = "pandas-2.2 numpy-1.26 scikit-learn-1.5 scipy-1.14"

//go:embed profile.json
var profileData []byte

// Profile is what the reference's graders answer with several versions of
// their libraries. testdata/profile.py writes it.
type Profile struct {
	// Versions are those of the libraries, by the name of the column and that of
	// the library.
	Versions map[string]map[string]string `json:"versions"`
	Cases    []ProfileCase                `json:"cases"`
}

// The columns of a profile. The first is ReferenceProfile.
const (
	ProfileReference = "reference"
	ProfilePandas2   = "pandas-2.3"
	ProfilePandas3   = "pandas-3"
)

// ProfileCase is a golden submission with edits and its scores.
type ProfileCase struct {
	Rule        string            `json:"rule"`
	Competition string            `json:"competition"`
	Submission  string            `json:"submission"`
	Edits       []json.RawMessage `json:"edits"`
	// Ours is our score where it is not the profile's, and Why says why.
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
func (c ProfileCase) Changes() []Change {
	var out []Change
	for _, text := range c.Edits {
		var e Change
		if json.Unmarshal(text, &e) == nil {
			out = append(out, e)
		}
	}
	return out
}

// ReadProfile returns the profile that is part of the program.
func ReadProfile() (Profile, error) {
	var p Profile
	if err := json.Unmarshal(profileData, &p); err != nil {
		return p, fmt.Errorf("read profile.json: %w", err)
	}
	return p, nil
}

// Differs reports whether newer versions answer otherwise than the profile, or
// we do.
func (c ProfileCase) Differs() bool {
	want := c.Answers[ProfileReference]
	return c.Ours != "" || c.Answers[ProfilePandas2] != want || c.Answers[ProfilePandas3] != want
}
