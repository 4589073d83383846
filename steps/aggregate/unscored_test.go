package aggregate

import (
	"math"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions/grading"
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
