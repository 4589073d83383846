package dialect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// The responses that the meters are tested with, in the providers' forms.
const (
	chatStream = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":null}],\"usage\":null}\n\n" +
		"data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":null}\n\n" +
		"data: {\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5,\"total_tokens\":15,\"prompt_tokens_details\":{\"cached_tokens\":4},\"completion_tokens_details\":{\"reasoning_tokens\":2}}}\n\n" +
		"data: [DONE]\n\n"
	responsesStream = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"usage\":null}}\n\n" +
		"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":10,\"input_tokens_details\":{\"cached_tokens\":4},\"output_tokens\":5,\"output_tokens_details\":{\"reasoning_tokens\":2},\"total_tokens\":15}}}\n\n"
	messagesStream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3,\"cache_read_input_tokens\":4,\"cache_creation_input_tokens\":3,\"cache_creation\":{\"ephemeral_5m_input_tokens\":1,\"ephemeral_1h_input_tokens\":2},\"output_tokens\":1}}}\n\n" +
		"event: ping\ndata: {\"type\": \"ping\"}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	generateStream = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"H\"}]}}],\"usageMetadata\":{\"promptTokenCount\":10,\"candidatesTokenCount\":1}}\r\n\r\n" +
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"i\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":10,\"cachedContentTokenCount\":4,\"candidatesTokenCount\":3,\"thoughtsTokenCount\":2,\"totalTokenCount\":15}}\r\n\r\n"
)

var metered = []struct {
	name, dialect string
	request       dialect.Request
	body          string
	want          dialect.Usage
}{
	{"chat", "openai", dialect.Request{Operation: dialect.ChatCompletions, Stream: true}, chatStream, dialect.Usage{Input: 10, CacheRead: 4, Output: 5, Reasoning: 2}},
	{"chat, whole", "openai", dialect.Request{Operation: dialect.ChatCompletions}, `{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":20}}`, dialect.Usage{Input: 10, Output: 10}},
	{"embeddings", "openai", dialect.Request{Operation: dialect.Embeddings}, `{"data":[{"embedding":[1,2]}],"usage":{"prompt_tokens":10,"total_tokens":10}}`, dialect.Usage{Input: 10}},
	{"responses", "openai", dialect.Request{Operation: dialect.Responses, Stream: true}, responsesStream, dialect.Usage{Input: 10, CacheRead: 4, Output: 5, Reasoning: 2}},
	{"responses, whole", "openai", dialect.Request{Operation: dialect.Responses}, `{"object":"response","error":null,"usage":{"input_tokens":10,"output_tokens":5}}`, dialect.Usage{Input: 10, Output: 5}},
	{"messages", "anthropic", dialect.Request{Operation: dialect.Messages, Stream: true}, messagesStream, dialect.Usage{Input: 10, CacheRead: 4, CacheWrite: 3, CacheWriteHour: 2, Output: 5}},
	{"messages, whole", "anthropic", dialect.Request{Operation: dialect.Messages}, `{"type":"message","usage":{"input_tokens":6,"cache_read_input_tokens":4,"output_tokens":5}}`, dialect.Usage{Input: 10, CacheRead: 4, Output: 5}},
	{"generate", "gemini", dialect.Request{Operation: dialect.StreamGenerateContent, Stream: true}, generateStream, dialect.Usage{Input: 10, CacheRead: 4, Output: 5, Reasoning: 2}},
	{"generate, in an array", "gemini", dialect.Request{Operation: dialect.StreamGenerateContent, Stream: true},
		`[{"usageMetadata":{"promptTokenCount":10}},` + "\n" + `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5}}]`, dialect.Usage{Input: 10, Output: 5}},
	{"chat of Moonshot", "openai", dialect.Request{Operation: dialect.ChatCompletions}, `{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"cached_tokens":4}}`, dialect.Usage{Input: 10, CacheRead: 4, Output: 5}},
	{"stream of Moonshot", "openai", dialect.Request{Operation: dialect.ChatCompletions, Stream: true},
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\",\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5,\"cached_tokens\":4}}]}\n\ndata: [DONE]\n\n", dialect.Usage{Input: 10, CacheRead: 4, Output: 5}},
	{"stream of Groq", "openai", dialect.Request{Operation: dialect.ChatCompletions, Stream: true},
		"data: {\"service_tier\":\"on_demand\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"x_groq\":{\"id\":\"r\",\"usage\":{\"queue_time\":0.1,\"prompt_tokens\":10,\"completion_tokens\":5,\"total_tokens\":15}}}\n\ndata: [DONE]\n\n", dialect.Usage{Input: 10, Output: 5}},
	{"responses at another service tier", "openai", dialect.Request{Operation: dialect.Responses, Stream: true},
		"data: {\"type\":\"response.completed\",\"response\":{\"service_tier\":\"priority\",\"usage\":{\"input_tokens\":10,\"output_tokens\":5}}}\n\n", dialect.Usage{Input: 10, Output: 5, Tier: "priority"}},
	{"generate, whole", "gemini", dialect.Request{Operation: dialect.GenerateContent}, `{"candidates":[],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5}}`, dialect.Usage{Input: 10, Output: 5}},
}

// TestMeters reads each response in pieces of every size and with each kind of
// line end, and says of every beginning of it that the usage is not final before
// the event with it.
func TestMeters(t *testing.T) {
	for _, c := range metered {
		d := dialect.Named(c.dialect)
		for _, ends := range []string{"\n", "\r", "\r\n"} {
			body := strings.ReplaceAll(strings.ReplaceAll(c.body, "\r\n", "\n"), "\n", ends)
			for size := 1; size <= len(body); size++ {
				m := d.Usage(&c.request)
				for at := 0; at < len(body); at += size {
					_, _ = m.Write([]byte(body[at:min(at+size, len(body))]))
				}
				u, ok := m.Usage()
				if diff := cmp.Diff(c.want, u); diff != "" || !ok || !m.Done() || m.Failed() != "" {
					t.Fatalf("%s in pieces of %d, %q: %v, %v, %q\n%s", c.name, size, ends, ok, m.Done(), m.Failed(), diff)
				}
			}
			m := d.Usage(&c.request)
			for at := range len(body) {
				_, _ = m.Write([]byte{body[at]})
				if u, ok := m.Usage(); ok && u != c.want {
					t.Fatalf("%s: after %q the usage is %+v", c.name, body[:at+1], u)
				}
			}
		}
	}
}

func TestErrorsWithinStreams(t *testing.T) {
	for _, c := range []struct {
		dialect   string
		operation dialect.Operation
		body      string
	}{
		{"openai", dialect.ChatCompletions, "data: {\"error\":{\"message\":\"Overloaded\",\"type\":\"server_error\"}}\n\n"},
		{"openai", dialect.Responses, "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"Overloaded\"}\n\n"},
		{"openai", dialect.Responses, "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"x\",\"message\":\"Overloaded\"},\"usage\":null}}\n\n"},
		{"anthropic", dialect.Messages, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"},
		{"gemini", dialect.StreamGenerateContent, "data: {\"error\":{\"code\":503,\"message\":\"Overloaded\",\"status\":\"UNAVAILABLE\"}}\n\n"},
		{"gemini", dialect.StreamGenerateContent, `[{"error":{"code":503,"message":"Overloaded","status":"UNAVAILABLE"}}]`},
	} {
		m := dialect.Named(c.dialect).Usage(&dialect.Request{Operation: c.operation, Stream: true})
		_, _ = m.Write([]byte(c.body))
		if _, ok := m.Usage(); ok || m.Failed() != "Overloaded" {
			t.Errorf("%s: %v, %q", c.body, ok, m.Failed())
		}
	}
}

// TestLongNames has names and values that are longer than the meter keeps, in
// one piece and in several.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("n", 5000)
	body := `{"` + long + `":"` + long + `","usage":{"` + long + `":1,"prompt_tokens":10,"completion_tokens":5},"n":` + strings.Repeat("1", 5000) + `}`
	for _, size := range []int{len(body), 1500, 7} {
		m := dialect.Named("openai").Usage(&dialect.Request{Operation: dialect.ChatCompletions})
		for at := 0; at < len(body); at += size {
			_, _ = m.Write([]byte(body[at:min(at+size, len(body))]))
		}
		if u, ok := m.Usage(); !ok || u.Input != 10 || u.Output != 5 || !m.Done() {
			t.Errorf("in pieces of %d: %+v, %v", size, u, ok)
		}
	}
}

// TestUsageOnlyGrows: a count that a response takes back, or reports as 0 after
// the real one, is charged as it was.
func TestUsageOnlyGrows(t *testing.T) {
	data := func(events ...string) string { return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n" }
	chat := dialect.Request{Operation: dialect.ChatCompletions, Stream: true}
	messages, whole := dialect.Request{Operation: dialect.Messages, Stream: true}, dialect.Request{Operation: dialect.Messages}
	generate := dialect.Request{Operation: dialect.StreamGenerateContent, Stream: true}
	const (
		stop   = `{"choices":[{"finish_reason":"stop"}]}`
		real   = `{"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":50,"total_tokens":1050,"prompt_tokens_details":{"cached_tokens":990},"completion_tokens_details":{"reasoning_tokens":7}}}`
		none   = `{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}`
		begins = `{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":990,"cache_creation_input_tokens":5,"output_tokens":1}}}`
	)
	for _, c := range []struct {
		name, dialect string
		request       dialect.Request
		body          string
		want          dialect.Usage
	}{
		{"chat, zero after it", "openai", chat, data(stop, real, none, "[DONE]"), dialect.Usage{Input: 1000, CacheRead: 990, Output: 50, Reasoning: 7}},
		{"chat, zero after the end", "openai", chat, data(stop, real, "[DONE]", none), dialect.Usage{Input: 1000, CacheRead: 990, Output: 50, Reasoning: 7}},
		{"chat, less after it", "openai", chat, data(stop, real, `{"usage":{"prompt_tokens":3,"completion_tokens":60}}`, "[DONE]"), dialect.Usage{Input: 1000, CacheRead: 990, Output: 60, Reasoning: 7}},
		{"chat, twice in one", "openai", dialect.Request{Operation: dialect.ChatCompletions}, `{"usage":{"prompt_tokens":9},"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}`, dialect.Usage{Input: 9}},
		{"chat, numbers that no response has", "openai", chat, data(stop, `{"usage":{"prompt_tokens":9223372036854775807,"completion_tokens":-4}}`, `{"usage":{"prompt_tokens":1}}`, "[DONE]"), dialect.Usage{Input: 1e15}},
		{"responses", "openai", dialect.Request{Operation: dialect.Responses, Stream: true}, data(
			`{"type":"response.completed","response":{"usage":{"input_tokens":1000,"input_tokens_details":{"cached_tokens":990},"output_tokens":50}}}`,
			`{"type":"response.completed","response":{"usage":{"input_tokens":0,"input_tokens_details":{"cached_tokens":0},"output_tokens":0}}}`), dialect.Usage{Input: 1000, CacheRead: 990, Output: 50}},
		{"messages, no input at the end", "anthropic", messages, data(begins, `{"type":"message_delta","usage":{"input_tokens":0,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":50}}`, `{"type":"message_stop"}`), dialect.Usage{Input: 1005, CacheRead: 990, CacheWrite: 5, Output: 50}},
		{"messages, zero after it", "anthropic", messages, data(begins, `{"type":"message_delta","usage":{"output_tokens":50}}`, `{"type":"message_delta","usage":{"output_tokens":0}}`, `{"type":"message_stop"}`), dialect.Usage{Input: 1005, CacheRead: 990, CacheWrite: 5, Output: 50}},
		{"messages, zero after the end", "anthropic", messages, data(begins, `{"type":"message_delta","usage":{"output_tokens":50}}`, `{"type":"message_stop"}`, `{"type":"message_delta","usage":{"input_tokens":0,"output_tokens":0}}`), dialect.Usage{Input: 1005, CacheRead: 990, CacheWrite: 5, Output: 50}},
		{"messages, more at the end", "anthropic", messages, data(begins, `{"type":"message_delta","usage":{"input_tokens":20,"cache_read_input_tokens":990,"output_tokens":50}}`), dialect.Usage{Input: 1015, CacheRead: 990, CacheWrite: 5, Output: 50}},
		{"messages, whole", "anthropic", whole, `{"type":"message","usage":{"input_tokens":1000,"output_tokens":50,"output_tokens":0}}`, dialect.Usage{Input: 1000, Output: 50}},
		{"generate, zero after it", "gemini", generate, data(`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":990,"candidatesTokenCount":50,"thoughtsTokenCount":7}}`,
			`{"usageMetadata":{"promptTokenCount":0,"cachedContentTokenCount":0,"candidatesTokenCount":0,"thoughtsTokenCount":0}}`), dialect.Usage{Input: 1000, CacheRead: 990, Output: 57, Reasoning: 7}},
		{"generate, thoughts first", "gemini", generate, data(`{"usageMetadata":{"promptTokenCount":1000,"thoughtsTokenCount":7}}`,
			`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":50}}`), dialect.Usage{Input: 1000, Output: 57, Reasoning: 7}},
		{"generate, in an array", "gemini", generate, `[{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":50}},{"usageMetadata":{"promptTokenCount":0,"candidatesTokenCount":0}}]`, dialect.Usage{Input: 1000, Output: 50}},
	} {
		for _, size := range []int{len(c.body), 9, 1} {
			m := dialect.Named(c.dialect).Usage(&c.request)
			for at := 0; at < len(c.body); at += size {
				_, _ = m.Write([]byte(c.body[at:min(at+size, len(c.body))]))
				_, _ = m.Usage() // asking changes nothing
			}
			u, ok := m.Usage()
			if diff := cmp.Diff(c.want, u); diff != "" || !ok {
				t.Errorf("%s in pieces of %d: %v\n%s", c.name, size, ok, diff)
			}
		}
	}
}

// TestFailures has the errors that providers report within a response with
// status 200, with the status that each stands for and the text before it.
func TestFailures(t *testing.T) {
	stream := func(op dialect.Operation) dialect.Request { return dialect.Request{Operation: op, Stream: true} }
	const (
		start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\n"
		role  = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
	)
	for _, c := range []struct {
		name, dialect string
		request       dialect.Request
		before, body  string
		failed        string
		status        int
		text          int64
	}{
		{"error first", "anthropic", stream(dialect.Messages), "", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", "Overloaded", 500, 0},
		{"error after message_start", "anthropic", stream(dialect.Messages), start + "event: ping\ndata: {\"type\":\"ping\"}\n\n", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"Slow down\"}}\n\n", "Slow down", 429, 0},
		{"error without an object", "anthropic", stream(dialect.Messages), "", "event: error\ndata: {\"type\":\"error\"}\n\n", "error", 500, 0},
		{"the client's mistake", "anthropic", dialect.Request{Operation: dialect.Messages}, "", `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}`, "prompt is too long", 400, 0},
		{"error first", "openai", stream(dialect.ChatCompletions), ": OPENROUTER PROCESSING\n\n", "data: {\"error\":{\"message\":\"Overloaded\",\"code\":503}}\n\n", "Overloaded", 503, 0},
		{"error after the role", "openai", stream(dialect.ChatCompletions), role, "data: {\"error\":{\"message\":\"Overloaded\",\"type\":\"server_error\"}}\n\n", "Overloaded", 500, 0},
		{"error in the name of the event", "openai", stream(dialect.ChatCompletions), "", "event: error\ndata: {\"message\":\"Overloaded\"}\n\n", "Overloaded", 500, 0},
		{"error in the name of the field", "openai", stream(dialect.ChatCompletions), "", "error: {\"code\":400,\"message\":\"too long\",\"type\":\"invalid_request_error\"}\n\n", "too long", 400, 0},
		{"finish_reason error", "openai", stream(dialect.ChatCompletions), role, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]}\n\n", "the model stopped with finish_reason error", 500, 0},
		{"error of a choice", "openai", dialect.Request{Operation: dialect.ChatCompletions}, "", `{"choices":[{"message":{"content":""},"error":{"code":502,"message":"Provider returned error"},"finish_reason":"stop"}]}`, "Provider returned error", 502, 0},
		{"object error", "openai", stream(dialect.ChatCompletions), "", "data: {\"object\":\"error\",\"message\":\"too long\",\"type\":\"BadRequestError\",\"param\":null,\"code\":400}\n\n", "too long", 400, 0},
		{"object error, whole", "openai", dialect.Request{Operation: dialect.ChatCompletions}, "", `{"object":"error","message":"Boom","type":"InternalServerError","code":500}`, "Boom", 500, 0},
		{"error without choices", "openai", dialect.Request{Operation: dialect.ChatCompletions}, "", `{"error":{"message":"Overloaded","code":429}}`, "Overloaded", 429, 0},
		{"error with choices", "openai", dialect.Request{Operation: dialect.ChatCompletions}, "", `{"choices":[],"error":{"message":"Overloaded"},"usage":null}`, "Overloaded", 500, 0},
		{"error as a string", "openai", dialect.Request{Operation: dialect.ChatCompletions}, "", `{"error":"model is loading"}`, "model is loading", 500, 0},
		{"responses, failed", "openai", stream(dialect.Responses), "data: {\"type\":\"response.created\",\"response\":{}}\n\n", "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"Slow down\"}}}\n\n", "Slow down", 429, 0},
		{"responses, failed without an error", "openai", stream(dialect.Responses), "", "data: {\"type\":\"response.failed\",\"response\":{\"error\":null}}\n\n", "response.failed", 500, 0},
		{"responses, error", "openai", stream(dialect.Responses), "", "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"Overloaded\"}\n\n", "Overloaded", 500, 0},
		{"responses, whole", "openai", dialect.Request{Operation: dialect.Responses}, "", `{"object":"response","status":"failed","error":{"code":"server_error","message":"Boom"},"output":[]}`, "Boom", 500, 0},
		{"generate", "gemini", stream(dialect.StreamGenerateContent), "", "data: {\"error\":{\"code\":503,\"message\":\"Overloaded\",\"status\":\"UNAVAILABLE\"}}\r\n\r\n", "Overloaded", 503, 0},
		{"generate, in an array", "gemini", stream(dialect.StreamGenerateContent), "", `[{"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED"}}]`, "Quota", 429, 0},
		{"after text", "anthropic", stream(dialect.Messages), "", start + "data: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\nevent: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"Boom\"}}\n\n", "Boom", 500, 7},
		{"after text", "openai", stream(dialect.ChatCompletions), role, "data: {\"choices\":[{\"delta\":{\"content\":\"Hello\",\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{}\"}}]}}]}\n\ndata: {\"error\":{\"message\":\"Boom\"}}\n\n", "Boom", 500, 7},
		{"after text", "gemini", stream(dialect.StreamGenerateContent), "", "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hello\"},{\"functionCall\":{\"args\":{\"a\":[\"bc\"]}}}]}}]}\n\ndata: {\"error\":{\"message\":\"Boom\"}}\n\n", "Boom", 500, 7},
		{"after text", "openai", stream(dialect.Responses), "", "data: {\"type\":\"response.output_text.delta\",\"delta\":\"Hello, \"}\n\ndata: {\"type\":\"response.failed\",\"response\":{\"error\":{\"message\":\"Boom\"}}}\n\n", "Boom", 500, 7},
	} {
		m := dialect.Named(c.dialect).Usage(&c.request)
		_, _ = m.Write([]byte(c.before))
		if p := m.Progress(); p.Begun || m.Failed() != "" || p.Text > 0 {
			t.Errorf("%s %s: before the error: %+v, %q", c.dialect, c.name, p, m.Failed())
		}
		_, _ = m.Write([]byte(c.body))
		if p := m.Progress(); m.Failed() != c.failed || !p.Begun || p.Status != c.status || p.Text != c.text {
			t.Errorf("%s %s: failed %q, %+v", c.dialect, c.name, m.Failed(), p)
		}
	}
	for _, c := range metered {
		m := dialect.Named(c.dialect).Usage(&c.request)
		_, _ = m.Write([]byte(c.body))
		if p := m.Progress(); m.Failed() != "" || !p.Begun || p.Status != 0 {
			t.Errorf("%s: %q, %+v", c.name, m.Failed(), p)
		}
	}
}
