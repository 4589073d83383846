package firstscreen

import (
	"cmp"
	"context"
	_ "embed"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/page"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Parts are the templates "leaderboard", "matrix" and "causes", for package page.
//
//go:embed parts.html
var Parts string

// Screen is the first screen of a run.
type Screen struct {
	Tables []Table
	Agents []string
	// Note says how complete the leaderboard is, or why there is none.
	Note string
	// Rehearsal means that the data were those of a rehearsal. Notes are the caveats of the
	// leaderboards, NotesMore the number of those left out.
	Rehearsal   bool
	Notes       []string
	NotesMore   int
	Comparisons []Comparison
	// Evaluation is the answer of the pipeline's evaluation, if any.
	Evaluation string
	Matrix     Matrix
	Causes     []Cause
	// More is the number of further causes.
	More int
	// Outputs are those of the run without its leaderboards.
	Outputs []page.Fact
}

// New makes the first screen of a run, with the causes of the steps that failed and of
// other problems.
func (s *Source) New(ctx context.Context, problems []view.Problem) Screen {
	all := s.List()
	results.Sort(all)
	boards := s.boards(ctx)
	screen := Screen{Tables: tables(boards.list, all), Agents: distinct(all, agentOf), Note: boards.note, Matrix: s.matrix(all), Outputs: boards.others(s.Summary.Outputs)}
	screen.Causes, screen.More = s.explain(append(failedSteps(s.Summary), problems...))
	if e := s.Summary.Evaluation; e != nil {
		screen.Evaluation = "Evaluate " + e.Name + ": " + view.Evaluation(*e)
	}
	made := s.List()
	for _, b := range boards.list {
		b.Explain(made)
		screen.Rehearsal = screen.Rehearsal || b.Rehearsal
		for _, c := range b.Comparisons {
			screen.Comparisons = append(screen.Comparisons, Comparison{c.First + " and " + c.Second + ", " + aggregate.Basis(c.Comparison), b.Sentence(c), Figures(c.First, c.Second, c.Comparison)})
		}
		// That attempts were not isolated is said at the head of every page.
		screen.Notes = append(screen.Notes, slices.DeleteFunc(b.Notes(), func(note string) bool { return strings.HasPrefix(note, "Untrusted:") })...)
	}
	shown := min(len(screen.Notes), notesShown)
	screen.Notes, screen.NotesMore = screen.Notes[:shown], len(screen.Notes)-shown
	return screen
}

// Figures are the rows of a comparison of two, headers first.
func Figures(first, second string, c board.Comparison) [][]string {
	rows := aggregate.ComparisonRows(first, second, c)
	for i, head := range rows[0] {
		if i == 0 || i > 2 {
			rows[0][i] = view.Capital(cmp.Or(head, "figure"))
		}
	}
	return rows
}

// Comparison is two agents that a leaderboard compares: in words, and as the rows of a
// table, headers first.
type Comparison struct {
	Title, Sentence string
	Rows            [][]string
}

// Cause is a reason for which steps failed or attempts have no score.
type Cause struct {
	Outcome, Reason string
	N               int
	// Tail is the end of the first log.
	Tail  string
	Steps []Step
	More  int
	// Command shows the first log.
	Command string
}

// Step is a step with its page.
type Step struct{ Address, Name, Link string }

// causesShown and stepsShown bound what a page names of failures.
const (
	notesShown  = 12
	causesShown = 20
	stepsShown  = 12
	tailLines   = 40
)

// explain groups problems by cause, in order of appearance, with the ends of their logs.
// More is the number of causes that are left out.
func (s *Source) explain(problems []view.Problem) (list []Cause, more int) {
	o := view.Outcomes{Problems: problems}
	all := o.Causes()
	for _, c := range all[:min(len(all), causesShown)] {
		one := Cause{Outcome: outcome.Words(c.Outcome), Reason: c.Reason, N: len(c.All), Command: c.Command(), More: max(0, len(c.All)-stepsShown)}
		lines := c.Tail
		if len(lines) == 0 && s.Tail != nil {
			_, lines = view.Excerpt(s.Tail(c.Run, c.Address, tailLines))
		}
		one.Tail = strings.Join(lines, "\n")
		for _, p := range c.All[:min(len(c.All), stepsShown)] {
			one.Steps = append(one.Steps, Step{p.Address, page.Name(p.Address), s.link(p.Address)})
		}
		list = append(list, one)
	}
	return list, len(all) - len(list)
}

// failedSteps returns the steps of a run that failed, as problems.
func failedSteps(sum *history.Summary) (list []view.Problem) {
	for _, s := range sum.Steps {
		if s.Status == event.Failed {
			list = append(list, view.Problem{Address: s.Address, Run: sum.ID, Outcome: "step failed", Reason: s.Error})
		}
	}
	return list
}
