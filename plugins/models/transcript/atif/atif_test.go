package atif

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// sample is one of the recorded exchanges of testdata/exchanges.json.
type sample struct {
	Event    transcript.Event `json:"event"`
	Request  json.RawMessage  `json:"request"`
	Response json.RawMessage  `json:"response"`
}

// recorded writes the exchanges of a file as a transcript.
func recorded(t *testing.T, file string) *transcript.Reader {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []sample
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w, err := transcript.Open(dir, 1<<30, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range all {
		x := w.Begin(e.Request)
		_, _ = x.Write(e.Response)
		e.Event.Time = time.Date(2026, 1, 2, 3, 4, i, 5e6, time.UTC)
		x.End(e.Event)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := transcript.OpenReader(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// TestExport holds the export of three conversations, one in each dialect,
// against testdata/trajectory.json. Harbor's own models accepted that file; see
// testdata/validate.py.
func TestExport(t *testing.T) {
	got, err := Export(recorded(t, "testdata/exchanges.json"), Run{Session: "run/step.agent-run.solve", Agent: "codex", Version: "0.169.0", Extra: map[string]any{"competition": "demo-digits"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	check(t, got)
	golden := filepath.Join("testdata", "trajectory.json")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(text)+"\n" {
		t.Errorf("got\n%s", text)
	}
}

func TestNothingToExport(t *testing.T) {
	dir := t.TempDir()
	w, err := transcript.Open(dir, 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := w.Begin(nil)
	x.End(transcript.Event{Status: 200, Method: "GET", Path: "/v1/models", Operation: dialect.Models, Provider: "openai"})
	_ = w.Close()
	r, err := transcript.OpenReader(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Export(r, Run{}); err != ErrEmpty {
		t.Errorf("got %v", err)
	}
}

// check is what the format demands beyond the names and types of fields.
func check(t *testing.T, tr *Trajectory) {
	t.Helper()
	if tr.Agent.Name == "" || tr.Agent.Version == "" || len(tr.Steps) == 0 {
		t.Errorf("%s: the agent or the steps are missing", tr.TrajectoryID)
	}
	for i, s := range tr.Steps {
		agent := s.Source == "agent"
		switch {
		case s.ID != i+1:
			t.Errorf("step %d has the id %d", i+1, s.ID)
		case !agent && s.Source != "user" && s.Source != "system":
			t.Errorf("step %d is from %q", s.ID, s.Source)
		case !agent && (s.ModelName != "" || s.Reasoning != "" || s.ToolCalls != nil || s.Metrics != nil):
			t.Errorf("step %d has what only steps of the agent have", s.ID)
		}
		ids := map[string]bool{"": true}
		for _, c := range s.ToolCalls {
			var object map[string]any
			if ids[c.ID] || json.Unmarshal(c.Arguments, &object) != nil {
				t.Errorf("step %d: call %q with %s", s.ID, c.ID, c.Arguments)
			}
			ids[c.ID] = true
		}
		if s.Observation == nil {
			continue
		}
		for _, r := range s.Observation.Results {
			if !ids[r.CallID] {
				t.Errorf("step %d: a result of %q, which it did not call", s.ID, r.CallID)
			}
		}
	}
	seen := map[string]bool{"": true}
	for _, sub := range tr.Subagents {
		if seen[sub.TrajectoryID] {
			t.Errorf("trajectory id %q is not unique", sub.TrajectoryID)
		}
		seen[sub.TrajectoryID] = true
		check(t, sub)
	}
}
