package gateway

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/modeltest"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// startTokens serves a block in front of a server that reports tokens.
func startTokens(t *testing.T, record string, s *modeltest.Server, secrets ...string) *bench {
	t.Helper()
	wire := listen()
	web := &http.Server{Handler: s}
	go func() { _ = web.Serve(wire) }()
	t.Cleanup(func() { _ = web.Close() })
	m := Model{
		Name: "main", Provider: "openai", BaseURL: "http://provider.local/v1", Models: []string{"*"}, RecordTokens: record,
		Prices: map[string]Price{"*": {MaxOutput: 100}}, Grants: dialect.Grants{dialect.UnknownFields: true},
	}
	transport := NewTransport()
	transport.Proxy, transport.DialContext = nil, wire.Dial
	t.Cleanup(transport.CloseIdleConnections)
	up, err := NewProvider(&m, dialect.Named("openai"), realKey, transport)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w, err := transcript.Open(filepath.Join(dir, "transcript"), 64<<20, secret.New(secrets...))
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(Options{Dir: dir, Transcript: w, Blocks: []Block{{Model: m, Dialect: dialect.Named("openai"), Virtual: virtualKey, Real: realKey, Upstream: up}}})
	if err != nil {
		t.Fatal(err)
	}
	return serving(t, g, dir, w)
}

// post sends a body to an operation and returns status and answer.
func (b *bench) post(path, body string) (int, string) {
	b.t.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://gateway/main/v1/"+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+virtualKey)
	r.Header.Set("Accept-Encoding", "gzip")
	resp, err := b.client.RoundTrip(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		text = append(text, "!"...)
	}
	return resp.StatusCode, string(text)
}

// sampled ends the gateway and returns the tokens of its exchanges, nil for none.
func (b *bench) sampled() (all []*dialect.Tokens) {
	b.t.Helper()
	events := b.events()
	r, err := transcript.OpenReader(os.DirFS(filepath.Join(b.dir, "transcript")))
	if err != nil {
		b.t.Fatal(err)
	}
	defer r.Close()
	for i := range events {
		one, err := r.Sampled(&events[i])
		if err != nil {
			b.t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// wanted are the tokens of an answer of the toy model to one message.
func wanted(prompt string, n int) *dialect.Tokens {
	t := &dialect.Tokens{Prompt: modeltest.PromptOf([]modeltest.Message{{Role: "user", Text: prompt}})}
	for i := range n {
		text := "You said: " + prompt
		if i > 0 {
			text += fmt.Sprint(i)
		}
		s := dialect.Sample{IDs: modeltest.TokensOf(text)}
		for at := range s.IDs {
			s.Logprobs = append(s.Logprobs, modeltest.LogprobOf(at))
		}
		t.Choices = append(t.Choices, s)
	}
	return t
}

var bodies = map[string]string{
	"chat/completions": `{"model":"m","messages":[{"role":"user","content":"hello out there"}]%s}`,
	"completions":      `{"model":"m","prompt":"hello out there"%s}`,
}

// TestTokensAreRecorded: the agent gets the bytes that it gets without recording, and the
// ids are kept.
func TestTokensAreRecorded(t *testing.T) {
	for _, kind := range dialect.TokenServers("openai") {
		for path, body := range bodies {
			for _, more := range []string{
				``, `,"stream":true`, `,"n":2`, `,"n":3,"stream":true`, `,"logprobs":null`, `,"stream":true,"stream_options":{"include_usage":true}`,
			} {
				t.Run(kind+" "+path+more, func(t *testing.T) {
					ask := fmt.Sprintf(body, more)
					server := func() *modeltest.Server { return &modeltest.Server{Tokens: &modeltest.TokenServer{Kind: kind}} }
					without, with := startTokens(t, "", server()), startTokens(t, kind, server())
					_, want := without.post(path, ask)
					status, got := with.post(path, ask)
					if got != want || status != 200 || strings.Contains(got, "[1") || strings.Contains(got, `{"content":[`) {
						t.Errorf("%d, the agent gets\n%s\nand without recording\n%s", status, got, want)
					}
					if all := without.sampled(); all[0] != nil {
						t.Errorf("recorded without being asked: %+v", all[0])
					}
					choices := 1
					if _, n, ok := strings.Cut(more, `"n":`); ok {
						choices = int(n[0] - '0')
					}
					one, expected := with.sampled()[0], wanted("hello out there", choices)
					if kind == "tgi" && path == "completions" {
						expected = nil // it reports nothing there
					} else if kind == "tgi" || kind == "openai" {
						expected.Prompt, expected.Problem = nil, "this server reports log-probabilities only"
						for i := range expected.Choices {
							expected.Choices[i].IDs = nil
						}
					}
					if d := cmp.Diff(expected, one); d != "" {
						t.Errorf("recorded (-want +got):\n%s", d)
					}
				})
			}
		}
	}
}

// TestTokensThatTheAgentAsksFor: the agent gets what it asks for itself.
func TestTokensThatTheAgentAsksFor(t *testing.T) {
	for _, c := range []struct{ kind, more string }{
		{"vllm", `,"logprobs":true,"top_logprobs":2`}, {"vllm", `,"return_token_ids":true,"stream":true`},
		{"vllm", `,"return_token_ids":true,"logprobs":true`}, {"vllm", `,"return_token_ids":false,"logprobs":false`},
		{"sglang", `,"return_input_ids_in_sglext":true,"return_output_ids_in_sglext":true,"stream":true`}, {"sglang", `,"logprobs":true,"stream":true`},
	} {
		ask := fmt.Sprintf(bodies["chat/completions"], c.more)
		server := func() *modeltest.Server { return &modeltest.Server{Tokens: &modeltest.TokenServer{Kind: c.kind}} }
		without, with := startTokens(t, "", server()), startTokens(t, c.kind, server())
		_, want := without.post("chat/completions", ask)
		if _, got := with.post("chat/completions", ask); got != want {
			t.Errorf("%s%s: the agent gets\n%s\nand without recording\n%s", c.kind, c.more, got, want)
		}
		if d := cmp.Diff(wanted("hello out there", 1), with.sampled()[0]); d != "" {
			t.Errorf("%s%s: recorded (-want +got):\n%s", c.kind, c.more, d)
		}
	}
}

// TestTokensOfFaultyServers: what is wrong is said, and the agent notices nothing.
func TestTokensOfFaultyServers(t *testing.T) {
	for fault, want := range map[string]string{
		"missing": "reported no token ids", "late": "", "null": "", "floor": "", "none": "",
		"uneven": "choice 0 has 27 ids and 26 log-probabilities", "lost": "26 sampled ids, and the usage has 27 tokens",
	} {
		for _, stream := range []string{``, `,"stream":true`} {
			ask := fmt.Sprintf(bodies["chat/completions"], stream)
			server := func() *modeltest.Server {
				return &modeltest.Server{Tokens: &modeltest.TokenServer{Kind: "vllm", Fault: func(*modeltest.Ask) string { return fault }}}
			}
			without, with := startTokens(t, "", server()), startTokens(t, "vllm", server())
			_, plain := without.post("chat/completions", ask)
			if _, got := with.post("chat/completions", ask); got != plain {
				t.Errorf("%s: the agent gets\n%s\nand without recording\n%s", fault, got, plain)
			}
			one, expected := with.sampled()[0], wanted("hello out there", 1)
			if !strings.Contains(one.Problem, want) || (one.Problem == "") != (want == "") {
				t.Errorf("%s%s: problem %q", fault, stream, one.Problem)
			}
			if one.Problem != "" {
				continue
			}
			for i := range expected.Choices[0].Logprobs {
				switch fault {
				case "null":
					expected.Choices[0].Logprobs[i] = math.NaN()
				case "floor":
					expected.Choices[0].Logprobs[i] = -9999
				}
			}
			if fault == "none" {
				expected.Choices[0].Logprobs = nil
			}
			if d := cmp.Diff(expected, one, cmpopts.EquateNaNs()); d != "" {
				t.Errorf("%s%s: recorded (-want +got):\n%s", fault, stream, d)
			}
		}
	}
}

// TestTokensOfRefusingServers: a server that does not know a member is asked again without
// it, and a mistake of the agent stays one.
func TestTokensOfRefusingServers(t *testing.T) {
	server := &modeltest.Server{Tokens: &modeltest.TokenServer{Kind: "openai"}, Answer: func(a *modeltest.Ask) modeltest.Answer {
		if a.Last() == "too long" {
			return modeltest.Answer{Status: 400, Text: "maximum context length"}
		}
		return modeltest.Answer{Text: "fine"}
	}}
	b := startTokens(t, "vllm", server)
	if status, got := b.post("chat/completions", fmt.Sprintf(bodies["chat/completions"], "")); status != 200 || !strings.Contains(got, "fine") {
		t.Errorf("%d %s", status, got)
	}
	if status, got := b.post("chat/completions", `{"model":"m","messages":[{"role":"user","content":"too long"}]}`); status != 400 || !strings.Contains(got, "maximum context length") {
		t.Errorf("%d %s", status, got)
	}
	if n := len(server.Calls()); n != 4 {
		t.Errorf("the server got %d requests", n)
	}
	all := b.sampled()
	if all[0] == nil || !strings.Contains(all[0].Problem, "refused to report them, with status 400") || all[1] != nil {
		t.Errorf("recorded %+v", all)
	}
}

// TestTokensOfCutStreams: what arrived before the connection broke is kept, and does not
// count.
func TestTokensOfCutStreams(t *testing.T) {
	ask := fmt.Sprintf(bodies["chat/completions"], `,"stream":true`)
	for cut := 50; cut < 3000; cut += 397 {
		b := startTokens(t, "vllm", &modeltest.Server{
			Tokens: &modeltest.TokenServer{Kind: "vllm"}, Fault: func(*modeltest.Ask) modeltest.Fault { return modeltest.Fault{Cut: cut, Drip: 7} },
		})
		_, got := b.post("chat/completions", ask)
		one := b.sampled()[0]
		if !strings.HasSuffix(got, "!") || one == nil || one.Problem != "the response broke off" {
			t.Fatalf("cut after %d: %q, recorded %+v", cut, got, one)
		}
		for event := range strings.SplitSeq(strings.TrimSuffix(got, "!"), "\n\n") {
			if strings.HasSuffix(event, "}") && strings.Contains(event, "token_ids\":[") {
				t.Errorf("cut after %d: the agent gets %s", cut, event)
			}
		}
		if all := wanted("hello out there", 1).Choices[0].IDs; len(one.Choices) > 0 && !slices.Equal(one.Choices[0].IDs, all[:len(one.Choices[0].IDs)]) {
			t.Errorf("cut after %d: recorded %v", cut, one.Choices[0].IDs)
		}
	}
}

// TestTokensOfSecrets: the ids of a text with a secret are not kept.
func TestTokensOfSecrets(t *testing.T) {
	const hidden = "hunter2-hunter2-hunter2"
	server := &modeltest.Server{Tokens: &modeltest.TokenServer{Kind: "vllm"}, Answer: func(a *modeltest.Ask) modeltest.Answer {
		return modeltest.Answer{Text: strings.ReplaceAll(a.Last(), "tell", hidden)}
	}}
	b := startTokens(t, "vllm", server, hidden)
	for _, text := range []string{"hello", "my key is " + hidden, "tell", "hello"} {
		b.post("chat/completions", `{"model":"m","messages":[{"role":"user","content":"`+text+`"}],"max_tokens":90}`)
	}
	for i, one := range b.sampled() {
		if secret := i == 1 || i == 2; secret != strings.Contains(one.Problem, "has a secret") || secret != (one.Prompt == nil) {
			t.Errorf("exchange %d: %+v", i+1, one)
		}
	}
}
