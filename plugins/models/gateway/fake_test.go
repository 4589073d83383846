package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// toy is a dialect of one operation, so that the gateway is tested by itself.
// The input of a request is bounded by the bytes of its body; a response says in
// its last line what it used.
type toy struct{}

type toyRequest struct {
	Model  string `json:"model"`
	Max    int64  `json:"max"`
	N      int64  `json:"n"`
	Search bool   `json:"search"`
	Text   string `json:"text"`
}

func (toy) Name() string    { return "toy" }
func (toy) BaseURL() string { return "https://api.toy.test/v1" }

func (toy) Variables(endpoint, key string) map[string]string {
	return map[string]string{"TOY_URL": endpoint + "/v1", "TOY_KEY": key}
}

func (toy) Read(in dialect.Incoming, grants dialect.Grants) (*dialect.Request, error) {
	q, h, body := in.Query, in.Header, in.Body
	switch {
	case in.Method == http.MethodGet && in.Path == "/v1/models":
		return &dialect.Request{Operation: "models", Free: true, Query: q}, nil
	case in.Method != http.MethodPost || in.Path != "/v1/ask":
		return nil, &dialect.Refusal{Reason: dialect.NotAllowed, Text: "no such path"}
	}
	var r toyRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, &dialect.Refusal{Reason: dialect.BadRequest, Text: err.Error()}
	}
	if r.Text == "panic" {
		panic("toy")
	}
	if r.Search && !grants["web_search"] {
		return nil, &dialect.Refusal{Reason: dialect.NotAllowed, Ability: "web_search", Text: "no search"}
	}
	return &dialect.Request{
		Operation: "ask", Model: r.Model, Stream: true, Body: body, InputTokens: int64(len(body)), OutputTokens: r.Max, Choices: r.N,
		Query: q, Header: http.Header{"X-Kept": h["X-Kept"]},
	}, nil
}

func (toy) Key(h http.Header, q url.Values) string {
	if k := q.Get("key"); k != "" {
		return k
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

func (toy) SetKey(h http.Header, q url.Values, key string) {
	q.Del("key")
	h.Set("Authorization", "Bearer "+key)
}

func (toy) Error(r dialect.Refusal) (int, http.Header, []byte) {
	status := map[dialect.Reason]int{
		dialect.BadKey: 401, dialect.BadRequest: 400, dialect.NotAllowed: 403, dialect.TooLarge: 413, dialect.RateLimited: 429,
		dialect.OverBudget: 402, dialect.Unreachable: 502, dialect.NoRecording: 409, dialect.NoSocket: 426,
	}[r.Reason]
	h := http.Header{"Content-Type": {"application/json"}}
	if r.RetryAfter > 0 {
		h.Set("Retry-After", fmt.Sprint(r.RetryAfter))
	}
	body, _ := json.Marshal(map[string]string{"error": r.Text, "reason": string(r.Reason)})
	return status, h, body
}

func (toy) KeyPrefix() string { return "toy-" }

func (toy) Usage(*dialect.Request) dialect.Meter { return &toyMeter{} }

func (toy) Canonical(_ string, body []byte) (dialect.Canonical, error) {
	return dialect.Canonical{Fixed: []byte("toy"), Parts: []dialect.Part{{Role: "user", Text: body}}}, nil
}

type toyMeter struct{ bytes.Buffer }

// last is the line "usage INPUT OUTPUT" at the end of a response.
func (m *toyMeter) Usage() (u dialect.Usage, ok bool) {
	for line := range strings.Lines(m.String()) {
		if n, _ := fmt.Sscanf(line, "usage %d %d\n", &u.Input, &u.Output); n == 2 && strings.HasSuffix(line, "\n") {
			ok = true
		}
	}
	return u, ok
}

func (m *toyMeter) Done() bool     { _, ok := m.Usage(); return ok }
func (m *toyMeter) Failed() string { return "" }

func (m *toyMeter) Progress() dialect.Progress {
	return dialect.Progress{Text: int64(m.Len()), Begun: m.Len() > 0}
}

const (
	realKey    = "toy-real-0123456789abcdef"
	virtualKey = "mleflow-virtual"
)

// bench is a gateway in front of a server of the test.
type bench struct {
	*Gateway
	dir    string
	front  *pipes
	client *http.Transport
	stop   func()
	t      testing.TB
}

// events ends the gateway and returns its exchanges.
func (b *bench) events() (all []transcript.Event) {
	b.t.Helper()
	b.stop()
	r, err := transcript.OpenReader(os.DirFS(filepath.Join(b.dir, "transcript")))
	if err != nil {
		b.t.Fatal(err)
	}
	defer r.Close()
	for e, err := range r.Events() {
		if err != nil {
			b.t.Fatal(err)
		}
		all = append(all, *e)
	}
	return all
}

// toyModel is the model block of most tests: a dollar per thousand tokens of
// input, two of output.
func toyModel() Model {
	return Model{
		Name: "main", Provider: "toy", Models: []string{"small", "big-*"},
		Prices: map[string]Price{"*": {Rates: Rates{Input: 1000 * Dollar, Output: 2000 * Dollar}, MaxOutput: 100}},
	}
}

// start serves a gateway for one block whose provider is h, on pipes: in a
// bubble of synctest, time passes as soon as everybody waits.
func start(t testing.TB, m Model, run *Pool, h http.Handler) *bench {
	t.Helper()
	wire := listen()
	server := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(wire) }()
	t.Cleanup(func() { _ = server.Close() })
	return startAt(t, t.TempDir(), m, run, wire.Dial)
}

// dialer opens connections to a provider.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func startAt(t testing.TB, dir string, m Model, run *Pool, dial dialer) *bench {
	t.Helper()
	transport := NewTransport()
	transport.Proxy, transport.DialContext = nil, dial
	t.Cleanup(transport.CloseIdleConnections)
	if m.BaseURL == "" {
		m.BaseURL = "http://provider.local/api/v1"
	}
	up, err := NewProvider(&m, toy{}, realKey, transport)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, dir, m, run, up)
}

// serve serves a gateway for one block.
func serve(t testing.TB, dir string, m Model, run *Pool, up Upstream) *bench {
	t.Helper()
	return serveFor(t, dir, m, run, up, false)
}

// serveFor serves an agent that goes on, or one that begins again.
func serveFor(t testing.TB, dir string, m Model, run *Pool, up Upstream, again bool) *bench {
	t.Helper()
	record, err := transcript.Open(filepath.Join(dir, "transcript"), 64<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(Options{Dir: dir, Transcript: record, Again: again, Blocks: []Block{{Model: m, Dialect: toy{}, Virtual: virtualKey, Real: realKey, Upstream: up, Run: run, PauseClock: true}}})
	if err != nil {
		t.Fatal(err)
	}
	return serving(t, g, dir, record)
}

// serving serves a gateway for the time of a test.
func serving(t testing.TB, g *Gateway, dir string, record *transcript.Writer) *bench {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	front, done := listen(), make(chan struct{})
	go func() { defer close(done); _ = g.Serve(ctx, front) }()
	client := &http.Transport{DialContext: front.Dial, DisableCompression: true}
	b := &bench{Gateway: g, dir: dir, front: front, client: client, t: t}
	b.stop = sync.OnceFunc(func() {
		client.CloseIdleConnections()
		cancel()
		<-done
		_ = g.Close()
		_ = record.Close()
	})
	t.Cleanup(b.stop)
	return b
}

// pipes is a listener without a network.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	close func()
}

func listen() *pipes {
	p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.done) })
	return p
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.close(); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// Dial is a dialer.
func (p *pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.done:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// request is a valid request.
func (b *bench) request(r toyRequest) *http.Request {
	body, _ := json.Marshal(r)
	req, _ := http.NewRequest(http.MethodPost, "http://gateway/main/v1/ask", bytes.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+virtualKey)
	return req
}

// ask sends a request and returns status and body; an error while the body is
// read is at its end.
func (b *bench) ask(r toyRequest, edit ...func(*http.Request)) (*http.Response, string) {
	b.t.Helper()
	req := b.request(r)
	for _, e := range edit {
		e(req)
	}
	resp, err := b.client.RoundTrip(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp, string(text) + "!" + err.Error()
	}
	return resp, string(text)
}
