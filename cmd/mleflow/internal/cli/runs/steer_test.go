package runs

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// TestShowAttempts has reasons and acts below a table that fits into 100 columns.
func TestShowAttempts(t *testing.T) {
	at := event.At{Time: time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)}
	const address = "step.agent-run.a"
	extend := step.Request{Act: step.Extend, Address: address, Author: "ada@lab", Reason: "close to a result"}
	list := []AttemptEntry{
		{Name: "aide/leaf-classification/0", Ended: "scored, stopped early", Seconds: 4000, Submission: step.SubmissionValid, Exact: new(0.25), Medal: "bronze", Node: "node-17",
			Steered: []event.Steered{{At: at, Request: extend, Effect: "its time limit is 26h now", From: "r1"}, {At: at, Request: step.Request{Act: step.Stop, Address: address, Author: "bob@lab"}, Refused: "its agent does not run"}}},
		{Name: "aide/leaf-classification/1", Ended: "interrupted", Reason: strings.Repeat("a long reason ", 12)},
	}
	var out bytes.Buffer
	showAttempts(&app.App{Terminal: &app.Terminal{Stdout: &out}}, list)
	table, below, _ := strings.Cut(out.String(), "\n\n")
	for line := range strings.Lines(table) {
		if len(line) > 100 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
	want := "aide/leaf-classification/1: " + strings.TrimSpace(strings.Repeat("a long reason ", 12)) + "\n" +
		"By hand: aide/leaf-classification/0: in run r1, 2026-11-30 09:00:00 UTC ada@lab: extend (close to a result): its time limit is 26h now\n" +
		"By hand: aide/leaf-classification/0: 2026-11-30 09:00:00 UTC bob@lab: stop, refused: its agent does not run\n"
	if below != want {
		t.Errorf("below the table is\n%s", below)
	}
}
