package aggregate

import (
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
)

// A score of a program is marked wherever the board is read.
func TestExternalMetricIsMarked(t *testing.T) {
	for _, external := range []bool{true, false} {
		score := grading.Number(0.5)
		entry := Entry{Agent: "x", Report: grading.Report{CompetitionID: "pears", Score: &score, Detail: grading.Detail{Outcome: outcome.Scored, MetricExternal: external}}}
		board, err := NewBoard([]Entry{entry}, Grouping{By: "split", Of: func(string) string { return "low" }})
		if err != nil {
			t.Fatal(err)
		}
		files := map[string][]byte{}
		if err := board.tables(files); err != nil {
			t.Fatal(err)
		}
		header, row, _ := strings.Cut(string(files["runs.csv"]), "\n")
		column := strings.Count(header[:strings.Index(header, "metric_external")], ",")
		for where, marked := range map[string]bool{
			"table": strings.Contains(board.Text("t", StoredFull), "pears (external metric)"),
			"note":  len(board.externalNotes()) == 1,
			"JSON":  board.Agents[0].Competitions[0].MetricExternal,
			"CSV":   strings.Split(row, ",")[column] == "True",
		} {
			if marked != external {
				t.Errorf("%s: marked %v, want %v", where, marked, external)
			}
		}
	}
}
