package gateway

import (
	"context"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/modeltest"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// question is one request of a dialect.
type question struct {
	provider, model, path, body string
	// tool is a request that lets the provider search the web.
	tool bool
}

func questions() []question {
	return []question{
		{"openai", "gpt-5.5", "/v1/chat/completions", `{"model":"gpt-5.5","messages":[{"role":"user","content":"Hi"}],"max_completion_tokens":500}`, false},
		{"openai", "gpt-5.5", "/v1/chat/completions", `{"model":"gpt-5.5","stream":true,"messages":[{"role":"user","content":"Hi"}],"max_completion_tokens":500}`, false},
		{"openai", "gpt-5.5", "/v1/responses", `{"model":"gpt-5.5","stream":true,"input":"Hi","max_output_tokens":500}`, false},
		{"openai", "text-embedding-3-small", "/v1/embeddings", `{"model":"text-embedding-3-small","input":["Hi","Ho"]}`, false},
		{"anthropic", "claude-opus-4-5", "/v1/messages", `{"model":"claude-opus-4-5","max_tokens":500,"messages":[{"role":"user","content":"Hi"}]}`, false},
		{"anthropic", "claude-opus-4-5", "/v1/messages", `{"model":"claude-opus-4-5","max_tokens":500,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`, false},
		{"gemini", "gemini-2.5-pro", "/v1beta/models/gemini-2.5-pro:generateContent", `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"generationConfig":{"maxOutputTokens":500}}`, false},
		{"gemini", "gemini-2.5-pro", "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"generationConfig":{"maxOutputTokens":500}}`, false},
		{"openai", "gpt-5.5", "/v1/responses", `{"model":"gpt-5.5","input":"Hi","max_output_tokens":500,"tools":[{"type":"web_search"}]}`, true},
		{"anthropic", "claude-opus-4-5", "/v1/messages", `{"model":"claude-opus-4-5","max_tokens":500,"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"web_search_20250305","name":"web_search"}]}`, true},
		{"gemini", "gemini-2.5-pro", "/v1beta/models/gemini-2.5-pro:generateContent", `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"generationConfig":{"maxOutputTokens":500},"tools":[{"googleSearch":{}}]}`, true},
	}
}

// answers reports a usage with every kind of tokens.
func answers(*modeltest.Ask) modeltest.Answer {
	return modeltest.Answer{Text: strings.Repeat("Hello, this is the stand-in. ", 20), Usage: &modeltest.Usage{Input: 40, CacheRead: 11, Output: 123, Reasoning: 57}}
}

// against is a gateway in front of a stand-in.
type against struct {
	*bench
	server *modeltest.Server
	direct *http.Transport
}

func startAgainst(t *testing.T, q question, fault modeltest.Fault, retry Retry) *against {
	t.Helper()
	first := true
	server := &modeltest.Server{Key: realKey, Answer: answers, Gzip: true, Fault: func(*modeltest.Ask) modeltest.Fault {
		if retry.Attempts > 0 && !first {
			return modeltest.Fault{}
		}
		first = false
		return fault
	}}
	wire := listen()
	web := &http.Server{Handler: server}
	go func() { _ = web.Serve(wire) }()
	t.Cleanup(func() { _ = web.Close() })
	d := dialect.Named(q.provider)
	m := Model{Name: "main", Provider: q.provider, BaseURL: "http://provider.local", Models: []string{q.model}, Budget: Limits{Cost: Dollar}, Retry: retry}
	if q.provider == "openai" {
		m.BaseURL += "/v1"
	}
	transport := NewTransport()
	transport.Proxy, transport.DialContext = nil, wire.Dial
	direct := transport.Clone()
	t.Cleanup(transport.CloseIdleConnections)
	t.Cleanup(direct.CloseIdleConnections)
	up, err := NewProvider(&m, d, realKey, transport)
	if err != nil {
		t.Fatal(err)
	}
	return &against{serveDialect(t, t.TempDir(), m, d, up), server, direct}
}

// serveDialect is serve for any dialect.
func serveDialect(t testing.TB, dir string, m Model, d dialect.Dialect, up Upstream) *bench {
	t.Helper()
	record, err := transcript.Open(filepath.Join(dir, "transcript"), 64<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(Options{Dir: dir, Transcript: record, Blocks: []Block{{Model: m, Dialect: d, Virtual: virtualKey, Real: realKey, Upstream: up}}})
	if err != nil {
		t.Fatal(err)
	}
	return serving(t, g, dir, record)
}

// result is what a client gets.
type result struct {
	status int
	kind   string
	body   string
	failed bool
}

// send sends a question with a key; the client leaves after a minute.
func (q question) send(t *testing.T, to http.RoundTripper, address, key, accept string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+q.path, strings.NewReader(q.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if q.provider == "anthropic" {
		r.Header.Set("Anthropic-Version", "2023-06-01")
	}
	r.Header.Set("Accept-Encoding", accept)
	dialect.Named(q.provider).SetKey(r.Header, r.URL.Query(), key)
	resp, err := to.RoundTrip(r)
	if err != nil {
		return result{failed: true}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return result{resp.StatusCode, resp.Header.Get("Content-Type"), string(body), err != nil}
}

// TestFaultsOfProviders compares, for each dialect and each fault, what a client
// gets from the provider itself and through the gateway: the same, but where the
// provider says nothing at all.
func TestFaultsOfProviders(t *testing.T) {
	n := 0
	for _, f := range append(modeltest.Faults(), modeltest.NamedFault{Name: "none", Whole: true}) {
		t.Run(f.Name, func(t *testing.T) {
			for _, q := range questions() {
				if q.tool {
					continue
				}
				for _, accept := range []string{"identity", "gzip"} {
					synctest.Test(t, func(t *testing.T) { q.compare(t, f, accept) })
					n++
				}
			}
		})
	}
	t.Logf("%d exchanges were compared", n)
}

func (q question) compare(t *testing.T, f modeltest.NamedFault, accept string) {
	a := startAgainst(t, q, f.Fault, Retry{})
	same := q
	if strings.Contains(q.body, `"stream":true`) && strings.Contains(q.path, "chat") {
		// The gateway asks for the usage, which changes what the client gets.
		same.body = strings.Replace(q.body, `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`, 1)
	}
	want := same.send(t, startAgainst(t, q, f.Fault, Retry{}).direct, "http://provider.local", realKey, accept)
	got := q.send(t, a.client, "http://gateway/main", virtualKey, accept)
	synctest.Wait()
	e := a.events()[0]
	where := fmt.Sprintf("%s %s", q.path, accept)
	switch {
	case want.failed && want.status == 0, want.status/100 == 3:
		if got.status != 502 && !got.failed || e.Failed == "" && !e.Gone {
			t.Errorf("%s: got %+v, recorded %+v", where, got, e)
		}
	case got != want && !(got.failed && want.failed && strings.HasPrefix(want.body, got.body)):
		t.Errorf("%s: got %+v, want %+v", where, got, want)
	}
	a.checkCost(t, where, q, &e)
	holdsNoKey(t, a.dir, got.body)
}

// checkCost compares what was charged with what was reported, calculated by
// itself, or with nothing.
func (a *against) checkCost(t *testing.T, where string, q question, e *transcript.Event) {
	t.Helper()
	s := a.Summary()[0]
	if s.Exceeded > 0 || Dollars(e.Cost) != s.Cost {
		t.Errorf("%s: %+v", where, s)
	}
	switch {
	case e.Reported:
		facts := published(t)[q.provider][q.model]
		if want := ceil(exact(t, facts, *e.Usage)); e.Cost != want {
			t.Errorf("%s: charged %d, want %d", where, e.Cost, want)
		}
		if q.path != "/v1/embeddings" && (e.Usage.Output != 123 || e.Usage.Input != 40) {
			t.Errorf("%s: usage %+v", where, e.Usage)
		}
	case e.Status >= 400 && e.Refused == "":
		if e.Cost != 0 {
			t.Errorf("%s: an error is charged with %d", where, e.Cost)
		}
	case strings.Contains(e.Failed, "Overloaded"): // Gemini's first event has text
		if (e.Cost != 0 || e.Tokens != 0) != e.Estimated || e.Estimated != (q.provider == "gemini") {
			t.Errorf("%s: an error is charged with %d", where, e.Cost)
		}
	case e.Status == 200 && e.Cost == 0:
		t.Errorf("%s: nothing was charged: %+v", where, e)
	}
}

// TestRetriesOfProviders: where a fault may pass, a retry hides it from the
// client, and nothing from the record.
func TestRetriesOfProviders(t *testing.T) {
	for _, f := range modeltest.Faults() {
		if !f.Retry || f.Reset || f.Close || f.Never || strings.Contains(f.Name, "date") {
			continue // these may have been charged; the date is far off in a bubble
		}
		t.Run(f.Name, func(t *testing.T) {
			for _, q := range questions() {
				if q.tool {
					continue
				}
				synctest.Test(t, func(t *testing.T) {
					a := startAgainst(t, q, f.Fault, Retry{Attempts: 3, Longest: time.Minute})
					got := q.send(t, a.client, "http://gateway/main", virtualKey, "gzip")
					e := a.events()[0]
					if got.status != 200 || got.failed || len(e.Attempts) != 1 || e.Attempts[0].Status != f.Status && f.Status != 0 || e.Waited < 0.25 || !e.Reported {
						t.Errorf("%s: got %+v, recorded %+v", q.path, got, e)
					}
					a.checkCost(t, q.path, q, &e)
				})
			}
		})
	}
}

// TestWebSearchIsRefused: in each dialect, in its own form, and on record.
func TestWebSearchIsRefused(t *testing.T) {
	for _, q := range questions() {
		if !q.tool {
			continue
		}
		t.Run(q.provider, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := startAgainst(t, q, modeltest.Fault{}, Retry{})
				got := q.send(t, a.client, "http://gateway/main", virtualKey, "")
				synctest.Wait()
				e := a.events()[0]
				if got.status/100 != 4 || len(a.server.Calls()) != 0 || e.Refused != dialect.NotAllowed || e.Ability != "web_search" {
					t.Errorf("got %+v, recorded %+v", got, e)
				}
			})
		})
	}
}

// TestExactCosts adds the costs of many usages of many models, through the
// gateway, and compares them with rational numbers.
func TestExactCosts(t *testing.T) {
	for _, q := range questions() {
		if q.tool || q.path == "/v1/embeddings" {
			continue
		}
		t.Run(q.provider+q.path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := startAgainst(t, q, modeltest.Fault{}, Retry{})
				total := new(big.Int)
				for i := range int64(20) {
					u := modeltest.Usage{Input: 50 + 3*i, CacheRead: 2 * i, Output: 400 + 5*i, Reasoning: 7 * i}
					if q.provider == "anthropic" {
						u.CacheWrite = i
					}
					a.server.Answer = func(*modeltest.Ask) modeltest.Answer { return modeltest.Answer{Text: "x", Usage: &u} }
					if got := q.send(t, a.client, "http://gateway/main", virtualKey, ""); got.status != 200 {
						t.Fatalf("%+v", got)
					}
					synctest.Wait()
					cost := exact(t, published(t)[q.provider][q.model], dialect.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output})
					total.Add(total, big.NewInt(ceil(cost)))
				}
				a.stop()
				if s := a.Summary()[0]; !total.IsInt64() || int64(s.Cost) != total.Int64() || s.Unreported > 0 {
					t.Errorf("charged %d, want %s: %+v", s.Cost, total, s)
				}
			})
		})
	}
}
