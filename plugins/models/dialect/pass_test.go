package dialect_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/modeltest"
)

// passing is the least gateway: it reads requests below the name of a dialect,
// refuses them or hands them to a stand-in, and meters what comes back.
type passing struct {
	to *modeltest.Server

	mu       sync.Mutex
	dialects []dialect.Dialect
	requests []*dialect.Request
	meters   []dialect.Meter
	refusals []*dialect.Refusal
}

// ServeHTTP implements http.Handler. A model named refuse-REASON is refused for
// that reason.
func (p *passing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, path, _ := strings.Cut(r.URL.Path[1:], "/")
	d := dialect.Named(name)
	body, _ := io.ReadAll(r.Body)
	req, err := d.Read(dialect.Incoming{Method: r.Method, Path: "/" + path, Query: r.URL.Query(), Header: r.Header, Body: body}, nil)
	if err == nil {
		if reason, ok := strings.CutPrefix(req.Model, "refuse-"); ok {
			err = &dialect.Refusal{Reason: dialect.Reason(reason), Text: "The gateway says no: “" + reason + "”.", RetryAfter: 7}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var refusal *dialect.Refusal
	if errors.As(err, &refusal) {
		p.refusals = append(p.refusals, refusal)
		status, header, text := d.Error(*refusal)
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		_, _ = w.Write(text)
		return
	}
	out := r.Clone(r.Context())
	out.URL = &url.URL{Path: "/" + path, RawQuery: req.Query.Encode()}
	out.Header, out.Body = req.Header, io.NopCloser(strings.NewReader(string(req.Body)))
	d.SetKey(out.Header, out.URL.Query(), "real")
	m := d.Usage(req)
	p.dialects, p.requests, p.meters = append(p.dialects, d), append(p.requests, req), append(p.meters, m)
	p.to.ServeHTTP(&metering{w, m}, out)
}

// metering is a response that is metered as it passes.
type metering struct {
	http.ResponseWriter
	meter dialect.Meter
}

func (m *metering) Write(p []byte) (int, error) {
	_, _ = m.meter.Write(p)
	return m.ResponseWriter.Write(p)
}

func (m *metering) Flush()                      { m.ResponseWriter.(http.Flusher).Flush() }
func (m *metering) Unwrap() http.ResponseWriter { return m.ResponseWriter }

// TestPassByHand serves until it is interrupted, for clients that are tried by
// hand, and says what came. With MODELTEST_CANONICAL it writes the requests'
// canonical forms to that folder, so that two runs can be compared.
//
//	MODELTEST=127.0.0.1:9000 go test -run TestPassByHand -timeout 0 ./plugins/models/dialect
func TestPassByHand(t *testing.T) {
	address := os.Getenv("MODELTEST")
	if address == "" {
		t.Skip("set MODELTEST to an address")
	}
	p := &passing{to: &modeltest.Server{Key: "real", Answer: func(a *modeltest.Ask) modeltest.Answer {
		if _, ok := modeltest.ShellCall(a, ""); ok {
			return modeltest.Digits(a)
		}
		if len(a.Tools) > 0 && a.Count("tool") == 0 {
			return modeltest.Answer{Text: "Calling.", Reasoning: "Thinking.", Tools: []modeltest.ToolCall{{Name: a.Tools[0].Name, Arguments: map[string]any{"text": "ünï <code> & \"quotes\""}}}}
		}
		return modeltest.Answer{Text: "Hello, this is the stand-in. 你好 🙂"}
	}}}
	server := &http.Server{Addr: address, Handler: p, ReadHeaderTimeout: time.Minute}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	go func() { <-stop; _ = server.Close() }()
	_ = server.ListenAndServe()
	for i, r := range p.requests {
		u, ok := p.meters[i].Usage()
		if dir := os.Getenv("MODELTEST_CANONICAL"); dir != "" {
			c, err := p.dialects[i].Canonical(string(r.Operation), r.Body)
			text := fmt.Sprintf("%v\n%s\n", err, c.Fixed)
			for _, part := range c.Parts {
				text += fmt.Sprintf("%s %s\n", part.Role, part.Text)
			}
			if err := os.WriteFile(fmt.Sprintf("%s/%02d", dir, i), []byte(text), 0o600); err != nil {
				t.Error(err)
			}
		}
		fmt.Println(r.Operation, r.Model, r.Stream, r.Changed, r.InputTokens, r.OutputTokens, u, ok, p.meters[i].Done())
	}
	for _, r := range p.refusals {
		fmt.Println(r.Reason, r.Ability, r.Text)
	}
}

// asked is what each operation of the stand-in is asked with.
var asked = []struct {
	path, body string
	stream     bool
}{
	{"/openai/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"Hi"}]}`, false},
	{"/openai/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"Hi"}]}`, true},
	{"/openai/v1/completions", `{"model":"m","stream":true,"prompt":"Hi"}`, true},
	{"/openai/v1/responses", `{"model":"m","input":"Hi"}`, false},
	{"/openai/v1/responses", `{"model":"m","stream":true,"input":"Hi"}`, true},
	{"/openai/v1/embeddings", `{"model":"m","input":"Hi"}`, false},
	{"/anthropic/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}`, false},
	{"/anthropic/v1/messages", `{"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"Hi"}]}`, true},
	{"/gemini/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"text":"Hi"}]}]}`, false},
	{"/gemini/v1beta/models/m:streamGenerateContent?alt=sse", `{"contents":[{"parts":[{"text":"Hi"}]}]}`, true},
	{"/gemini/v1beta/models/m:streamGenerateContent", `{"contents":[{"parts":[{"text":"Hi"}]}]}`, true},
}

// TestMetersAgainstTheStandIn meters each operation with each fault: a whole
// answer has its usage, and one that is not whole has the right one or none.
func TestMetersAgainstTheStandIn(t *testing.T) {
	used := modeltest.Usage{Input: 100, CacheRead: 40, Output: 60, Reasoning: 20}
	answer := modeltest.Answer{Text: "A text of several words, so that there are events.", Reasoning: "Hm, let me see.", Tools: []modeltest.ToolCall{{Name: "f"}}, Usage: &used}
	faults := append([]modeltest.NamedFault{{Name: "none", Whole: true}}, modeltest.Faults()...)
	for _, f := range faults {
		f.Pause = 0
		if f.Never || f.Hang || f.Reset || f.Close || f.CutByReset || f.Redirect != "" || f.BadGzip {
			continue // nothing that a meter would see
		}
		for _, a := range asked {
			p := &passing{to: &modeltest.Server{
				Answer: func(*modeltest.Ask) modeltest.Answer { return answer },
				Fault:  func(*modeltest.Ask) modeltest.Fault { return f.Fault },
			}}
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, a.path, strings.NewReader(a.body))
			r.Header.Set("Anthropic-Version", "2023-06-01")
			p.ServeHTTP(w, r)
			if len(p.meters) != 1 {
				t.Fatalf("%s: %v", a.path, p.refusals[0])
			}
			u, ok := p.meters[0].Usage()
			embeds := strings.Contains(a.path, "embed")
			want := dialect.Usage{Input: 100, CacheRead: 40, Output: 60, Reasoning: 20}
			switch {
			case strings.Contains(a.path, "anthropic"):
				want.Reasoning = 0
			case embeds:
				ok, want = ok && u.Input > 0, u
			}
			reported := f.Whole && !f.NoUsage
			if ok && u != want || reported && (!ok || !p.meters[0].Done()) || f.Status != 0 && ok {
				t.Errorf("%s, %s: %+v, %v, done %v", f.Name, a.path, u, ok, p.meters[0].Done())
			}
			if f.Overloaded && a.stream && p.meters[0].Failed() != "Overloaded" {
				t.Errorf("%s, %s: failed %q", f.Name, a.path, p.meters[0].Failed())
			}
		}
	}
}
