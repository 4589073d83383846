package aggregate

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
)

// TestNaNIsShown proves that a score that is not a number is no place and is
// told from a missing submission.
func TestNaNIsShown(t *testing.T) {
	nan, rank := grading.Number(math.NaN()), 101
	scoreless := grading.Report{CompetitionID: "apples"}
	broken := grading.Report{CompetitionID: "apples", SubmissionExists: true, ValidSubmission: true, Score: &nan, Detail: grading.Detail{ExactScore: &nan, Rank: &rank, Teams: 100}}
	entries := []Entry{{Agent: "lazy", Seed: "0", Report: scoreless}, {Agent: "nan", Seed: "0", Report: broken}}
	b, err := NewBoard(entries, Grouping{By: byNothing, Of: func(string) string { return "all" }})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range b.Agents {
		row := strings.Join(a.Competitions[0].row(a.Name), "|")
		if want := map[string]string{"lazy": "|no submission|", "nan": "|NaN|"}[a.Name]; !strings.Contains(row, want) || strings.Contains(row, "101 of") {
			t.Errorf("%s: %q has no %q, or a place", a.Name, row, want)
		}
	}
	text := b.Text("Board", StoredFull)
	if !strings.Contains(text, "lazy: 1 of 1 runs never submitted (1 no submission).") || strings.Contains(text, "nan: 1 of 1 runs") {
		t.Errorf("the notes are wrong:\n%s", text)
	}
}

// TestExplain tells a board of a step without attempts how agents ended. What the step
// knows stays, and so do attempts that the board has under other names.
func TestExplain(t *testing.T) {
	entry := func(agent, seed string, end outcome.End) Entry {
		e := Entry{Agent: agent, Seed: seed, Report: grading.Report{CompetitionID: "apples"}}
		if end != "" {
			e.Attempt = &results.Made{Outcome: end}
		}
		return e
	}
	b := boardOf(t, entry("a", "0", ""), entry("a", "1", ""), entry("b", "0", outcome.TimedOut), entry("shown", "0", ""))
	made := func(agent, seed string, end outcome.End) *results.Attempt {
		return &results.Attempt{Agent: agent, Seed: seed, Report: grading.Report{CompetitionID: "apples"}, Made: results.Made{Outcome: end}}
	}
	b.Explain([]*results.Attempt{made("a", "0", outcome.DataChanged), made("a", "1", outcome.Finished), made("b", "0", outcome.OutOfMemory), made("label", "0", outcome.AgentFailed)})
	got := map[string]string{}
	for _, a := range b.Agents {
		got[a.Name] = unscoredText(a.Competitions[0].Unscored)
	}
	want := map[string]string{"a": "1 data changed, 1 no submission", "b": "1 timed out", "shown": "1 no submission"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text := b.Text("Board", StoredFull); !strings.Contains(text, "a: 2 of 2 runs never submitted (1 data changed, 1 no submission).") {
		t.Errorf("the notes are wrong:\n%s", text)
	}
}
