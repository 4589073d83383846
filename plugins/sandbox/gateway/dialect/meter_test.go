package dialect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/sandbox/gateway/dialect"
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
