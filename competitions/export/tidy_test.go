package export_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// records are one with everything, one with an infinite score and text that is
// hard to write, and one that nothing graded.
func records() []*results.Attempt {
	all := runs()
	full, strange := all[0], all[1]
	full.Graded, full.Standing, full.RunID, full.Address, full.TimeLimitSeconds = true, "recorded", "r", `step.agent-run.solve["a"]`, new(60.0)
	full.Snapshots = []results.Snapshot{
		{Seconds: 1, Outcome: "scored", Score: new(0.7), Medal: "none"}, {Seconds: 2, Outcome: "invalid", Medal: "none"},
		{Seconds: 3, Outcome: "scored", Score: new(0.9), Medal: "none"}, {Seconds: 4, Outcome: "scored", Score: new(0.5), Medal: "silver"},
	}
	strange.Graded = true
	strange.Report.ExactScore, strange.Agent = new(grading.Number(math.Inf(-1))), "=a\"\n\u202e</script>"
	return []*results.Attempt{full, strange, {Agent: "z", Report: grading.Report{CompetitionID: "apples"}}}
}

func attempts(t *testing.T) *table.Table {
	t.Helper()
	tab, err := export.Attempts(records())
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestPercentile(t *testing.T) {
	at := func(rank, teams int) grading.Report {
		return grading.Report{Score: of(grading.Number(1)), Detail: grading.Detail{Rank: &rank, Teams: teams}}
	}
	for _, c := range []struct {
		r    grading.Report
		want *float64
	}{{at(1, 40), new(100.0)}, {at(20, 40), new(52.5)}, {at(40, 40), new(2.5)}, {at(41, 40), new(0.0)}, {at(1, 0), nil}, {grading.Report{}, nil}} {
		if diff := cmp.Diff(c.want, results.Percentile(c.r)); diff != "" {
			t.Error(diff)
		}
	}
}

// Best so far follows the direction of the metric, here lower.
func TestSnapshots(t *testing.T) {
	tab, err := export.Snapshots(records())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := export.Write(&out, tab, export.CSV); err != nil {
		t.Fatal(err)
	}
	want := `run,address,agent,seed,competition,competition_version,seconds,outcome,score,best_score,is_lower_better,medal
r,"step.agent-run.solve[""a""]",x,0,apples,v1,1,scored,0.7,0.7,True,
r,"step.agent-run.solve[""a""]",x,0,apples,v1,2,invalid,,0.7,True,
r,"step.agent-run.solve[""a""]",x,0,apples,v1,3,scored,0.9,0.7,True,
r,"step.agent-run.solve[""a""]",x,0,apples,v1,4,scored,0.5,0.5,True,silver
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Early stopping adds columns: what lay there then, the final report where the
// attempt had ended, and nothing where that is not known.
func TestStoppedColumns(t *testing.T) {
	list := records()
	list[0].Made.WallSeconds = new(5400.0)
	list[0].Snapshots = append(list[0].Snapshots, results.Snapshot{Seconds: 3601, Outcome: "scored", Score: new(0.1), Medal: "gold"})
	tab, err := export.Attempts(list, 500*time.Millisecond, 2*time.Second, time.Hour, 90*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var rows []map[string]any
	if err := export.Write(&out, tab, export.JSON); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), &rows); err != nil {
		t.Fatal(err)
	}
	for suffix, want := range map[string][]any{"0.5s": {"missing", nil, nil}, "2s": {"invalid", nil, nil}, "1h": {"scored", 0.5, "silver"}, "90m": {rows[0]["outcome"], rows[0]["exact_score"], rows[0]["medal"]}} {
		if diff := cmp.Diff(want, []any{rows[0]["outcome_at_"+suffix], rows[0]["score_at_"+suffix], rows[0]["medal_at_"+suffix]}); diff != "" {
			t.Errorf("after %s: %s", suffix, diff)
		}
		for i := 1; i < 3; i++ {
			if got, has := rows[i]["outcome_at_"+suffix]; got != nil || !has {
				t.Errorf("row %d, which has no snapshots, has %v after %s", i, got, suffix)
			}
		}
	}
}

func TestJSON(t *testing.T) {
	tab := attempts(t)
	var out bytes.Buffer
	if err := export.Write(&out, tab, export.JSON); err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	for i, row := range list {
		if len(row) != len(tab.Columns()) {
			t.Errorf("row %d has %d columns", i, len(row))
		}
	}
	for _, c := range []struct {
		row    int
		column string
		want   any
	}{
		{0, "agent", "x"}, {0, "score", 0.5}, {0, "snapshots", 4.0}, {0, "untrusted", true}, {0, "silver_medal", true}, {0, "percentile", 94.0}, {0, "image", nil},
		{0, "gold_threshold", 0.25}, {1, "score", "inf"}, {1, "exact_score", "-inf"}, {1, "agent", "=a\"\n\u202e</script>"}, {2, "graded", false}, {2, "gold_threshold", nil}, {2, "score", nil},
	} {
		if got := list[c.row][c.column]; got != c.want {
			t.Errorf("row %d: %s is %v, want %v", c.row, c.column, got, c.want)
		}
	}
	if strings.Contains(out.String(), "</script>") {
		t.Error("JSON holds an end tag as it is")
	}
	var empty bytes.Buffer
	none, _ := export.Attempts(nil)
	if err := export.Write(&empty, none, export.JSON); err != nil || json.Unmarshal(empty.Bytes(), &list) != nil || len(list) != 0 {
		t.Errorf("no rows give %q (%v)", empty.String(), err)
	}
}

// What is written as Parquet is read again by arrow's own reader, cell by cell.
// Seeds that are not all integers stay texts; times are no data of competitions.
func TestParquetIsReadAgain(t *testing.T) {
	list := records()
	list[0].Seed, list[1].Seed = "0", "first"
	tab, err := export.Attempts(list)
	if err != nil {
		t.Fatal(err)
	}
	if tab, err = table.New(slices.DeleteFunc(slices.Clone(tab.Columns()), func(c *table.Column) bool { return c.Name() == "started" })...); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := export.Write(&out, tab, export.Parquet); err != nil {
		t.Fatal(err)
	}
	file, err := table.OpenParquet(t.Context(), bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var read *table.Table
	if err := file.Scan(t.Context(), file.Names(), func(part *table.Table) error { read = part; return nil }); err != nil {
		t.Fatal(err)
	}
	var want, got bytes.Buffer
	for to, from := range map[*bytes.Buffer]*table.Table{&want: tab, &got: read} {
		if err := export.Write(to, from, export.JSON); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}
