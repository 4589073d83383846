package dialect_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// searching is a request that offers a search and a hosted container.
var searching = map[dialect.Tool]int64{dialect.WebSearchTool: 0, dialect.CodeTool: 0}

// TestToolCalls reads what responses say of calls of the provider's tools, in
// pieces of every size.
func TestToolCalls(t *testing.T) {
	data := func(events ...string) string {
		var b strings.Builder
		for _, e := range events {
			b.WriteString("data: " + e + "\n\n")
		}
		return b.String()
	}
	response := `{"output":[{"type":"web_search_call","status":"completed","action":{"type":"search","query":"a"}},` +
		`{"action":{"type":"open_page","url":"u"},"type":"web_search_call"},{"type":"web_search_call","action":{"type":"find_in_page"}},` +
		`{"type":"file_search_call","results":[{"type":"web_search_call"}]},{"type":"code_interpreter_call"},{"type":"shell_call","action":{"type":"exec"}},` +
		`{"type":"image_generation_call"},{"type":"message","content":[{"type":"output_text","text":"web_search_call"}]}],"usage":{"input_tokens":10,"output_tokens":5}`
	all := dialect.ToolCalls{WebSearch: 1, FileSearch: 1, Code: 2, Image: 1}
	message := `"type":"message","content":[{"type":"server_tool_use","name":"web_search"},{"type":"web_search_tool_result","content":[{"type":"web_search_result"}]},` +
		`{"type":"web_search_tool_result","content":{"type":"web_search_tool_result_error"}},{"type":"bash_code_execution_tool_result"},{"type":"text"}]`
	long := strings.Repeat("q", 3000)
	for _, c := range []struct {
		name, dialect string
		request       dialect.Request
		body          string
		want          dialect.ToolCalls
	}{
		{"responses", "openai", dialect.Request{Operation: dialect.Responses, Tools: searching}, response + "}", all},
		{"responses, the client's shell", "openai", dialect.Request{Operation: dialect.Responses}, response + "}", dialect.ToolCalls{WebSearch: 1, FileSearch: 1, Code: 1, Image: 1}},
		{"responses, several queries in a call", "openai", dialect.Request{Operation: dialect.Responses, Tools: searching}, response + `,"tool_usage":{"web_search":{"num_requests":4}}}`,
			dialect.ToolCalls{WebSearch: 4, FileSearch: 1, Code: 2, Image: 1}},
		{"responses, streamed", "openai", dialect.Request{Operation: dialect.Responses, Stream: true, Tools: searching}, data(
			`{"type":"response.output_item.added","item":{"type":"web_search_call"}}`,
			`{"type":"response.output_item.done","item":{"type":"web_search_call","action":{"type":"search"}}}`,
			`{"type":"response.output_item.done","item":{"type":"web_search_call","action":{"type":"open_page"}}}`,
			`{"type":"response.completed","response":`+response+`}}`), all},
		{"responses, streamed without output at the end", "openai", dialect.Request{Operation: dialect.Responses, Stream: true, Tools: searching}, data(
			`{"item":{"action":{"type":"search"},"type":"web_search_call"},"type":"response.output_item.done"}`,
			`{"type":"response.output_item.done","item":{"type":"web_search_call","action":{"type":"search"}}}`,
			`{"type":"response.output_item.done","item":{"type":"file_search_call"}}`,
			`{"type":"response.completed","response":{"output":[],"usage":{"input_tokens":10,"output_tokens":5}}}`), dialect.ToolCalls{WebSearch: 2, FileSearch: 1}},
		{"messages", "anthropic", dialect.Request{Operation: dialect.Messages}, `{` + message + `,"usage":{"input_tokens":10,"output_tokens":5,"server_tool_use":{"web_search_requests":1,"web_fetch_requests":2}}}`,
			dialect.ToolCalls{WebSearch: 1, WebFetch: 2, Code: 1}},
		{"messages without their number", "anthropic", dialect.Request{Operation: dialect.Messages}, `{` + message + `,"usage":{"input_tokens":10,"output_tokens":5}}`,
			dialect.ToolCalls{WebSearch: 2, Code: 1}},
		{"messages, streamed", "anthropic", dialect.Request{Operation: dialect.Messages, Stream: true}, data(
			`{"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1,"server_tool_use":{"web_search_requests":0}}}}`,
			`{"type":"content_block_start","content_block":{"type":"web_search_tool_result","content":[{"type":"web_search_result"}]}}`,
			`{"type":"content_block_start","content_block":{"type":"code_execution_tool_result"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5,"server_tool_use":{"web_search_requests":3}}}`,
			`{"type":"message_stop"}`), dialect.ToolCalls{WebSearch: 3, Code: 1}},
		{"chat that searches by itself", "openai", dialect.Request{Operation: dialect.ChatCompletions, Tools: map[dialect.Tool]int64{dialect.WebSearchTool: 1}},
			`{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`, dialect.ToolCalls{WebSearch: 1}},
		{"chat with the number of queries", "openai", dialect.Request{Operation: dialect.ChatCompletions, Stream: true, Tools: map[dialect.Tool]int64{dialect.WebSearchTool: 1}}, data(
			`{"choices":[{"finish_reason":"stop"}]}`, `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"num_search_queries":3}}`, `[DONE]`), dialect.ToolCalls{WebSearch: 3}},
		{"generate", "gemini", dialect.Request{Operation: dialect.GenerateContent}, `{"candidates":[{"groundingMetadata":{"webSearchQueries":["a","","a","b","` + long + `"],"imageSearchQueries":["c"]}}],` +
			`"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5}}`, dialect.ToolCalls{WebSearch: 4}},
		{"generate without queries", "gemini", dialect.Request{Operation: dialect.GenerateContent}, `{"candidates":[{"groundingMetadata":{"groundingChunks":[{"web":{"uri":"u"}},{"web":{"uri":"v"}},{"maps":{"uri":"u"}}]}}],` +
			`"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5}}`, dialect.ToolCalls{WebSearch: 1, Maps: 1}},
		{"generate, streamed", "gemini", dialect.Request{Operation: dialect.StreamGenerateContent, Stream: true}, data(
			`{"candidates":[{"groundingMetadata":{"webSearchQueries":["a"]}}],"usageMetadata":{"promptTokenCount":10}}`,
			`{"candidates":[{"groundingMetadata":{"webSearchQueries":["a","b"]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5}}`), dialect.ToolCalls{WebSearch: 2}},
	} {
		for size := 1; size <= len(c.body); size++ {
			m := dialect.Named(c.dialect).Usage(&c.request)
			for at := 0; at < len(c.body); at += size {
				_, _ = m.Write([]byte(c.body[at:min(at+size, len(c.body))]))
				if size%97 == 0 { // asking changes nothing
					_, _ = m.Usage()
				}
			}
			u, ok := m.Usage()
			if diff := cmp.Diff(dialect.Usage{Input: 10, Output: 5, ToolCalls: c.want}, u); diff != "" || !ok {
				t.Fatalf("%s in pieces of %d: %v\n%s", c.name, size, ok, diff)
			}
		}
	}
}

// TestToolBounds has requests that offer tools of the provider, and the most
// calls that they allow.
func TestToolBounds(t *testing.T) {
	grants := dialect.Grants{dialect.WebSearch: true, dialect.WebFetch: true, dialect.CodeInterpreter: true, dialect.FileSearch: true, dialect.ImageGeneration: true}
	for _, c := range []struct {
		dialect, path, body string
		want                map[dialect.Tool]int64
	}{
		{"openai", "/v1/responses", `{"model":"m","input":"x","tools":[{"type":"web_search"},{"type":"function","name":"f"}]}`, map[dialect.Tool]int64{"web_search": 0}},
		{"openai", "/v1/responses", `{"model":"m","input":"x","max_tool_calls":7,"tools":[{"type":"web_search_preview"},{"type":"file_search"}]}`, map[dialect.Tool]int64{"web_search": 7, "file_search": 7}},
		{"openai", "/v1/responses", `{"model":"m","input":"x","tools":[{"type":"shell"},{"type":"image_generation"}]}`, map[dialect.Tool]int64{"code_interpreter": 0, "image_generation": 0}},
		{"openai", "/v1/responses", `{"model":"m","input":"x","tools":[{"type":"shell","environment":{"type":"local"}}]}`, nil},
		{"openai", "/v1/responses", `{"model":"m-deep-research","input":"x"}`, map[dialect.Tool]int64{"web_search": 0}},
		{"openai", "/v1/chat/completions", `{"model":"m-search-preview","n":2,"messages":[{"role":"user","content":"x"}]}`, map[dialect.Tool]int64{"web_search": 2}},
		{"openai", "/v1/chat/completions", `{"model":"m","web_search_options":{},"messages":[{"role":"user","content":"x"}]}`, map[dialect.Tool]int64{"web_search": 1}},
		{"openai", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, nil},
		{"anthropic", "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}],"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":8},{"type":"web_fetch_20250910","name":"web_fetch"}]}`,
			map[dialect.Tool]int64{"web_search": 8, "web_fetch": 0}},
		{"anthropic", "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}],"tools":[{"type":"web_search_20250305","name":"a","max_uses":8},{"type":"web_search_20260209","name":"b","max_uses":1}]}`,
			map[dialect.Tool]int64{"web_search": 9}},
		{"anthropic", "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}],"tools":[{"type":"web_search_20250305","name":"a","max_uses":8},{"type":"web_search_20250305","name":"b"}]}`,
			map[dialect.Tool]int64{"web_search": 0}},
		{"gemini", "/v1beta/models/m:generateContent", `{"contents":[],"tools":[{"google_search":{}},{"googleMaps":{}},{"urlContext":{}}]}`, map[dialect.Tool]int64{"web_search": 0, "google_maps": 0}},
	} {
		r, err := dialect.Named(c.dialect).Read(dialect.Incoming{Method: http.MethodPost, Path: c.path, Query: url.Values{}, Header: http.Header{}, Body: []byte(c.body)}, grants)
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
		} else if diff := cmp.Diff(c.want, r.Tools); diff != "" {
			t.Errorf("%s:\n%s", c.body, diff)
		}
	}
	body := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}],"tools":[{"type":"web_search_20250305","name":"a","max_uses":"8"}]}`
	if _, err := dialect.Named("anthropic").Read(dialect.Incoming{Method: http.MethodPost, Path: "/v1/messages", Query: url.Values{}, Header: http.Header{}, Body: []byte(body)}, grants); err == nil {
		t.Error("max_uses that is a string passes")
	}
}
