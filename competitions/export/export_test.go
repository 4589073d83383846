package export_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/data/table"
)

//go:fix inline
func of[T any](v T) *T { return new(v) }

// runs are one with everything and one with as little as can be.
func runs() []*results.Attempt {
	places := -3
	full := grading.Report{
		CompetitionID: "apples", Score: of(grading.Number(0.5)), LowerIsBetter: true, SubmissionExists: true, ValidSubmission: true,
		Thresholds: grading.Thresholds{Gold: 0.25, Silver: 0.5, Bronze: 0.75, Median: 1},
		Medals:     grading.Medals{AnyMedal: true, SilverMedal: true, AboveMedian: true},
		Detail:     grading.Detail{ExactScore: of(grading.Number(0.5000001)), Outcome: outcome.Scored, Rank: new(7), Teams: 100, MetricExternal: true, CompetitionVersion: "v1", Conditions: []string{"isolation=none", "runtime=process", "task=reference"}},
	}
	return []*results.Attempt{
		{Agent: "x", Seed: "0", Report: full, Margins: map[grading.Threshold]grading.Margin{"gold": {Score: -0.25, Places: &places}, "silver": {}},
			Made: results.Made{Outcome: "finished", WallSeconds: new(1.5), CPUSeconds: new(0.0), Validations: new(2), Usage: &results.Usage{Model: "m, n", CostUSD: new(0.25), ListUSD: new(1.5)}}},
		{Agent: "y", Report: grading.Report{CompetitionID: "pears", Score: new(grading.Number(math.Inf(1)))}},
	}
}

// The expected text was written by hand, column by column.
func TestRuns(t *testing.T) {
	tab, err := export.Runs(runs())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := export.Write(&out, tab, export.CSV); err != nil {
		t.Fatal(err)
	}
	want := "agent,seed,competition,competition_version,outcome,submission_exists,valid_submission,score,exact_score,is_lower_better,medal,above_median,rank,teams," +
		"gold_margin,gold_places,silver_margin,silver_places,bronze_margin,bronze_places,median_margin,median_places,rounding_decides,medal_on_non_finite,non_finite,metric_external," +
		"attempt_outcome,wall_seconds,cpu_seconds,validations,model,usage_source,requests,input_tokens,cached_input_tokens,output_tokens,cost_usd,isolation,untrusted,runtime,task,class,no_score,reason\n" +
		`x,0,apples,v1,scored,True,True,0.5,0.5000001,True,silver,True,7.0,100.0,-0.25,-3.0,0.0,,,,,,silver,False,False,True,finished,1.5,0.0,2.0,"m, n",,,,,,0.25,none (untrusted),True,process,reference,"isolation none (untrusted), task reference, time/cpus/memory/gpus/network/budget/feedback/knowledge not recorded",,` + "\n" +
		"y,,pears,,,False,False,inf,,False,,False,,,,,,,,,,,,False,True,False,,,,,,,,,,,,unknown,False,,unknown,\"isolation unknown, task unknown\",infinite,\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFigures(t *testing.T) {
	split := board.Aggregate([][]board.Flags{{{GoldMedal: true}, {}}, {{}, {}}})
	tab, err := export.Figures([]export.Group{{Agent: "x", Name: "low", Figures: split, Seeds: 2, Competitions: 2, Under: conditions.Under{Isolation: "mixed: container, none (untrusted)", Untrusted: true, Task: "own"}, Class: "time 12h, cpus 8"}, {Agent: "y", Name: "low"}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := export.Write(&out, tab, export.CSV); err != nil {
		t.Fatal(err)
	}
	// Two seeds of 50 and 0: mean 25, standard error 25.
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 8 || lines[0] != "agent,group,figure,mean,sem,ci_lower,ci_upper,seeds,competitions,isolation,untrusted,task,class" ||
		lines[7] != `x,low,any_medal_percentage,25.0,25.0,-24.0,74.0,2,2,"mixed: container, none (untrusted)",True,own,"time 12h, cpus 8"` {
		t.Errorf("got\n%s", out.String())
	}
	// With measures there are their intervals, and figures that the reference lacks.
	tab, err = export.Figures([]export.Group{{Agent: "x", Name: "low", Figures: split, Seeds: 1, Measures: map[string]board.Measure{
		"any_medal_percentage": {Mean: 25, Uncertainty: board.Uncertainty{Runs: &board.Interval{Lower: 1, Upper: 60}}}, "mean_percentile": {Mean: 40},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := export.Write(&out, tab, export.CSV); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "class,runs_lower,runs_upper,competitions_lower,competitions_upper\n") ||
		!strings.Contains(got, "any_medal_percentage,25.0,25.0,-24.0,74.0,1,0,,False,,,1.0,60.0,,\n") || !strings.Contains(got, "mean_percentile,40.0,,,,1,0,,False,,,,,,\n") {
		t.Errorf("got\n%s", got)
	}
}

func TestMarkdown(t *testing.T) {
	got := export.Markdown([]export.Row{{
		Agent: "a|b", Models: "m\nn", Hours: "24", Date: "2026-01-02",
		Splits: map[string]board.Split{"low": {"any_medal_percentage": {Mean: 90.909, SEM: 1.515}}, "high": {"any_medal_percentage": {Mean: 50}}, "all": {}}, Seeds: map[string]int{"low": 3, "high": 1}, Under: conditions.Under{Isolation: "none (untrusted)", Task: "reference"}, Class: "time 24h",
	}}, []string{"Note of a|b."}, "")
	if want := `| a\|b | m n | 90.91 ± 1.51 | - | 50.00 ± – | - | 24 | 2026-01-02 | - | - | none (untrusted) | reference | time 24h |` + "\n\n" + `Note of a\|b.` + "\n"; !strings.HasSuffix(got, want) || strings.Count(got, "\n") != 5 {
		t.Errorf("got\n%s", got)
	}
}

func TestReadUsage(t *testing.T) {
	got, err := results.ReadUsage([]byte(`{"model": "m", "requests": 3, "input_tokens": 1e3, "cached_input_tokens": 0, "cost_usd": 0.5, "other": [1]}`))
	want := &results.Usage{Source: grading.FromAgent, Model: "m", Requests: new(3.0), InputTokens: new(1000.0), CachedInputTokens: new(0.0), CostUSD: new(0.5)}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{``, `null`, `[]`, `{"cost_usd": -1}`, `{"requests": 1e999}`, `{"input_tokens": "1"}`, `{"model": "` + strings.Repeat("x", 201) + `"}`} {
		if u, err := results.ReadUsage([]byte(bad)); err == nil {
			t.Errorf("%.40s is read as %+v", bad, u)
		}
	}
}

// The columns are those of docs/leaderboard.md and docs/export.md, in their
// order.
func TestColumnsAreDocumented(t *testing.T) {
	for _, doc := range []struct {
		page, title string
		table       func() (*table.Table, error)
	}{
		{"leaderboard.md", "The table of figures", func() (*table.Table, error) {
			return export.Figures([]export.Group{{Measures: map[string]board.Measure{}}})
		}},
		{"export.md", "Attempts", func() (*table.Table, error) { return export.Attempts(nil) }},
		{"export.md", "Snapshots", func() (*table.Table, error) { return export.Snapshots(nil) }},
	} {
		var documented []string
		for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\|").FindAllStringSubmatch(section(t, doc.page, doc.title), -1) {
			documented = append(documented, m[1]+" "+m[2])
		}
		if diff := cmp.Diff(documented, columns(t, doc.table)); diff != "" {
			t.Errorf("%s, %s (-documented +written):\n%s", doc.page, doc.title, diff)
		}
	}
}

// TestRunsAreAmongAttempts: docs/leaderboard.md lists the columns of the table of
// runs, and docs/export.md, in the table of attempts, says what they are.
func TestRunsAreAmongAttempts(t *testing.T) {
	attempts := columns(t, func() (*table.Table, error) { return export.Attempts(nil) })
	var documented, written []string
	for _, m := range regexp.MustCompile("`(\\w+)`[,.]").FindAllStringSubmatch(section(t, "leaderboard.md", "The table of runs"), -1) {
		documented = append(documented, m[1])
	}
	for _, c := range columns(t, func() (*table.Table, error) { return export.Runs(nil) }) {
		name, _, _ := strings.Cut(c, " ")
		written = append(written, name)
		if !slices.Contains(attempts, c) {
			t.Errorf("the table of attempts has no column %s", c)
		}
	}
	if diff := cmp.Diff(documented, written); diff != "" {
		t.Errorf("leaderboard.md, The table of runs (-documented +written):\n%s", diff)
	}
}

// section returns the part of a page below a heading.
func section(t *testing.T, page, title string) string {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## "+title+"\n")
	part, _, _ = strings.Cut(part, "\n##")
	return part
}

// columns returns the names and kinds of a table's columns.
func columns(t *testing.T, of func() (*table.Table, error)) (list []string) {
	tab, err := of()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := export.Write(&out, tab, export.Arrow); err != nil {
		t.Fatal(err)
	}
	in, err := ipc.NewFileReader(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, f := range in.Schema().Fields() {
		kind := map[arrow.Type]string{arrow.STRING: "string", arrow.INT64: "int64", arrow.FLOAT64: "double", arrow.BOOL: "bool", arrow.TIMESTAMP: "timestamp"}[f.Type.ID()]
		list = append(list, f.Name+" "+kind)
	}
	return list
}

func TestFormats(t *testing.T) {
	tab, err := export.Runs(runs())
	if err != nil {
		t.Fatal(err)
	}
	starts := map[export.Format]string{export.CSV: "agent,", export.Parquet: "PAR1", export.Arrow: "ARROW1"}
	for _, f := range export.Formats() {
		var out bytes.Buffer
		if err := export.Write(&out, tab, f); err != nil || !strings.HasPrefix(out.String(), starts[f]) {
			t.Errorf("%s begins with %.6q (%v)", f, out.String(), err)
		}
	}
	if err := export.Write(&bytes.Buffer{}, tab, "xml"); err == nil {
		t.Error("there is no error for an unknown format")
	}
}
