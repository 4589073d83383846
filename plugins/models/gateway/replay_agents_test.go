package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/modeltest"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/message"
)

// talk is how an agent writes its requests in a dialect: the history is a list of
// JSON values.
type talk struct {
	name, provider, model, path string
	user, said                  func(text string) string
	call                        func(c message.Call) string
	result                      func(c message.Call, text string) string
	// body has what differs from run to run in its members.
	body func(history string, run string) string
}

func quoted(s string) string { data, _ := json.Marshal(s); return string(data) }

// talks are the four ways in which real agents stream.
func talks() []talk {
	role := func(who string) func(string) string {
		return func(text string) string { return fmt.Sprintf(`{"role":%q,"content":%s}`, who, quoted(text)) }
	}
	return []talk{
		{
			name: "chat", provider: "openai", model: "gpt-5.5", path: "/v1/chat/completions", user: role("user"), said: role("assistant"),
			call: func(c message.Call) string {
				return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}]}`, c.ID, c.Name, quoted(c.Arguments))
			},
			result: func(c message.Call, text string) string {
				return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%s}`, c.ID, quoted(text))
			},
			body: func(history, run string) string {
				return fmt.Sprintf(`{"model":"gpt-5.5","max_completion_tokens":500,"stream":true,"user":%q,"prompt_cache_key":%q,"messages":[{"role":"system","content":"Solve it. Run id: %s"},%s],"tools":[{"type":"function","function":{"name":"sh","parameters":{"type":"object"}}}]}`, run, run, run, history)
			},
		},
		{
			name: "responses", provider: "openai", model: "gpt-5.5", path: "/v1/responses", user: role("user"), said: role("assistant"),
			call: func(c message.Call) string {
				return fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":%q,"arguments":%s}`, c.ID, c.Name, quoted(c.Arguments))
			},
			result: func(c message.Call, text string) string {
				return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":%s}`, c.ID, quoted(text))
			},
			body: func(history, run string) string {
				return fmt.Sprintf(`{"model":"gpt-5.5","max_output_tokens":500,"stream":true,"store":false,"prompt_cache_key":%q,"client_metadata":{"session":%q},"instructions":"Solve it.","input":[%s],"tools":[{"type":"function","name":"sh","parameters":{"type":"object"}}]}`, run, run, history)
			},
		},
		{
			name: "messages", provider: "anthropic", model: "claude-opus-4-5", path: "/v1/messages", user: role("user"), said: role("assistant"),
			call: func(c message.Call) string {
				return fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]}`, c.ID, c.Name, c.Arguments)
			},
			result: func(c message.Call, text string) string {
				return fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%s}]}`, c.ID, quoted(text))
			},
			body: func(history, run string) string {
				return fmt.Sprintf(`{"model":"claude-opus-4-5","max_tokens":500,"stream":true,"metadata":{"user_id":%q},"system":[{"type":"text","text":"Solve it. Today is %s"}],"messages":[%s],"tools":[{"name":"sh","input_schema":{"type":"object"}}]}`, run, time.Now().Format(time.DateOnly), history)
			},
		},
		{
			name: "gemini", provider: "gemini", model: "gemini-2.5-pro", path: "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
			user: func(text string) string { return fmt.Sprintf(`{"role":"user","parts":[{"text":%s}]}`, quoted(text)) },
			said: func(text string) string { return fmt.Sprintf(`{"role":"model","parts":[{"text":%s}]}`, quoted(text)) },
			call: func(c message.Call) string {
				return fmt.Sprintf(`{"role":"model","parts":[{"functionCall":{"name":%q,"args":%s}}]}`, c.Name, c.Arguments)
			},
			result: func(c message.Call, text string) string {
				return fmt.Sprintf(`{"role":"user","parts":[{"functionResponse":{"name":%q,"response":{"output":%s}}}]}`, c.Name, quoted(text))
			},
			body: func(history, run string) string {
				return fmt.Sprintf(`{"contents":[%s],"generationConfig":{"maxOutputTokens":500},"tools":[{"functionDeclarations":[{"name":"sh","parameters":{"type":"object"}}]}]}`, history)
			},
		},
	}
}

// solve is a program that runs some conversations at once, with pauses of any
// length. It returns all responses of each, byte for byte.
func (k talk) solve(t *testing.T, b *bench, run int, rng *rand.Rand) []string {
	var mu sync.Mutex
	random := func(n int) int { mu.Lock(); defer mu.Unlock(); return rng.IntN(n) }
	got := make([]string, 6)
	var all sync.WaitGroup
	for c := range got {
		all.Go(func() {
			id := fmt.Sprintf("%08x-0000-4000-8000-%012x", random(1<<31), run)
			history := k.user(fmt.Sprintf("Task %d.", c/2)) // two begin alike
			for range 5 {
				time.Sleep(time.Duration(random(2000)) * time.Millisecond)
				text, reply := k.ask(t, b, k.body(history, id))
				got[c] += text + "\n"
				for _, call := range reply.Calls {
					output := fmt.Sprintf("%s: 3 files\n%s in %d.%02ds, pid %d, log in /tmp/tmp%x\n", time.Now().Format(time.RFC3339), call.Arguments, random(9), random(100), random(30000), 1<<20+random(1<<20))
					history += "," + k.call(call) + "," + k.result(call, output)
				}
				if len(reply.Calls) == 0 {
					history += "," + k.said(reply.Text) + "," + k.user("Go on.")
				}
			}
		})
	}
	all.Wait()
	return got
}

func (k talk) ask(t *testing.T, b *bench, body string) (string, message.Message) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway.local/main"+k.path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return "", message.Message{}
	}
	r.Header.Set("Anthropic-Version", "2023-06-01")
	dialect.Named(k.provider).SetKey(r.Header, r.URL.Query(), virtualKey)
	resp, err := b.client.RoundTrip(r)
	if err != nil {
		t.Error(err)
		return "", message.Message{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK || err != nil {
		t.Errorf("status %d, %v: %s", resp.StatusCode, err, text)
	}
	return string(text), message.Response(k.provider, "", text)
}

// TestAgentsReplay records agents of each dialect and replays them, a hundred
// times altogether: other ids, times, pauses and tool outputs, the same bytes.
func TestAgentsReplay(t *testing.T) {
	runs := 25
	if os.Getenv("MLEFLOW_TRANSCRIPT") == "full" {
		runs = 100
	}
	for _, k := range talks() {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { k.replay(t, runs) })
		})
	}
}

func (k talk) replay(t *testing.T, runs int) {
	rng := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	server := &modeltest.Server{Key: realKey, Answer: func(*modeltest.Ask) modeltest.Answer {
		mu.Lock()
		defer mu.Unlock()
		n := rng.IntN(1 << 30)
		if n%3 > 0 {
			return modeltest.Answer{Tools: []modeltest.ToolCall{{Name: "sh", Arguments: map[string]any{"command": fmt.Sprint("run ", n)}}}}
		}
		return modeltest.Answer{Text: fmt.Sprintf("I think %d.", n)}
	}}
	wire := listen()
	web := &http.Server{Handler: server}
	go func() { _ = web.Serve(wire) }()
	defer web.Close()
	m := Model{Name: "main", Provider: k.provider, BaseURL: "http://provider.local", Models: []string{k.model}, Budget: Limits{Cost: 1000 * Dollar}}
	d := dialect.Named(k.provider)
	if k.provider == "openai" {
		m.BaseURL += "/v1"
	}
	transport := NewTransport()
	transport.Proxy, transport.DialContext = nil, wire.Dial
	defer transport.CloseIdleConnections()
	up, err := NewProvider(&m, d, realKey, transport)
	if err != nil {
		t.Fatal(err)
	}
	live := serveDialect(t, t.TempDir(), m, d, up)
	want := k.solve(t, live, 0, rng)
	live.stop()
	r, err := transcript.OpenReader(os.DirFS(filepath.Join(live.dir, "transcript")))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	equal, normalised := 0, 0
	for run := 1; run <= runs && !t.Failed(); run++ {
		p, err := transcript.NewPlayer(func(_ string, op dialect.Operation, body []byte) (dialect.Canonical, error) {
			return d.Canonical(string(op), body)
		}, nil, r)
		if err != nil {
			t.Fatal(err)
		}
		again := serveDialect(t, t.TempDir(), m, d, NewReplay(p, Fail, nil))
		got := k.solve(t, again, run, rng)
		again.stop()
		if alike(got, want) {
			equal++
		}
		played, err := transcript.OpenReader(os.DirFS(filepath.Join(again.dir, "transcript")))
		if err != nil {
			t.Fatal(err)
		}
		hits := 0
		for e, err := range played.Events() {
			if err != nil || !e.Replayed {
				t.Errorf("run %d: %+v, %v", run, e, err)
				break
			}
			if hits++; e.Normalised {
				normalised++
			}
		}
		if err := played.Close(); err != nil || hits != 30 {
			t.Errorf("run %d: %d replayed, %v", run, hits, err)
		}
	}
	t.Logf("%s: %d of %d replays are equal, %d of %d exchanges were normalised", k.name, equal, runs, normalised, runs*30)
	if equal != runs {
		t.Errorf("%d of %d replays are equal", equal, runs)
	}
}

// alike compares conversations; two that begin alike may change places.
func alike(got, want []string) bool {
	for c := 0; c < len(want); c += 2 {
		if got[c]+got[c+1] != want[c]+want[c+1] && got[c+1]+got[c] != want[c]+want[c+1] {
			return false
		}
	}
	return true
}
