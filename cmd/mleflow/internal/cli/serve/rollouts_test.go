package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/rollout"
	"github.com/mleflow/mleflow/engine/addr"
)

// ask sends a request of ada to the routes of rollouts.
func (l *lab) ask(t *testing.T, method, path, body string, headers http.Header) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, "https://lab.example.org/mleflow/api/v1/rollouts"+path, strings.NewReader(body))
	r.Host, r.RemoteAddr = labHost, "127.0.0.1:5"
	r.Header.Set("Authorization", "Bearer "+tokens["ada"])
	r.Header.Set("Content-Type", "application/json")
	for name, list := range headers {
		r.Header[http.CanonicalHeaderKey(name)] = list
	}
	w := httptest.NewRecorder()
	l.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// TestRollouts takes requests once for a key, and follows what becomes of them.
func TestRollouts(t *testing.T) {
	l := newLab(t)
	const one = `{"agent":"a","competition":"demo-digits","seed":3,"data":{"micro":5,"seed":1}`
	key := func(list ...string) http.Header { return http.Header{"Idempotency-Key": list} }
	for _, tt := range []struct {
		name, body string
		headers    http.Header
		status     int
		want       string
	}{
		{"by header", one + "}", key("k"), 202, `"attempt": "a/demo-digits/3"`},
		{"again, by member", one + `,"key":"k"}`, nil, 200, `"micro": 5`},
		{"another body", strings.Replace(one, "3", "4", 1) + "}", key("k"), 409, "use a new key"},
		{"no key", one + "}", nil, 400, "Idempotency-Key"},
		{"two keys", one + "}", key("k", "l"), 400, "two keys"},
		{"a key and another", one + `,"key":"l"}`, key("k"), 400, "two keys"},
		{"an agent by a path", `{"agent":"../a","competition":"demo-digits"}`, key("p"), 400, "agent"},
		{"another owner's key", `{"agent":"a","competition":"demo-digits","owner":"root"}`, key("p"), 400, "owner"},
		{"a negative seed", `{"agent":"a","competition":"demo-digits","seed":-1}`, key("p"), 400, "seed"},
		{"what would not end", `{"agent":"` + strings.Repeat("a", maxBody), key("p"), 400, "too large"},
		{"a set", `{"agent":"a","split":"demo"}`, key("s"), 202, `"key": "s/demo-digits"`},
		{"the same set", `{"agent":"a","competitions":["demo-digits","demo-cancer"]}`, key("s"), 200, `"key": "s/demo-cancer"`},
		{"a competition twice", `{"agent":"a","competitions":["demo-digits","demo-digits"]}`, key("t"), 400, "each once"},
		{"a set and a competition", `{"agent":"a","competition":"demo-digits","split":"demo"}`, key("t"), 400, "name one of"},
		{"no set", `{"agent":"a","split":"nope"}`, key("t"), 400, "split"},
	} {
		if status, text := l.ask(t, "POST", "", tt.body, tt.headers); status != tt.status || !strings.Contains(text, tt.want) {
			t.Errorf("%s: status %d: %.300s", tt.name, status, text)
		}
	}
	var all Rollouts
	_, text := l.ask(t, "GET", "", "", nil)
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all.Rollouts) != 4 || all.Rollouts[3].Key != "ada's" {
		t.Fatalf("%v: %s", err, text)
	}
	if status, text := l.ask(t, "GET", "?limit=2", "", nil); status != 200 || strings.Count(text, `"id"`) != 2 {
		t.Errorf("two of them: status %d: %s", status, text)
	}
	at := "/" + all.Rollouts[2].ID
	for path, want := range map[string]int{at + "?wait=1h": 400, at + "?wait=x": 400, at + "?wait=1ms": 200, at + "/trajectory": 409, "/none": 404, "/none/events": 404, "/none/trajectory": 404} {
		if status, text := l.ask(t, "GET", path, "", nil); status != want {
			t.Errorf("GET %s: status %d: %s", path, status, text)
		}
	}
	if status, text := l.ask(t, "POST", "/"+l.rollout+"/cancel", "{}", nil); status != 200 || !strings.Contains(text, `"state": "cancelled"`) {
		t.Errorf("cancel: status %d: %s", status, text)
	}
	if status, _ := l.ask(t, "POST", "/"+l.rollout+"/cancel", "{}", nil); status != 409 {
		t.Errorf("cancel again: status %d", status)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.rollouts.Run(ctx) }()
	if status, text := l.ask(t, "GET", at+"?wait=60s", "", nil); status != 200 || !strings.Contains(text, `"reward": 0.5`) {
		t.Errorf("its end: status %d: %s", status, text)
	}
	_, text = l.ask(t, "GET", at+"/events", "", nil)
	for _, want := range []string{"id: 1\ndata: {", `"state":"queued"`, `"state":"running"`, `"state":"grading"`, `"state":"done"`, "/mleflow/api/v1/rollouts" + at + "/cancel", "event: end"} {
		if !strings.Contains(text, want) {
			t.Errorf("the events lack %s:\n%s", want, text)
		}
	}
	if _, rest := l.ask(t, "GET", at+"/events", "", http.Header{"Last-Event-Id": {"2"}}); !strings.HasPrefix(rest, "id: 3\n") {
		t.Errorf("continued: %s", rest)
	}
	if status, text := l.ask(t, "GET", "/"+l.rollout+"/trajectory", "", nil); status != 404 || !strings.Contains(text, "cancelled") {
		t.Errorf("the trajectory of one that was cancelled: status %d: %s", status, text)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	l.rollouts = nil
	if status, text := l.ask(t, "GET", at, "", nil); status != 404 || !strings.Contains(text, "no block rollouts") {
		t.Errorf("without a block: status %d: %s", status, text)
	}
}

const trainFile = `
variable "url" { default = "http://127.0.0.1:8000/v1" }
model "policy" {
  provider = "openai"
  base_url = var.url
  models   = ["policy-*"]
  price "*" {
    input  = "0 USD"
    output = "0 USD"
  }
  budget { cost = "2 USD" }
}
model "judge" {
  provider = "openai"
  base_url = "http://127.0.0.1:8001/v1"
  key      = "env:JUDGE_KEY"
  models   = ["judge"]
  price "*" {
    input  = "0 USD"
    output = "0 USD"
  }
}
agent "learner" {
  command = ["mleflow", "agent", "dummy"]
  models  = [model.policy, model.judge]
}
agent "dummy" { command = ["mleflow", "agent", "dummy"] }
agent "other" { command = ["mleflow", "agent", "dummy"] }
`

// offered opens the attempts of a server that offers two agents of trainFile.
func offered(t testing.TB) *attempts {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "train.hcl")
	if err := os.WriteFile(path, []byte(trainFile), 0o600); err != nil {
		t.Fatal(err)
	}
	a := app.NewApp(&app.Terminal{Stdout: t.Output(), Stderr: t.Output(), Environ: []string{"PATH=" + os.Getenv("PATH")}})
	a.CacheDir = t.TempDir()
	x, err := newAttempts(a, rolloutsBlock{Pipeline: path, Agents: []string{"learner", "dummy"}, BaseURLs: []string{"http://10.0.0.5:8000/v1"}, Time: "1h", Runtime: "process"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// TestAsked refuses what the server's administrator has not allowed, and reads no request as a
// program.
func TestAsked(t *testing.T) {
	x := offered(t)
	for _, tt := range []struct{ name, body, want string }{
		{"the least", `{"agent":"dummy"}`, ""},
		{"all", `{"agent":"learner","data":{"micro":9,"seed":2},"model":{"block":"policy","name":"policy-7","base_url":"http://10.0.0.5:8000/v1"},"limits":{"time":"10m","turns":9,"tokens":99,"cost":"1.5 USD"},"reward":{"kind":"percentile","on":"validation"}}`, ""},
		{"its own address", `{"agent":"learner","model":{"base_url":"http://127.0.0.1:8000/v1"}}`, ""},
		{"an agent that is not offered", `{"agent":"other"}`, "the server offers dummy, learner"},
		{"a path", `{"agent":"../train"}`, "the server offers"},
		{"a template", `{"agent":"${path.module}"}`, "the server offers"},
		{"no such competition", `{"agent":"dummy","competition":"../demo-digits"}`, "no competition"},
		{"a model of an agent without", `{"agent":"dummy","limits":{"turns":1}}`, "has no model"},
		{"another's block", `{"agent":"learner","model":{"block":"x"}}`, "has policy, judge"},
		{"a model that is not allowed", `{"agent":"learner","model":{"name":"gpt-5.5"}}`, "allows policy-*"},
		{"a pattern", `{"agent":"learner","model":{"name":"policy-*"}}`, "allows policy-*"},
		{"a template of a model", `{"agent":"learner","model":{"name":"policy-${1+1}"}}`, ""},
		{"the machine's metadata", `{"agent":"learner","model":{"base_url":"http://169.254.169.254/v1"}}`, "base_urls"},
		{"an address with more", `{"agent":"learner","model":{"base_url":"http://10.0.0.5:8000/v1/../x"}}`, "base_urls"},
		{"an address with a name", `{"agent":"learner","model":{"base_url":"http://10.0.0.5:8000@evil.example/v1"}}`, "base_urls"},
		{"a key elsewhere", `{"agent":"learner","model":{"block":"judge","base_url":"http://10.0.0.5:8000/v1"}}`, "has a key"},
		{"more money", `{"agent":"learner","limits":{"cost":"3 USD"}}`, "has less"},
		{"other money", `{"agent":"learner","limits":{"cost":"1 EUR"}}`, "not an amount"},
		{"more time", `{"agent":"dummy","limits":{"time":"61m"}}`, "up to 1h"},
		{"no time", `{"agent":"dummy","limits":{"time":"0s"}}`, "up to 1h"},
		{"a medal of a rehearsal", `{"agent":"dummy","data":"rehearsal","reward":{"kind":"medal"}}`, "sample, margin"},
	} {
		r := rollout.Request{Competition: "demo-digits"}
		if err := json.Unmarshal([]byte(tt.body), &r); err != nil {
			t.Fatal(err)
		}
		r.Reward.On = "test"
		if err := json.Unmarshal([]byte(tt.body), &r); err != nil {
			t.Fatal(err)
		}
		err := x.Check(t.Context(), r)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	p, err := x.program(rollout.Rollout{ID: "x", Request: rollout.Request{Agent: "learner", Competition: "demo-digits", Model: rollout.Model{Name: "policy-${1+1}"}}})
	if err != nil {
		t.Fatal(err)
	}
	at, _ := p.Find(addr.Single(attemptStep))
	args, _ := p.Args(at)
	if got := fmt.Sprint(args.Get("agent").GetAttr("models")); !strings.Contains(got, `policy-${1+1}`) || strings.Contains(got, "policy-2") {
		t.Errorf("the name of the model was evaluated: %s", got)
	}
}

// TestReadOnce reads the pipeline once for requests that differ in values only, and again when
// a rollout runs: its file may be another by then.
func TestReadOnce(t *testing.T) {
	x := offered(t)
	ask := func(seed uint32, agent string) rollout.Request {
		return rollout.Request{Agent: agent, Competition: "demo-digits", Seed: seed, Data: rollout.Data{Micro: 9, Seed: seed}, Reward: rollout.Reward{On: "test"}}
	}
	if err := x.Check(t.Context(), ask(1, "dummy")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(x.block.Pipeline); err != nil {
		t.Fatal(err)
	}
	if err := x.Check(t.Context(), ask(2, "dummy")); err != nil {
		t.Errorf("it was read again: %v", err)
	}
	if err := x.Check(t.Context(), ask(2, "learner")); !errors.Is(err, rollout.ErrInvalid) {
		t.Errorf("another agent: %v", err)
	}
	bad := ask(2, "dummy")
	bad.Limits.Time = "2h"
	if err := x.Check(t.Context(), bad); !errors.Is(err, rollout.ErrInvalid) {
		t.Errorf("its values are not looked at: %v", err)
	}
	if _, err := x.Run(t.Context(), rollout.Rollout{ID: "x", Request: ask(2, "dummy")}, func(rollout.State, string) {}); !errors.Is(err, rollout.ErrInvalid) {
		t.Errorf("without its file: %v", err)
	}
}
