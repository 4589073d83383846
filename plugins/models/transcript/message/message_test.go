package message

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

func TestRequest(t *testing.T) {
	for _, tt := range []struct {
		name, provider, body string
		want                 []Message
		tools                []Tool
	}{
		{"chat", "openai", `{"model":"m","messages":[
			{"role":"developer","content":"be brief"},
			{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:"}}]},
			{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"p\":1}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"a.csv"}],
			"tools":[{"type":"function","function":{"name":"ls","description":"lists","parameters":{"type":"object"}}}]}`,
			[]Message{
				{Role: "system", Text: "be brief"}, {Role: "user", Text: "look\n[image_url]"},
				{Role: "assistant", Calls: []Call{{"c1", "ls", `{"p":1}`}}},
				{Role: "tool", Results: []Result{{ID: "c1", Text: "a.csv"}}},
			}, []Tool{{"ls", "lists", `{"type":"object"}`}}},
		{"responses", "openai", `{"model":"m","instructions":"be brief","input":[
			{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},
			{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]},
			{"type":"function_call","call_id":"c1","name":"sh","arguments":"{}"},
			{"type":"custom_tool_call","call_id":"c2","name":"patch","input":"*** x"},
			{"type":"local_shell_call","call_id":"c3","action":{"command":["ls"]}},
			{"type":"function_call_output","call_id":"c1","output":"ok"},
			{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"done"}]}],
			"tools":[{"type":"function","name":"sh","parameters":{}},{"type":"local_shell"}]}`,
			[]Message{
				{Role: "system", Text: "be brief"}, {Role: "user", Text: "go"},
				{Role: "assistant", Reasoning: "hm", Calls: []Call{{"c1", "sh", "{}"}, {"c2", "patch", "*** x"}, {"c3", "local_shell", `{"command":["ls"]}`}}},
				{Role: "tool", Results: []Result{{ID: "c1", Text: "ok"}}}, {Role: "tool", Results: []Result{{ID: "c2", Text: "done"}}},
			}, []Tool{{"sh", "", "{}"}, {"local_shell", "", ""}}},
		{"embeddings", "openai", `{"model":"e","input":["a","b"]}`, []Message{{Role: "user", Text: "a"}, {Role: "user", Text: "b"}}, nil},
		{"anthropic", "anthropic", `{"model":"m","system":[{"type":"text","text":"be brief","cache_control":{}}],"messages":[
			{"role":"user","content":"go"},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"I list."},{"type":"tool_use","id":"t1","name":"ls","input":{"p": 1}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"no"}]},{"type":"text","text":"hurry"}]}],
			"tools":[{"name":"ls","input_schema":{"type":"object"}}]}`,
			[]Message{
				{Role: "system", Text: "be brief"}, {Role: "user", Text: "go"},
				{Role: "assistant", Text: "I list.", Reasoning: "hm", Calls: []Call{{"t1", "ls", `{"p":1}`}}},
				{Role: "tool", Results: []Result{{ID: "t1", Text: "no", Failed: true}}}, {Role: "user", Text: "hurry"},
			}, []Tool{{"ls", "", `{"type":"object"}`}}},
		{"gemini", "gemini", `{"systemInstruction":{"parts":[{"text":"be brief"}]},"contents":[
			{"role":"user","parts":[{"text":"go"},{"inlineData":{"mimeType":"image/png","data":"AA=="}}]},
			{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"name":"ls","args":{"p":1}}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{"output":"a.csv"}}}]}],
			"tools":[{"functionDeclarations":[{"name":"ls","parametersJsonSchema":{}}]}]}`,
			[]Message{
				{Role: "system", Text: "be brief"}, {Role: "user", Text: "go\n[image/png]"},
				{Role: "assistant", Reasoning: "hm", Calls: []Call{{"", "ls", `{"p":1}`}}},
				{Role: "tool", Results: []Result{{Name: "ls", Text: "a.csv"}}},
			}, []Tool{{"ls", "", "{}"}}},
		{"damaged", "openai", `{"messages":[1,"x",{"role":7,"content":{}},`, []Message{}, nil},
		{"odd", "anthropic", `{"system":7,"messages":[null,{"role":"user","content":[null,{"type":"new"}]}]}`,
			[]Message{{Role: "user"}, {Role: "user", Text: "[]\n[new]"}}, nil},
	} {
		got, tools := Request(tt.provider, "", []byte(tt.body))
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
		if d := cmp.Diff(tt.tools, tools); d != "" {
			t.Errorf("%s: tools: %s", tt.name, d)
		}
	}
}

// events is a stream of server-sent events with these data.
func events(data ...string) string {
	return "event: x\r\ndata: " + strings.Join(data, "\r\n\r\nevent: x\r\n: comment\r\ndata: ") + "\r\n\r\n"
}

func TestResponse(t *testing.T) {
	untested := map[string]bool{}
	for _, d := range dialect.All() {
		untested[d.Name()] = true
	}
	call := []Call{{"c1", "ls", `{"p":1}`}}
	for _, tt := range []struct {
		name, provider, body string
		want                 Message
	}{
		{"chat", "openai", `{"choices":[{"index":0,"message":{"role":"assistant","content":"hi","reasoning_content":"hm","tool_calls":[{"id":"c1","function":{"name":"ls","arguments":"{\"p\":1}"}}]}}]}`,
			Message{Text: "hi", Reasoning: "hm", Calls: call}},
		{"chat stream", "openai", events(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`, `{"choices":[{"index":0,"delta":{"content":"h"}}]}`, `{"choices":[{"index":1,"delta":{"content":"other"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"i\n"}}]}`, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"ls","arguments":""}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"p\":"}}]}}]}`, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}`,
			`{"choices":[],"usage":{}}`, `[DONE]`),
			Message{Text: "hi\n", Calls: call}},
		{"completion", "openai", `{"choices":[{"text":"hi"}]}`, Message{Text: "hi"}},
		{"responses", "openai", `{"object":"response","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]},{"type":"function_call","call_id":"c1","name":"ls","arguments":"{\"p\":1}"}]}`,
			Message{Text: "hi", Calls: call}},
		{"responses stream", "openai", events(`{"type":"response.created","response":{"output":[]}}`, `{"type":"response.output_text.delta","delta":"h"}`,
			`{"type":"response.output_item.done","item":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}}`, `{"type":"response.completed","response":{"output":[]}}`),
			Message{Text: "hi"}},
		{"responses cut", "openai", "data: {\"type\":\"response.output_text.delta\",\"delta\":\"h\"}\n\ndata: {\"type\":\"response.output_te", Message{Text: "h"}},
		{"responses failed", "openai", events(`{"type":"response.failed","response":{"error":{"code":"server_error","message":"sorry"}}}`), Message{Error: "sorry"}},
		{"error", "openai", `{"error":{"type":"rate_limit","message":"slow down"}}`, Message{Error: "rate_limit: slow down"}},
		{"anthropic", "anthropic", `{"type":"message","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"hi"},{"type":"tool_use","id":"c1","name":"ls","input":{"p":1}}]}`,
			Message{Text: "hi", Reasoning: "hm", Calls: call}},
		{"anthropic stream", "anthropic", events(`{"type":"message_start","message":{}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"h"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"i"}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c1","name":"ls","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"p\":"}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
			`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`),
			Message{Text: "hi", Calls: call, Error: "overloaded_error: busy"}},
		{"gemini", "gemini", `{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"},{"functionCall":{"id":"c1","name":"ls","args":{"p":1}}}]}}]}`, Message{Text: "hi", Calls: call}},
		{"gemini stream", "gemini", events(`{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"h"}]}}]}`, `{"candidates":[{"content":{"parts":[{"text":"i"}]}}]}`), Message{Text: "hi", Reasoning: "hm"}},
		{"gemini array", "gemini", `[{"candidates":[{"content":{"parts":[{"text":"h"}]}}]},{"candidates":[{"content":{"parts":[{"text":"i"}]}}]}]`, Message{Text: "hi"}},
		{"gemini error", "gemini", `{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}`, Message{Error: "RESOURCE_EXHAUSTED: quota"}},
		{"page", "openai", "<html>bad gateway</html>", Message{}},
		{"bytes", "openai", "{\"choices\":[{\"text\":\"\xff\"}]}", Message{Text: "\ufffd"}},
	} {
		tt.want.Role = "assistant"
		delete(untested, tt.provider)
		if d := cmp.Diff(tt.want, Response(tt.provider, "", []byte(tt.body))); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
	for name := range untested {
		t.Errorf("no response of the dialect %s is tested; read its messages, or those of a chat are taken for them", name)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":[{"type":"text"}]}],"choices":[{"delta":{"tool_calls":[{"index":9}]}}]}`))
	f.Add([]byte(events(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use"}}`, `{"type":"content_block_delta","index":0,"delta":{"partial_json":"{"}}`)))
	f.Add([]byte(`{"contents":[{"parts":[{"functionResponse":{}}]}],"candidates":[{"content":{"parts":[{}]}}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, d := range dialect.All() {
			said, _ := Request(d.Name(), "", raw)
			for _, m := range append(said, Response(d.Name(), "", raw)) {
				if !strings.Contains("system user assistant tool", m.Role) || strings.ToValidUTF8(m.Text+m.Reasoning+m.Error, "") != m.Text+m.Reasoning+m.Error {
					t.Fatalf("got %+v", m)
				}
			}
		}
	})
}

// Request reads one request.
func Request(provider string, op dialect.Operation, raw []byte) ([]Message, []Tool) {
	all := []Message{}
	said, tools := NewReader().Request(provider, op, raw)
	for _, s := range said {
		all = append(all, s.Message)
	}
	return all, tools
}
