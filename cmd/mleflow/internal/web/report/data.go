package report

import (
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/firstscreen"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/sandbox/shim"
)

// Data is all that a report shows.
type Data struct {
	Run          Run
	Screen       firstscreen.Screen
	Competitions []Competition
	Steps        []Step
	// Nodes are the run's use of a cluster's nodes.
	Nodes []Node
	// Outcomes are the counts of outcomes, one line each for attempts and submissions.
	Outcomes []string
	// Models are the attempts' use of models, one row per block.
	Models []ModelUse
	// Refused are calls of the package mlebench.
	Refused []Refused
	// Missing is the number of documents that are no longer in the cache.
	Missing int
	Pins    []Pin
}

// Run is the head of a report.
type Run struct {
	history.Info
	State    history.State
	Duration time.Duration
	// File is the name of the pipeline's file.
	File string
	// Unscored of all Attempts have no score.
	Unscored, Attempts int
	// NotIsolated names the attempts that were not isolated, if any.
	NotIsolated string
	// Warnings are the warnings of the whole run, not of a step.
	Warnings []string
}

// Refused are an attempt's calls that the package mlebench refused, as reported from the
// agent's side.
type Refused struct {
	Address string
	shim.Group
}

// ModelUse is an attempt's use of a model block.
type ModelUse struct {
	Address, Block string
	results.ModelUse
}

// Competition is the scores of one competition next to those of people.
type Competition struct {
	page.AmongPeople
	Title, Metric string
	// Note names the source of the human scores.
	Note string
	// External reports whether a program of the competition computed the scores.
	External bool
	Scores   []Score
}

// Score is one graded submission.
type Score struct {
	Agent string
	Seed  string
	// Value is the score; Scored reports whether there is one.
	Value  float64
	Scored bool
	// Medal is "gold", "silver", "bronze" or empty.
	Medal       string
	AboveMedian bool
	Rank, Teams int
	// Reason explains a missing score, or why the agent did not finish.
	Reason    string
	Isolation string // see conditions.Shown
}

// Step is one instance. Without a start it was not executed.
type Step struct {
	page.Bar
	Block    string
	Attempts int
	// Reasons are the reasons why it ran.
	Reasons []string
	Error   string
	// After are the addresses of the blocks it depends on.
	After []string
}

// Pin is content that the run used or made, by digest.
type Pin struct {
	Address, Output, Digest string
	Size                    int64
}
