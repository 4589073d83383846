package export

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// trajectories is the folder of the Python package's tests with the exchanges of three
// conversations, one in each dialect: exchanges.json as they are recorded, turns.jsonl as they
// are sent to the package, and trajectory.json as it exports them.
const trajectories = "../../../../../python/mleflow/tests/atif"

// recorded writes exchanges as a transcript.
func recorded(t *testing.T, write func(*transcript.Writer)) *transcript.Reader {
	t.Helper()
	dir := t.TempDir()
	w, err := transcript.Open(dir, 1<<30, nil)
	if err != nil {
		t.Fatal(err)
	}
	write(w)
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

// TestSendTurns holds what the Python package gets of an attempt against turns.jsonl.
func TestSendTurns(t *testing.T) {
	var all []struct {
		Event             transcript.Event
		Request, Response json.RawMessage
	}
	data, err := os.ReadFile(filepath.Join(trajectories, "exchanges.json"))
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := recorded(t, func(w *transcript.Writer) {
		for i, e := range all {
			x := w.Begin(e.Request)
			_, _ = x.Write(e.Response)
			e.Event.Time = time.Date(2026, 1, 2, 5, 4, i, 5e6, time.FixedZone("", 2*3600))
			x.End(e.Event)
		}
	})
	var got bytes.Buffer
	if conversation, err := sendTurns(&got, r); err != nil || !conversation {
		t.Fatalf("conversation %v, %v", conversation, err)
	}
	golden := filepath.Join(trajectories, "turns.jsonl")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Error(d)
	}
}

// TestNoTurns: a request without messages is no conversation.
func TestNoTurns(t *testing.T) {
	r := recorded(t, func(w *transcript.Writer) {
		w.Begin(nil).End(transcript.Event{Status: 200, Method: "GET", Path: "/v1/models", Operation: dialect.Models, Provider: "openai"})
	})
	var got bytes.Buffer
	if conversation, err := sendTurns(&got, r); err != nil || conversation {
		t.Errorf("conversation %v, %v", conversation, err)
	}
}
