package view

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/hostiletest"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/message"
)

// shownTranscript writes exchanges and shows them.
func shownTranscript(t *testing.T, full bool, write func(*transcript.Writer)) string {
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
	defer r.Close()
	var out strings.Builder
	v := &Transcript{Out: &out, Full: full}
	for turn, err := range r.Turns() {
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Turn(turn); err != nil {
			t.Fatal(err)
		}
	}
	if err := v.End(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTranscript(t *testing.T) {
	data, err := os.ReadFile("../../../../python/mleflow/tests/atif/exchanges.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Event             transcript.Event
		Request, Response json.RawMessage
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	long := `{"model":"gpt-5.5","messages":[{"role":"user","content":` + string(mustJSON(strings.Repeat("a line of the task\n", 30))) + `}]}`
	golden(t, "transcript.txt", shownTranscript(t, false, func(w *transcript.Writer) {
		for i, e := range all {
			x := w.Begin(e.Request)
			_, _ = x.Write(e.Response)
			e.Event.Time = time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC)
			x.End(e.Event)
		}
		x := w.Begin([]byte(long))
		_, _ = x.Write([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("long ", 500) + "\"}}]}\n\n"))
		x.End(transcript.Event{Model: "main", Provider: "openai", Asked: "gpt-5.5", Status: 200, Stream: true, Failed: "the stream was cut", Charge: transcript.Charge{Cost: 12_345_678_901}, Seconds: 125,
			Waited: 60, Attempts: []transcript.Attempt{{Status: 429}}, Replay: transcript.Replay{Replayed: true, Normalised: true}, Diverged: "message 3 (tool) differs"})
	}))
	if full := shownTranscript(t, true, func(w *transcript.Writer) {
		w.Begin([]byte(long)).End(transcript.Event{Status: 200})
	}); strings.Count(full, "a line of the task") != 30 || strings.Contains(full, "--full") {
		t.Errorf("--full shows %s", full)
	}
	if got := shownTranscript(t, false, func(*transcript.Writer) {}); got != "No model was asked.\n" {
		t.Errorf("got %q", got)
	}
}

func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// TestHostileTranscript shows what agents, models and servers may write at every
// place of an exchange.
func TestHostileTranscript(t *testing.T) {
	for _, h := range hostiletest.Texts() {
		turn := &transcript.Turn{Event: &transcript.Event{
			Status: 500, Model: h.Text, Path: h.Text, Asked: h.Text, Failed: h.Text, Diverged: h.Text, Refused: dialect.Reason(h.Text), Ability: dialect.Ability(h.Text),
		}, Conversation: 1, Said: []message.Message{
			{Role: "user", Text: h.Text, Reasoning: h.Text},
			{Role: "tool", Results: []message.Result{{ID: h.Text, Name: h.Text, Text: h.Text}}},
		}, Reply: message.Message{Role: "assistant", Text: h.Text, Error: h.Text, Calls: []message.Call{{ID: h.Text, Name: h.Text, Arguments: h.Text}, {Name: "sh", Arguments: string(mustJSON(map[string]string{"command": h.Text}))}}}}
		for _, full := range []bool{false, true} {
			var out strings.Builder
			v := &Transcript{Out: &out, Full: full}
			if err := v.Turn(turn); err != nil {
				t.Fatal(err)
			}
			if err := hostiletest.Terminal(out.String()); err != nil {
				t.Errorf("%s: %v", h.Name, err)
			}
		}
	}
}

func TestDollars(t *testing.T) {
	for nano, want := range map[int64]string{0: "$0.00", 5: "$0.000000005", 1_250_000: "$0.00125", 500_000_000: "$0.50", 12_345_678_901: "$12.34"} {
		if got := Dollars(nano); got != want {
			t.Errorf("%d is %s, want %s", nano, got, want)
		}
	}
}
