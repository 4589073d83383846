package dialect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// parts are the canonical forms of a body, a line each.
func parts(t *testing.T, name string, operation dialect.Operation, body string) string {
	t.Helper()
	c, err := dialect.Named(name).Canonical(string(operation), []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{string(c.Fixed)}
	for _, p := range c.Parts {
		lines = append(lines, p.Role+" "+string(p.Text))
	}
	return strings.Join(lines, "\n")
}

// TestCanonicalForms has two runs of one agent for each dialect, which differ in
// identifiers, caches and the order of names, and a third request that asks for
// something else.
func TestCanonicalForms(t *testing.T) {
	for _, c := range []struct {
		dialect         string
		operation       dialect.Operation
		one, two, other string
		want            string
	}{
		{
			"openai", dialect.ChatCompletions,
			`{"model":"m","user":"u1","stream":true,"messages":[{"role":"developer","content":"Be brief."},{"role":"assistant","content":null,"tool_calls":[{"id":"call_a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_a","content":"real 0m0.123s"}]}`,
			`{"messages":[{"content":"Be brief.","role":"developer"},{"role":"assistant","tool_calls":[{"type":"function","id":"call_b","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_b","content":"real 0m0.123s"}],"user":"u2","model":"m","stream":true,"stream_options":{"include_usage":true}}`,
			`{"model":"m","stream":true,"messages":[{"role":"developer","content":"Be brief."},{"role":"assistant","content":null,"tool_calls":[{"id":"call_a","type":"function","function":{"name":"g","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_a","content":"real 0m0.123s"}]}`,
			`{"model":"m","stream":true}
system {"content":"Be brief.","role":"developer"}
assistant {"role":"assistant","tool_calls":[{"function":{"arguments":"{}","name":"f"},"id":"id-1","type":"function"}]}
tool {"content":"real 0m0.123s","role":"tool","tool_call_id":"id-1"}`,
		},
		{
			"openai", dialect.Responses,
			`{"model":"m","instructions":"Today is 2026-01-02.","prompt_cache_key":"a","input":[{"role":"user","content":"Hi","internal_chat_message_metadata_passthrough":{"turn_id":"t1","create_time":1795892782.9}},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"},{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"3 files"}]}`,
			`{"model":"m","instructions":"Today is 2026-01-02.","prompt_cache_key":"b","input":[{"role":"user","content":"Hi"},{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"y"},{"type":"function_call","id":"fc_2","call_id":"c2","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c2","output":"3 files"}]}`,
			`{"model":"m","instructions":"Today is 2026-01-02.","input":[{"role":"user","content":"Ho"}]}`,
			`{"model":"m"}
system "Today is 2026-01-02."
user {"content":"Hi","role":"user"}
assistant {"summary":[],"type":"reasoning"}
assistant {"arguments":"{}","call_id":"id-1","name":"f","type":"function_call"}
tool {"call_id":"id-1","output":"3 files","type":"function_call_output"}`,
		},
		{
			"anthropic", dialect.Messages,
			`{"model":"m","max_tokens":9,"metadata":{"user_id":"a"},"system":[{"type":"text","text":"x cch=12ab;"}],"messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"s1"},{"type":"tool_use","id":"toolu_1","name":"f","input":{"id":"7","cache_control":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"done"}]}]}`,
			`{"model":"m","max_tokens":9,"metadata":{"user_id":"b"},"system":[{"type":"text","text":"x cch=34cd;"}],"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"s2"},{"type":"tool_use","id":"toolu_2","name":"f","input":{"id":"7","cache_control":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":"done","cache_control":{"type":"ephemeral"}}]}]}`,
			`{"model":"m","max_tokens":9,"system":[{"type":"text","text":"x cch=12ab;"}],"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{"id":"8"}}]}]}`,
			`{"max_tokens":9,"model":"m"}
system [{"text":"x cch=…;","type":"text"}]
user {"content":[{"text":"Hi","type":"text"}],"role":"user"}
assistant {"content":[{"thinking":"Hm","type":"thinking"},{"id":"id-1","input":{"cache_control":1,"id":"7"},"name":"f","type":"tool_use"}],"role":"assistant"}
tool {"content":[{"content":"done","tool_use_id":"id-1","type":"tool_result"}],"role":"user"}`,
		},
		{
			"gemini", dialect.GenerateContent,
			`{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"functionCall":{"id":"f-123","name":"f","args":{"snake_case":1}},"thoughtSignature":"a"}]},{"role":"user","parts":[{"functionResponse":{"id":"f-123","name":"f","response":{"output":"done"}}}]}]}`,
			`{"system_instruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"function_call":{"id":"f-456","name":"f","args":{"snake_case":1}},"thought_signature":"b"}]},{"role":"user","parts":[{"functionResponse":{"id":"f-456","name":"f","response":{"output":"done"}}}]}]}`,
			`{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"Hi"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{"snakeCase":1}}}]}]}`,
			`{}
system {"parts":[{"text":"Be brief."}]}
user {"parts":[{"text":"Hi"}],"role":"user"}
assistant {"parts":[{"functionCall":{"args":{"snake_case":1},"id":"id-1","name":"f"}}],"role":"model"}
tool {"parts":[{"functionResponse":{"id":"id-1","name":"f","response":{"output":"done"}}}],"role":"user"}`,
		},
	} {
		one, two := parts(t, c.dialect, c.operation, c.one), parts(t, c.dialect, c.operation, c.two)
		if diff := cmp.Diff(c.want, one); diff != "" {
			t.Errorf("%s:\n%s", c.operation, diff)
		}
		if diff := cmp.Diff(one, two); diff != "" {
			t.Errorf("%s: two runs differ:\n%s", c.operation, diff)
		}
		if parts(t, c.dialect, c.operation, c.other) == one {
			t.Errorf("%s: another request has the same form", c.operation)
		}
	}
}
