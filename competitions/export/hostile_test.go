package export_test

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/hostiletest"
)

// hostileRun has a text wherever an agent or an author has a say.
func hostileRun(text string) *results.Attempt {
	return &results.Attempt{Agent: text, Seed: text, Report: grading.Report{CompetitionID: text, Detail: grading.Detail{CompetitionVersion: text}},
		Made: results.Made{Outcome: outcome.End(text), Usage: &results.Usage{Model: text}}}
}

func written(t *testing.T, f export.Format, runs ...*results.Attempt) string {
	t.Helper()
	tab, err := export.Runs(runs)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := export.Write(&out, tab, f); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestHostileCSV(t *testing.T) {
	for _, h := range hostiletest.Texts() {
		got := written(t, export.CSV, hostileRun(h.Text))
		if err := hostiletest.CSV(got); err != nil {
			t.Errorf("%s: %v", h.Name, err)
		}
		if err := hostiletest.Terminal(got); err != nil {
			t.Errorf("%s: %v", h.Name, err)
		}
		if rows, err := csv.NewReader(strings.NewReader(got)).ReadAll(); err != nil || len(rows) != 2 {
			t.Errorf("%s: %d rows, %v", h.Name, len(rows), err)
		}
	}
}

// TestCSVKeeps sees that numbers and the texts of the world stay as they are.
func TestCSVKeeps(t *testing.T) {
	for _, text := range append(hostiletest.Good(), "-1", "+0.5", "-1e-3", "a-b", "a = b", "x+y") {
		rows, err := csv.NewReader(strings.NewReader(written(t, export.CSV, hostileRun(text)))).ReadAll()
		if err != nil || rows[1][0] != text {
			t.Errorf("%q becomes %q (%v)", text, rows[1][0], err)
		}
	}
}

// TestColumnsKeepBytes sees that Parquet and Arrow, which nothing interprets,
// have what there was.
func TestColumnsKeepBytes(t *testing.T) {
	for _, h := range hostiletest.Texts() {
		for _, f := range []export.Format{export.Parquet, export.Arrow} {
			if got := written(t, f, hostileRun(h.Text)); !strings.Contains(got, h.Text) {
				t.Errorf("%s: %s lacks the text as it was", h.Name, f)
			}
		}
	}
}

func TestHostileMarkdown(t *testing.T) {
	for _, h := range hostiletest.Texts() {
		got := export.Markdown([]export.Row{{Agent: h.Text, Models: h.Text, Hours: h.Text, Date: h.Text, Under: conditions.Under{Isolation: h.Text, Task: h.Text}, Class: h.Text}}, []string{h.Text}, h.Text)
		lines := strings.Split(strings.TrimRight(got, "\n"), "\n")
		if len(lines) != 5 {
			t.Errorf("%s: %d lines:\n%s", h.Name, len(lines), got)
			continue
		}
		if err := hostiletest.Markdown(lines[2], 14); err != nil {
			t.Errorf("%s: %v", h.Name, err)
		}
		if err := hostiletest.Markdown(lines[4], 0); err != nil {
			t.Errorf("%s: %v", h.Name, err)
		}
		if !strings.Contains(lines[2], hostiletest.Mark) && strings.Contains(h.Text, hostiletest.Mark) {
			t.Errorf("%s is not shown: %s", h.Name, lines[2])
		}
	}
	for _, text := range hostiletest.Good() {
		if got := export.MarkdownText(text); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
