package gateway

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// told is a provider that replies to each request in turn with one of these
// bodies; the last one goes on.
func told(kind string, bodies ...string) http.HandlerFunc {
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		body := bodies[min(n, len(bodies)-1)]
		n++
		w.Header().Set("Content-Type", kind)
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			body = zip(body)[0]
		}
		_, _ = io.WriteString(w, body)
	}
}

// startTold serves a dialect in front of such a provider.
func startTold(t *testing.T, q question, budget Limits, retry Retry, h http.Handler) *bench {
	t.Helper()
	wire := listen()
	web := &http.Server{Handler: h}
	go func() { _ = web.Serve(wire) }()
	t.Cleanup(func() { _ = web.Close() })
	m := Model{Name: "main", Provider: q.provider, BaseURL: "http://provider.local", Models: []string{q.model}, Budget: budget, Retry: retry}
	if q.provider == "openai" {
		m.BaseURL += "/v1"
	}
	transport := NewTransport()
	transport.Proxy, transport.DialContext = nil, wire.Dial
	t.Cleanup(transport.CloseIdleConnections)
	d := dialect.Named(q.provider)
	up, err := NewProvider(&m, d, realKey, transport)
	if err != nil {
		t.Fatal(err)
	}
	return serveDialect(t, t.TempDir(), m, d, up)
}

func data(events ...string) string { return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n" }

// The answers of the tests, and the questions to them.
var (
	anthropicStart  = `{"type":"message_start","message":{"usage":{"input_tokens":40,"output_tokens":1}}}`
	anthropicHello  = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello, you."}}`
	anthropicStream = data(anthropicStart, anthropicHello, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`, `{"type":"message_stop"}`)
	chatHello       = `{"choices":[{"index":0,"delta":{"role":"assistant","content":"Hello, you."}}]}`
	chatStream      = data(chatHello, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `{"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":5}}`, "[DONE]")
	chatWhole       = `{"choices":[{"message":{"content":"Hello, you."},"finish_reason":"stop"}],"usage":{"prompt_tokens":40,"completion_tokens":5}}`
	responseStream  = data(`{"type":"response.created"}`, `{"type":"response.output_text.delta","delta":"Hello, you."}`, `{"type":"response.completed","response":{"usage":{"input_tokens":40,"output_tokens":5}}}`)
	generateStream  = data(`{"candidates":[{"content":{"parts":[{"text":"Hello, you."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":40,"candidatesTokenCount":5}}`)
)

func asking(path string, stream bool) question {
	for _, q := range questions() {
		if strings.Contains(q.path, path) && stream == (strings.Contains(q.body, `"stream":true`) || strings.Contains(q.path, "stream")) {
			return q
		}
	}
	panic(path)
}

// TestErrorsWithinResponses: an error that a provider reports within a response
// of status 200, before the model has written anything, costs nothing, not even a
// request, and a retry hides it from the client. The client's own mistake counts
// as one request and is not tried again.
func TestErrorsWithinResponses(t *testing.T) {
	const overloaded = `{"error":{"message":"Overloaded","type":"server_error"}}`
	for _, c := range []struct {
		name     string
		q        question
		body     string
		good     string
		failed   string
		requests int64 // that are charged for it
	}{
		{"Anthropic, error first", asking("messages", true), "event: error\n" + data(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), anthropicStream, "Overloaded", 0},
		{"Anthropic, error after message_start", asking("messages", true), data(anthropicStart, `{"type":"ping"}`, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), anthropicStream, "Overloaded", 0},
		{"Anthropic, a mistake", asking("messages", true), data(`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}`), anthropicStream, "too long", 1},
		{"OpenAI, error first", asking("chat", true), ": PROCESSING\n\n" + data(overloaded), chatStream, "Overloaded", 0},
		{"OpenAI, error and the end", asking("chat", true), data(overloaded, "[DONE]"), chatStream, "Overloaded", 0},
		{"OpenRouter, finish_reason", asking("chat", true), data(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"error"}]}`, "[DONE]"), chatStream, "finish_reason error", 0},
		{"OpenRouter, usage of zero", asking("chat", true), data(`{"error":{"code":502,"message":"Overloaded"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`, `{"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":0}}`, "[DONE]"), chatStream, "Overloaded", 0},
		{"vLLM", asking("chat", true), data(`{"object":"error","message":"Overloaded","type":"InternalServerError","param":null,"code":500}`, "[DONE]"), chatStream, "Overloaded", 0},
		{"vLLM, a mistake", asking("chat", false), `{"object":"error","message":"prompt is too long","type":"BadRequestError","param":null,"code":400}`, chatWhole, "too long", 1},
		{"JSON without choices", asking("chat", false), overloaded, chatWhole, "Overloaded", 0},
		{"JSON with choices", asking("chat", false), `{"choices":[{"message":{"content":""},"finish_reason":null}],"error":{"message":"Overloaded","code":429}}`, chatWhole, "Overloaded", 0},
		{"JSON to a stream", asking("chat", true), overloaded, chatStream, "Overloaded", 0},
		{"Responses, error", asking("responses", true), "event: error\n" + data(`{"type":"error","code":"server_error","message":"Overloaded"}`), responseStream, "Overloaded", 0},
		{"Responses, failed", asking("responses", true), data(`{"type":"response.created"}`, `{"type":"response.failed","response":{"error":{"code":"server_error","message":"Overloaded"},"usage":null}}`), responseStream, "Overloaded", 0},
		{"Gemini", asking("stream", true), data(`{"error":{"code":503,"message":"Overloaded","status":"UNAVAILABLE"}}`), generateStream, "Overloaded", 0},
	} {
		for _, accept := range []string{"identity", "gzip"} {
			for _, attempts := range []int{0, 3} {
				t.Run(fmt.Sprintf("%s, %s, %d attempts", c.name, accept, attempts), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						b := startTold(t, c.q, Limits{Cost: Dollar}, Retry{Attempts: attempts}, told("text/plain", c.body, c.good))
						retried := attempts > 0 && c.requests == 0
						got := c.q.send(t, b.client, "http://gateway/main", virtualKey, accept)
						if accept == "gzip" {
							got.body = unzip(t, got.body)
						}
						want := c.body
						if retried {
							want = c.good
						}
						if got.status != 200 || got.failed || got.body != want {
							t.Errorf("got %+v", got)
						}
						synctest.Wait()
						spent, held := b.blocks["main"].pool.Spent()
						e := b.events()[0]
						switch {
						case held != Amount{}:
							t.Errorf("held %+v", held)
						case !retried && (spent != Amount{Requests: c.requests} || !strings.Contains(e.Failed, c.failed) || e.Reported || len(e.Attempts) > 0):
							t.Errorf("spent %+v, recorded %+v", spent, e)
						case retried && (!e.Reported || spent.Tokens != 45 || spent.Requests != 1 || e.Failed != "" || len(e.Attempts) != 1 || e.Attempts[0].Status != 200 || !strings.Contains(e.Attempts[0].Failed, c.failed)):
							t.Errorf("spent %+v, recorded %+v", spent, e)
						}
					})
				})
			}
		}
	}
}

// TestErrorsAfterText: what passed before the error is charged by what was
// reported and by its length, not with the reservation, and it is not tried
// again. So is an answer that the provider ended without its last usage.
func TestErrorsAfterText(t *testing.T) {
	for _, c := range []struct {
		name   string
		q      question
		body   string
		tokens int64 // 0: the reservation
		failed string
	}{
		{"Anthropic", asking("messages", true), data(anthropicStart, anthropicHello, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), 40 + 11, "Overloaded"},
		{"Anthropic without message_delta", asking("messages", true), data(anthropicStart, anthropicHello, `{"type":"message_stop"}`), 40 + 11, ""},
		{"Anthropic that ends early", asking("messages", true), data(anthropicStart, anthropicHello), 40 + 11, "ended early"},
		{"Gemini", asking("stream", true), data(`{"candidates":[{"content":{"parts":[{"text":"Hello"}]}}],"usageMetadata":{"promptTokenCount":40,"thoughtsTokenCount":30}}`, `{"error":{"code":503,"message":"Overloaded"}}`), 40 + 30, "Overloaded"},
		{"OpenAI with the usage so far", asking("chat", true), data(chatHello, `{"choices":[{"delta":{"content":"!"}}],"usage":{"prompt_tokens":40,"completion_tokens":20}}`, `{"error":{"message":"Overloaded"}}`), 40 + 20, "Overloaded"},
		{"OpenAI with the whole usage", asking("chat", true), data(chatHello, `{"error":{"message":"Overloaded"},"choices":[{"delta":{},"finish_reason":"error"}],"usage":{"prompt_tokens":40,"completion_tokens":3}}`, "[DONE]"), 40 + 3, "Overloaded"},
		{"OpenAI that ends early", asking("chat", true), data(chatHello), 0, "ended early"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := startTold(t, c.q, Limits{Cost: Dollar}, Retry{Attempts: 3}, told("text/event-stream", c.body))
				if got := c.q.send(t, b.client, "http://gateway/main", virtualKey, "identity"); got.body != c.body {
					t.Errorf("got %+v", got)
				}
				e := b.events()[0]
				want := c.tokens
				if want == 0 {
					want = int64(len(c.q.body)) + 1000 + 500
				}
				if e.Tokens != want || e.Cost == 0 || !strings.Contains(e.Failed, c.failed) || len(e.Attempts) > 0 || e.Estimated == e.Reported {
					t.Errorf("want %d tokens, recorded %+v", want, e)
				}
			})
		})
	}
	// Without any usage, the input counts its bytes.
	synctest.Test(t, func(t *testing.T) {
		q := asking("chat", true)
		b := startTold(t, q, Limits{Cost: Dollar}, Retry{}, told("text/event-stream", data(chatHello, `{"error":{"message":"Overloaded"}}`)))
		q.send(t, b.client, "http://gateway/main", virtualKey, "identity")
		if e := b.events()[0]; e.Tokens != int64(len(q.body))+1000+11 || !e.Estimated {
			t.Errorf("recorded %+v", e)
		}
	})
}

// TestLookingHasAnEnd: a client gets what came after a while, whatever it is,
// and a response that only tells late is passed on as it comes.
func TestLookingHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := asking("chat", true)
		b := startTold(t, q, Limits{}, Retry{Attempts: 3}, parts(4*time.Second, ": 1\n\n", ": 2\n\n", ": 3\n\n", ": 4\n\n", chatStream))
		begun := time.Now()
		r, _ := http.NewRequest(http.MethodPost, "http://gateway/main"+q.path, strings.NewReader(q.body))
		r.Header.Set("Authorization", "Bearer "+virtualKey)
		resp, err := b.client.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if waited := time.Since(begun); waited != 16*time.Second { // header at 4, the first read after 10 more
			t.Errorf("the header came after %s", waited)
		}
		if body, _ := io.ReadAll(resp.Body); !strings.HasSuffix(string(body), chatStream) || time.Since(begun) != 20*time.Second {
			t.Errorf("got %q after %s", body, time.Since(begun))
		}
	})
	big := `{"data":[` + strings.Repeat(`{"embedding":[1,2]},`, 10_000) + `{}],"usage":{"prompt_tokens":4,"total_tokens":4}}`
	for _, accept := range []string{"identity", "gzip"} {
		synctest.Test(t, func(t *testing.T) {
			q := asking("embeddings", false)
			b := startTold(t, q, Limits{Cost: Dollar}, Retry{Attempts: 3}, told("application/json", big))
			got := q.send(t, b.client, "http://gateway/main", virtualKey, accept)
			if accept == "gzip" {
				got.body = unzip(t, got.body)
			}
			if e := b.events()[0]; got.body != big || e.Tokens != 4 {
				t.Errorf("got %d bytes, recorded %+v", len(got.body), e)
			}
		})
	}
}

// TestKeyThatIsAWord: a key that is a word of the protocol passes, as the keys of local
// servers are.
func TestKeyThatIsAWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := toyModel()
		m.BaseURL = "http://provider.local"
		wire := listen()
		web := &http.Server{Handler: says(3, 4)}
		go func() { _ = web.Serve(wire) }()
		defer web.Close()
		transport := NewTransport()
		transport.DialContext = wire.Dial
		defer transport.CloseIdleConnections()
		up, err := NewProvider(&m, toy{}, "usage", transport)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		record, err := transcript.Open(filepath.Join(dir, "transcript"), 1<<20, nil)
		if err != nil {
			t.Fatal(err)
		}
		g, err := New(Options{Dir: dir, Transcript: record, Blocks: []Block{{Model: m, Dialect: toy{}, Virtual: virtualKey, Real: "usage", Upstream: up}}})
		if err != nil {
			t.Fatal(err)
		}
		b := serving(t, g, dir, record)
		_, text := b.ask(toyRequest{Model: "small", Max: 10})
		if e := b.events()[0]; Dollars(e.Cost) != reportedCost || text != "hello\nusage 3 4\n" {
			t.Errorf("got %q, recorded %+v", text, e)
		}
	})
}

// TestMalformed tells an answer that is not JSON from one that ended early.
func TestMalformed(t *testing.T) {
	for _, c := range []struct{ name, body, failed string }{
		{"malformed", `{"choices": [}, "usage": {}}`, "the response is not valid JSON"},
		{"ended early", `{"choices": [{"message": {"content": "Hel`, "the response ended early"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := asking("chat", false)
				b := startTold(t, q, Limits{Cost: Dollar}, Retry{Attempts: 1}, told("application/json", c.body))
				q.send(t, b.client, "http://gateway/main", virtualKey, "identity")
				if e := b.events()[0]; e.Failed != c.failed {
					t.Errorf("recorded as %q, want %q", e.Failed, c.failed)
				}
			})
		})
	}
}
