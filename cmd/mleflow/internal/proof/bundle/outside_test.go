package bundle

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/competitions/conditions"
)

// TestOutside reads from the key of an attempt by which ways answers could have come
// into it.
func TestOutside(t *testing.T) {
	rec := &cache.Record{Kind: conditions.AttemptKind, Fields: []digest.Field{
		{Label: "agent.command", Value: `["sh","-c","echo answers"]`}, {Label: "agent.args", Value: `["1,0,1"]`}, {Label: "resume", Value: `["sh","again"]`},
		{Label: "agent.python", Value: "0123456789abcdef"}, {Label: "agent.env", Value: `{"A":"agent","B":"agent"}`}, {Label: "env", Value: `{"B":"of the step","HINT":"1,0,1"}`},
		{Label: "agent.secrets", Value: `{"TOKEN":"env:X"}`}, {Label: "length of agent.files", Value: "1"}, {Label: `agent.files["a.py"]`, Value: digest.Of(nil).String()},
		{Label: `agent.files["a.py"] executable`, Value: "true"},
		{Label: "length of agent.models", Value: "2"},
		{Label: "agent.models[0].name", Value: `"own"`}, {Label: "agent.models[0].base_url", Value: `"http://127.0.0.1:1/v1"`}, {Label: "agent.models[0].tools", Value: `["web_search"]`},
		{Label: "agent.models[1].name", Value: `"played"`}, {Label: "length of agent.models[1].replay", Value: "1"}, {Label: "agent.models[1].replay[0]", Value: digest.Of(nil).String()},
	}, Outputs: cache.Outputs{"stats": cache.Value{JSON: json.RawMessage(`{"models":{"played":{"requests":3,"replayed":3}}}`)}}}
	a := AttemptOf("step.agent-run.x", rec)
	want := []Channel{
		{Text: "started with: command (24 B), resume (8 B)"}, {Text: "Python packages: 0123456789ab"},
		{Text: "environment: A (5 B), B (11 B), HINT (5 B)"}, {Text: "secrets: TOKEN"}, {Text: "files of the agent: a.py"},
		{Text: "own model server: http://127.0.0.1:1/v1 (own)", Answers: true}, {Text: "tools of the provider (own): web_search"},
		{Text: "model played: replayed", Answers: true},
	}
	if diff := cmp.Diff(want, a.Outside()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a = AttemptOf("step.agent-run.x", &cache.Record{Kind: conditions.AttemptKind, Fields: []digest.Field{
		{Label: "agent.command", Value: `["mleflow","agent","dummy"]`}, {Label: "built-in agent version", Value: "1"}, {Label: "agent.python", Value: "null"},
	}})
	if got := a.Outside(); len(got) > 0 {
		t.Errorf("a built-in agent has %v", got)
	}
}
