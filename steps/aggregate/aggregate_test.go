package aggregate_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/steps/aggregate"
	"github.com/mleflow/mleflow/steps/steptest"
)

// catalog has two easy competitions and a hard one.
func catalog(t *testing.T) *competitions.Catalog {
	t.Helper()
	folder := fstest.MapFS{}
	for id, complexity := range map[string]string{"apples": "low", "pears": "low", "rockets": "high"} {
		folder[id+"/competition.hcl"] = &fstest.MapFile{Data: fmt.Appendf(nil, `competition %[1]q {
  title       = "X"
  category    = "cat-%[2]s"
  complexity  = %[2]q
  description = "X."
  answers     = "private/test.csv"
  sample      = "public/sample_submission.csv"
  prepare {}
  grade { metric = "accuracy" }
  medals { scores = [1, 0.5] }
}`, id, complexity)}
	}
	cat, err := competitions.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// run is one graded attempt: a score and what it earns.
type run struct {
	agent, competition, seed string
	score                    float64 // NaN: invalid
	medal                    string
	aboveMedian              bool
}

func (r run) report(t *testing.T) string {
	t.Helper()
	rank := 7
	rep := grading.Report{
		CompetitionID: r.competition, SubmissionExists: true, ValidSubmission: !math.IsNaN(r.score), LowerIsBetter: r.competition == "rockets",
		Medals: grading.Medals{AnyMedal: r.medal != "", GoldMedal: r.medal == "gold", SilverMedal: r.medal == "silver", BronzeMedal: r.medal == "bronze", AboveMedian: r.aboveMedian},
		Detail: grading.Detail{Outcome: outcome.Invalid, Teams: 100, CompetitionVersion: "v1"},
	}
	if rep.ValidSubmission {
		s := grading.Number(r.score)
		rep.Score, rep.ExactScore, rep.Rank, rep.Outcome = &s, &s, &rank, outcome.Scored
	}
	text, err := json.Marshal(struct {
		grading.Report
		Labels map[string]string `json:"labels"`
	}{rep, map[string]string{"agent": r.agent, "seed": r.seed}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func reports(t *testing.T, b *steptest.Bench, runs []run) cty.Value {
	var list []cty.Value
	for _, r := range runs {
		list = append(list, steptest.Under(b.Blob(t, r.report(t)), r.conditions()...))
	}
	return cty.ListVal(list)
}

// conditions are those of the run: strong ran in containers, weak once did not.
func (r run) conditions() []string {
	switch {
	case r.agent == "":
		return nil
	case r.agent == "weak" && r.seed == "0":
		return append(conditions.Of("process", conditions.None), "task=reference")
	}
	return append(conditions.Of("containerd", conditions.Container), "task=reference")
}

var exampleRuns = []run{
	{"weak", "apples", "0", 0.5, "", false}, {"weak", "apples", "1", math.NaN(), "", false},
	{"weak", "pears", "0", 0.25, "", true}, {"weak", "pears", "1", 0.75, "", false},
	{"strong", "rockets", "10", 1.5, "gold", true}, {"strong", "rockets", "2", 2.5, "silver", true},
	{"strong", "apples", "2", 0.9, "gold", true}, {"strong", "apples", "10", 0.7, "", true},
	{"strong", "pears", "2", 0.8, "bronze", true}, {"strong", "pears", "10", 0.8, "", false},
}

// TestTable compares with a golden text that was worked out by hand from
// exampleRuns: strong has per seed 3/3 and 1/3 medals, mean 66.7 and standard
// error (1-1/3)/2 = 33.3; its apples are 0.8 with standard error 0.1; weak has
// no rockets, which count as no submission.
func TestTable(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	out, err := b.Run(t, map[string]cty.Value{"reports": reports(t, b, exampleRuns), "title": cty.StringVal("Fruit")})
	if err != nil {
		t.Fatal(err)
	}
	var table string
	steptest.Decode(t, out["table"], &table)
	for path, got := range map[string]string{"testdata/table.txt": table, "testdata/board.txt": b.Files(t, out["files"].Ref)["board.txt"]} {
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	for line := range strings.Lines(table) {
		if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > aggregate.Stored.Width {
			t.Errorf("wider than %d: %s", aggregate.Stored.Width, line)
		}
	}
}

// TestNumbers checks the numbers of the board against sums done by hand.
func TestNumbers(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	out, err := b.Run(t, map[string]cty.Value{"reports": reports(t, b, exampleRuns), "pad_missing": cty.True})
	if err != nil {
		t.Fatal(err)
	}
	var board aggregate.Board
	if err := json.Unmarshal([]byte(b.Text(t, out["board"].Ref)), &board); err != nil {
		t.Fatal(err)
	}
	strong, weak := board.Agents[0], board.Agents[1]
	if strong.Name != "strong" || weak.Name != "weak" || len(board.Entries) != len(exampleRuns) {
		t.Fatalf("agents %s, %s; %d entries", strong.Name, weak.Name, len(board.Entries))
	}
	near := func(what string, got grading.Number, want float64) {
		t.Helper()
		if math.Abs(float64(got)-want) > 1e-9 {
			t.Errorf("%s: got %v, want %v", what, float64(got), want)
		}
	}
	medals := strong.Overall.Percentages["any_medal_percentage"]
	near("strong, medals", medals.Mean, 200.0/3)
	near("strong, medals, error", medals.SEM, 100.0/3)
	near("strong, low, gold", strong.Groups[1].Percentages["gold_medal_percentage"].Mean, 25)
	near("weak, valid", weak.Overall.Percentages["valid_submissions_percentage"].Mean, 50)
	apples := strong.Competitions[0]
	near("strong, apples", apples.Score.Mean, 0.8)
	near("strong, apples, error", apples.Score.SEM, 0.1)
	near("strong, rockets, best", *strong.Competitions[2].Best, 1.5)
	near("weak, apples", weak.Competitions[0].Score.Mean, 0.5)
	if seeds := []string{board.Entries[0].Seed, board.Entries[1].Seed}; seeds[0] != "2" || seeds[1] != "10" {
		t.Errorf("seeds come as texts, not numbers: %v", seeds)
	}
}

// TestOrderDoesNotMatter sees that the leaderboard follows the reports' content.
func TestOrderDoesNotMatter(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	first, err := b.Run(t, map[string]cty.Value{"reports": reports(t, b, exampleRuns)})
	if err != nil {
		t.Fatal(err)
	}
	var backwards []run
	for i := range exampleRuns {
		backwards = append(backwards, exampleRuns[len(exampleRuns)-1-i])
	}
	second, err := b.Run(t, map[string]cty.Value{"reports": reports(t, b, backwards)})
	if err != nil {
		t.Fatal(err)
	}
	if first["board"].Ref != second["board"].Ref {
		t.Error("the order of the reports changes the leaderboard")
	}
}

func TestGroups(t *testing.T) {
	for by, want := range map[string][]string{
		"complexity": {"high", "low"}, "category": {"cat-high", "cat-low"},
		"competition": {"apples", "pears", "rockets"}, "none": {"all"},
	} {
		b := steptest.New(aggregate.Kind(catalog(t)))
		out, err := b.Run(t, map[string]cty.Value{"reports": reports(t, b, exampleRuns), "group_by": cty.StringVal(by)})
		if err != nil {
			t.Fatal(err)
		}
		var board aggregate.Board
		if err := json.Unmarshal([]byte(b.Text(t, out["board"].Ref)), &board); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range board.Agents[0].Groups {
			got = append(got, g.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("group_by %s (-want +got):\n%s", by, diff)
		}
	}
}

func TestRefuses(t *testing.T) {
	b := steptest.New(aggregate.Kind(catalog(t)))
	twice := []run{exampleRuns[0], exampleRuns[0]}
	for _, tt := range []struct {
		name    string
		reports cty.Value
		want    string
	}{
		{"none", cty.ListValEmpty(b.Blob(t, "x").Type()), "reports is empty"},
		{"twice", reports(t, b, twice), `agent "weak", competition "apples" and seed "0"`},
		{"no report", cty.ListVal([]cty.Value{b.Blob(t, "{}")}), "not a grading report"},
		{"no JSON", cty.ListVal([]cty.Value{b.Blob(t, "id,y\n")}), "not a grading report"},
	} {
		_, err := b.Run(t, map[string]cty.Value{"reports": tt.reports})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want an error with %q", tt.name, err, tt.want)
		}
	}
	// Without seeds two reports are two runs.
	unlabelled := []run{{"", "apples", "", 0.5, "", false}, {"", "apples", "", 0.7, "", false}}
	out, err := b.Run(t, map[string]cty.Value{"reports": reports(t, b, unlabelled)})
	if err != nil {
		t.Fatal(err)
	}
	table := b.Files(t, out["files"].Ref)["board.txt"]
	if !strings.Contains(table, "(unlabelled)  apples       unknown    unknown  0.60000 ± 0.10000") {
		t.Errorf("table:\n%s", table)
	}
}
