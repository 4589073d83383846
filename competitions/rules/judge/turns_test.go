package judge

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// TestConversations: what a model wrote, what it called and what its tools returned
// is shown and can be quoted; the prompts of the agent's program are not.
func TestConversations(t *testing.T) {
	dir := t.TempDir()
	w, err := transcript.Open(dir, 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	const first = `{"role":"user","content":"Solve the competition."}`
	reply := func(text, command string) string {
		return fmt.Sprintf(`{"role":"assistant","content":%q,"tool_calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":%q}}]}`, text, command)
	}
	for _, c := range []struct{ request, response string }{
		{first, reply("I write the labels down.", `{"command":"vi submission.csv"}`)},
		{first + "," + reply("I write the labels down.", `{"command":"vi submission.csv"}`) + `,{"role":"tool","tool_call_id":"c","content":"no such program"}`, reply("Then with cat.", `{"command":"cat"}`)},
	} {
		x := w.Begin([]byte(`{"model":"m-1","messages":[` + c.request + `]}`))
		_, _ = x.Write([]byte(`{"choices":[{"message":` + c.response + `}]}`))
		x.End(transcript.Event{Provider: "openai", Method: "POST", Path: "/v1/chat/completions", Operation: "chat", Status: 200})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := transcript.OpenReader(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m, err := Gather(context.Background(), Attempt{Code: tree(map[string]string{"a.py": "x = 1\n"}), Transcript: r}, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range m.parts {
		got = append(got, p.name+": "+p.shown)
	}
	want := []string{
		"code/a.py: x = 1\n",
		"transcript/1: [model] I write the labels down.\n[model calls bash] {\"command\":\"vi submission.csv\"}",
		"transcript/2: [tool returned] no such program\n[model] Then with cat.\n[model calls bash] {\"command\":\"cat\"}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if q := m.find("transcript/2", "I write the labels down."); !q.Found || q.Path != "transcript/1" {
		t.Errorf("%+v", q)
	}
	if q := m.find("transcript/1", "Solve the competition."); q.Found || strings.Contains(q.Path, "2") {
		t.Errorf("%+v", q)
	}
}
