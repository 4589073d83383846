package grading

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testdata/board.json is made by testdata/board.py with the reference's own
// aggregation; it states the versions.
func TestBoardEqualsReference(t *testing.T) {
	var file struct {
		Cases []struct {
			IDs     []string
			Seeds   int
			Pad     bool
			Reports [][]any
			Count   int
			Metrics map[string][4]float64
			Error   bool
		}
	}
	data, err := os.ReadFile("testdata/board.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for i, c := range file.Cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var reports []Flags
			for _, r := range c.Reports {
				on := func(i int) bool { return r[i].(float64) == 1 }
				reports = append(reports, Flags{
					CompetitionID: r[0].(string), GoldMedal: on(1), SilverMedal: on(2), BronzeMedal: on(3),
					AboveMedian: on(4), SubmissionExists: on(5), ValidSubmission: on(6),
				})
			}
			seeds, err := Seeds{Count: max(c.Seeds, 0), PadMissing: c.Pad}.Arrange(reports, c.IDs)
			if (err != nil) != c.Error {
				t.Fatalf("error %v, want one: %v", err, c.Error)
			}
			if c.Error {
				return
			}
			got := map[string][4]float64{}
			for name, e := range Aggregate(seeds) {
				got[name] = [4]float64{float64(e.Mean), float64(e.SEM), float64(e.CILower), float64(e.CIUpper)}
			}
			if diff := cmp.Diff(c.Metrics, got); diff != "" || len(seeds) != c.Count {
				t.Errorf("%d seeds, want %d; (-want +got):\n%s", len(seeds), c.Count, diff)
			}
		})
	}
}

func TestBoardSkipsWhatItCannotBuild(t *testing.T) {
	reports := []Flags{
		{CompetitionID: "a", GoldMedal: true, SubmissionExists: true, ValidSubmission: true},
		{CompetitionID: "a", SubmissionExists: true},
		{CompetitionID: "b"},
	}
	splits := []SplitIDs{{"low", []string{"a"}}, {"medium", []string{"b"}}, {"high", []string{"c"}}}
	board, err := NewBoard(reports, splits, Seeds{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"low": 2, "medium": 1}, board.SeedsPerSplit); diff != "" {
		t.Errorf("seeds (-want +got):\n%s", diff)
	}
	if board.Seeds != 1 {
		t.Errorf("got %d seeds, want 1", board.Seeds)
	}
	want := Estimate{Mean: 50, SEM: 50, CILower: -48, CIUpper: 148}
	if diff := cmp.Diff(want, board.Splits["low"]["any_medal_percentage"]); diff != "" {
		t.Errorf("any medal (-want +got):\n%s", diff)
	}
	if got := board.Skipped["high"]; !strings.Contains(got, "no report for c") {
		t.Errorf("split high is skipped for %q", got)
	}
	if _, err := NewBoard(reports, splits[2:], Seeds{}); err == nil {
		t.Error("no split can be built, but there is no error")
	}
}

func TestReadFlags(t *testing.T) {
	in := `{"total_runs": 3, "competition_reports": [
		{"competition_id": "b", "score": null, "gold_medal": false},
		{"competition_id": "a", "score": "nan", "gold_medal": false, "valid_submission": true},
		{"competition_id": "a", "score": 1.5, "gold_medal": true, "unknown": {}}]}`
	got, err := ReadFlags(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	want := []Flags{{CompetitionID: "a", ValidSubmission: true}, {CompetitionID: "a", GoldMedal: true}, {CompetitionID: "b"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{`{}`, `[]`, `{"competition_reports": [{}]}`, `{"competition_reports": 1}`, ``} {
		if _, err := ReadFlags(strings.NewReader(bad)); err == nil {
			t.Errorf("%s is read without an error", bad)
		}
	}
}
