package board

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/grading"
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

// sameNumber takes NaN for equal to NaN.
var sameNumber = cmp.Comparer(func(a, b grading.Number) bool { return a == b || a != a && b != b })

// full is the fields that every report has.
const full = `"gold_medal": false, "silver_medal": 0, "bronze_medal": null, "above_median": false, "submission_exists": true, "valid_submission": 1`

func TestReadFile(t *testing.T) {
	is := func(id, agent string, score *grading.Number) grading.Graded {
		g := grading.Graded{Report: grading.Report{CompetitionID: id, SubmissionExists: true, ValidSubmission: true, Score: score}}
		if agent != "" {
			g.Labels = map[string]string{"agent": agent, "seed": "1"}
		}
		return g
	}
	number := func(v float64) *grading.Number { n := grading.Number(v); return &n }
	for _, tt := range []struct {
		name, in string
		want     File
	}{
		{"the reference's words", `{"competition_reports": [{"competition_id": "b", "score": NaN, "reason": "a \\\"NaN\\\" is", ` + full + `},
			{"competition_id": "a", "score": -Infinity, "more": {}, ` + full + `}, {"competition_id": "a", "score": "inf", ` + full + `}], "total": NaN}`,
			File{Reports: []grading.Graded{is("a", "", number(math.Inf(-1))), is("a", "", number(math.Inf(1))), is("b", "", number(math.NaN()))}}},
		{"failures", `{"competition_reports": [], "failures": [{"line": 3, "competition_id": "a", "reason": "no answers"}]}`,
			File{Failures: []grading.Failure{{Line: 3, CompetitionID: "a", Reason: "no answers"}}}},
		{"one report", `{"competition_id": "a", "labels": {"agent": "x", "seed": "1"}, ` + full + `}`, File{Reports: []grading.Graded{is("a", "x", nil)}}},
		{"a board", `{"group_by": "x", "entries": [{"agent": "x", "seed": "1", "report": {"competition_id": "a", ` + full + `}}]}`, File{Reports: []grading.Graded{is("a", "x", nil)}}},
	} {
		got, err := ReadFile(strings.NewReader(tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		for i := range got.Reports {
			got.Reports[i].Reason = ""
		}
		if diff := cmp.Diff(tt.want, got, sameNumber); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestReadFileRefuses(t *testing.T) {
	for in, want := range map[string]string{
		`{}`: "no competition_reports", `[]`: "array", ``: "unexpected end", `{"competition_reports": 1}`: "number", `{"competition_reports": [1]}`: "report 1",
		`{"competition_reports": [{"competition_id": "a"}]}`:                            "report 1: gold_medal is missing",
		`{"competition_reports": [{` + full + `}]}`:                                     "names no competition",
		`{"competition_reports": [{"competition_id": "a", "gold_medal": "false"}]}`:     "neither true nor false",
		`{"competition_reports": [{"competition_id": "a", "score": [], ` + full + `}]}`: "score",
	} {
		if _, err := ReadFile(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", in, err, want)
		}
	}
}

// TestUnranked: shares of medals are over the competitions with a leaderboard.
func TestUnranked(t *testing.T) {
	ranked, unranked := Flags{CompetitionID: "a", GoldMedal: true, ValidSubmission: true}, Flags{CompetitionID: "b", Unranked: true}
	got := Aggregate([][]Flags{{ranked, unranked}})
	if gold, valid := got["gold_medal_percentage"].Mean, got["valid_submissions_percentage"].Mean; gold != 100 || valid != 50 {
		t.Errorf("gold %v %%, valid %v %%, want 100 and 50", gold, valid)
	}
	if alone := Aggregate([][]Flags{{unranked}}); len(alone) != 2 {
		t.Errorf("%v, want shares of submissions only", alone)
	}
}
