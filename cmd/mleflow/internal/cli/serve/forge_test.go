package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/runs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/mcp"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/rollout"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/service"
)

// lab is a server with people, a submission of ada and its run, behind a proxy with a path.
type lab struct {
	*server
	acts bytes.Buffer
	// submission and run are ada's, other is a run that nobody submitted.
	submission, run, other string
	// rollout is ada's, which waits.
	rollout string
	cache   string
}

// tokens are those of the people in labFile.
var tokens = map[string]string{
	"ada": strings.Repeat("a", 40), "bob": strings.Repeat("b", 40), "vera": strings.Repeat("v", 40), "root": strings.Repeat("r", 40),
}

const labFile = `
url = "https://lab.example.org/mleflow"
user "ada" {
  role  = "operator"
  token = "file:ada"
}
user "bob" {
  role  = "operator"
  token = "file:bob"
}
user "vera" {
  role  = "viewer"
  token = "file:vera"
}
user "root" {
  role  = "admin"
  token = "file:root"
  limits {
    weight = 2
  }
}
proxy {
  header = "X-Remote-User"
  from   = ["127.0.0.9"]
}
`

func writeLab(t testing.TB, text string) string {
	t.Helper()
	dir := t.TempDir()
	for name, token := range tokens {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "serve.hcl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func newLab(t testing.TB) *lab {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	s, err := read(ctx, writeLab(t, labFile))
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{run: "20260101T000000-aaaaaaaa", other: "20260101T000001-bbbbbbbb", cache: t.TempDir()}
	a := app.NewApp(&app.Terminal{Stdout: io.Discard, Stderr: io.Discard})
	a.CacheDir = l.cache
	if err := a.WithCache(func(*disk.Cache) error { return nil }); err != nil {
		t.Fatal(err)
	}
	queue, err := service.Open(l.cache, s.options)
	if err != nil {
		t.Fatal(err)
	}
	sub, err := queue.Submit(ctx, "ada", service.Manifest{Pipeline: "demo.hcl"})
	if err != nil {
		t.Fatal(err)
	}
	l.submission = sub.ID
	if err := queue.Close(); err != nil {
		t.Fatal(err)
	}
	l.setRun(t)
	if queue, err = service.Open(l.cache, s.options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = queue.Close() })
	for _, id := range []string{l.run, l.other} {
		l.writeRun(t, id)
	}
	pages, end, err := runs.Pages(ctx, a, s.at.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = end() })
	l.server = newServer(s, []byte("key"), pages, queue, l.options(a), func() *app.App { return quiet(a) }, &l.acts)
	if l.rollouts, err = rollout.Open(filepath.Join(l.cache, folder, "rollouts"), idle{}, rollout.Options{Parallel: 1, Say: func(string) {}}); err != nil {
		t.Fatal(err)
	}
	one, _, err := l.rollouts.Submit(ctx, "ada", rollout.Request{Key: "ada's", Agent: "a", Competition: "demo-digits"})
	if err != nil {
		t.Fatal(err)
	}
	l.rollout = one.ID
	return l
}

// idle makes attempts of the agent a at once.
type idle struct{}

func (idle) Check(_ context.Context, r rollout.Request) error {
	if r.Agent != "a" {
		return fmt.Errorf("%w: agent %q", rollout.ErrInvalid, r.Agent)
	}
	return nil
}

func (idle) Run(_ context.Context, r rollout.Rollout, report func(rollout.State, string)) (*rollout.Result, error) {
	report(rollout.Grading, "run")
	return &rollout.Result{Reward: 0.5, Attempt: r.Attempt, Run: "run"}, nil
}

// options are those of tools of a program that has only the commands with tools that read the cache.
// What a tool runs is a line of acts: forged requests run none.
func (l *lab) options(a *app.App) mcp.Options {
	root := &cobra.Command{Use: "mleflow"}
	root.AddCommand(runs.NewRuns(a), runs.NewShow(a), runs.NewWait(a), runs.NewAttempts(a), runs.NewLogs(a), leaderboard.NewLeaderboard(a), runs.NewDiff(a))
	return mcp.Options{Root: root, Acts: true, Files: true, Run: func(_ context.Context, args []string, stdout, _ io.Writer) int {
		fmt.Fprintln(&l.acts, args)
		_, _ = io.WriteString(stdout, "{}")
		return 0
	}}
}

// setRun writes into the queue that ada's submission has a run.
func (l *lab) setRun(t testing.TB) {
	t.Helper()
	path := filepath.Join(l.cache, folder, "queue", l.submission, "submission.json")
	text, err := os.ReadFile(path)
	var doc map[string]any
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	doc["run"], doc["runs"] = l.run, []string{l.run}
	if text, err = json.Marshal(doc); err == nil {
		err = os.Remove(path)
	}
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (l *lab) writeRun(t testing.TB, id string) {
	t.Helper()
	dir := filepath.Join(l.cache, "runs", id)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"run.json":     fmt.Sprintf(`{"id":%q,"pipeline":"/lab/demo.hcl","started":"2026-01-01T00:00:00Z","version":"dev"}`, id),
		"plan.json":    `{"steps":[]}`,
		"events.jsonl": `{"type":"run_started","at":"2026-01-01T00:00:00Z","run":"` + id + `"}` + "\n" + `{"type":"warning","at":"2026-01-01T00:00:01Z","text":"mind"}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// forged is a request: what is not set is right.
type forged struct {
	name                      string
	method, path, host, query string
	// bearer, cookie and proxied name the person whose credential it has.
	bearer, cookie, proxied string
	peer                    string
	kind, site, origin      string
	headers                 http.Header
}

const labHost = "lab.example.org"

// cookieOf is the cookie of a person's browser.
func (l *lab) cookieOf(name string) string {
	for _, p := range l.people.people {
		if p.Name == name {
			return l.people.session(p, time.Now().Add(time.Hour))
		}
	}
	return "nobody"
}

func (l *lab) send(rt Route, f forged) *httptest.ResponseRecorder {
	target := "/mleflow" + strings.NewReplacer("{run}", l.run, "{submission}", l.submission, "{rollout}", l.rollout, "{digest}", strings.Repeat("0", 64), "{link}", "x", "{page...}", "runs").Replace(rt.Path)
	if f.path != "" {
		target = f.path
	}
	body := map[string]string{"steerAttempts": `{"act":"stop","attempts":["*"]}`, "steerRun": `{"act":"drain"}`, "listMissingFiles": `{"digests":[]}`, "submit": `{"pipeline":"demo.hcl","files":[]}`,
		"rollout": `{"key":"k","agent":"a","competition":"demo-digits"}`, "setPriority": `{"priority":-9}`, "publishSubmission": `{"public":true}`}[rt.Name]
	if rt.Reads {
		body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"runs","arguments":{}}}`
	}
	method := rt.Method
	if f.method != "" {
		method = f.method
	}
	if body == "" {
		body = "{}"
	}
	r := httptest.NewRequest(method, "https://lab.example.org"+target+f.query, strings.NewReader(body))
	if r.Host = labHost; f.host != "" {
		r.Host = f.host
	}
	if r.RemoteAddr = "127.0.0.1:5"; f.peer != "" {
		r.RemoteAddr = f.peer + ":5"
	}
	set := func(name, value string) {
		if value != "" && value != "none" {
			r.Header.Set(name, value)
		}
	}
	kind := f.kind
	switch {
	case kind != "":
	case rt.Method == "PUT":
		kind = rt.Type
	case rt.Name == "" && rt.changes():
		kind = "application/x-www-form-urlencoded"
		set("Sec-Fetch-Site", "same-origin")
		set("Origin", "null")
	case rt.Method == "POST":
		kind = "application/json"
	}
	set("Content-Type", kind)
	if rt.Path == "/mcp" {
		set("Accept", "application/json, text/event-stream")
	}
	set("Sec-Fetch-Site", f.site)
	set("Origin", f.origin)
	if f.bearer != "" {
		r.Header.Set("Authorization", "Bearer "+f.bearer)
	}
	if f.cookie != "" {
		r.AddCookie(&http.Cookie{Name: l.people.cookie, Value: f.cookie})
	}
	set("X-Remote-User", f.proxied)
	for name, list := range f.headers {
		r.Header[name] = list
	}
	if rt.Name == "followRollout" { // which waits
		ctx, end := context.WithTimeout(r.Context(), 10*time.Millisecond)
		defer end()
		r = r.WithContext(ctx)
	}
	w := httptest.NewRecorder()
	l.ServeHTTP(w, r)
	return w
}

// strangers are requests that must do nothing at a route with a role, whoever owns the run.
func (l *lab) strangers(rt Route) []forged {
	ada, root := l.cookieOf("ada"), l.cookieOf("root")
	list := []forged{
		{name: "nobody"},
		{name: "wrong token", bearer: strings.Repeat("x", 40)},
		{name: "empty token", headers: http.Header{"Authorization": {"Bearer "}}},
		{name: "other scheme", headers: http.Header{"Authorization": {"Basic " + tokens["root"]}}},
		{name: "two tokens", headers: http.Header{"Authorization": {"Bearer " + tokens["root"], "Bearer x"}}},
		{name: "a wrong token beside a cookie", bearer: strings.Repeat("x", 40), cookie: root},
		{name: "token in the address", query: "?token=" + tokens["root"]},
		{name: "token as access_token", query: "?access_token=" + tokens["root"]},
		{name: "token as cookie", cookie: tokens["root"]},
		{name: "forged cookie", cookie: "root~99999999999~x"},
		{name: "cookie of another name", cookie: strings.Replace(ada, "ada~", "root~", 1)},
		{name: "old cookie", cookie: l.people.session(l.people.people[3], time.Now().Add(-time.Minute))},
		{name: "cookie with another end", cookie: strings.Replace(root, "~1", "~2", 1)},
		{name: "header of a stranger", proxied: "root", peer: "127.0.0.1"},
		{name: "header of a neighbour", proxied: "root", peer: "192.168.7.7"},
		{name: "header with a claimed peer", proxied: "root", headers: http.Header{"X-Forwarded-For": {"127.0.0.9"}, "Forwarded": {"for=127.0.0.9"}, "X-Real-Ip": {"127.0.0.9"}}},
		{name: "two headers", peer: "127.0.0.9", headers: http.Header{"X-Remote-User": {"root", "vera"}}},
		{name: "unknown name by the proxy", peer: "127.0.0.9", proxied: "mallory"},
		{name: "empty name by the proxy", peer: "127.0.0.9", headers: http.Header{"X-Remote-User": {""}}},
		{name: "list by the proxy", peer: "127.0.0.9", proxied: "root, vera"},
		{name: "other header", peer: "127.0.0.9", headers: http.Header{"X-Remote_user": {"root"}, "X-Forwarded-User": {"root"}}},
		{name: "wrong host", host: "evil.example", bearer: tokens["root"]},
		{name: "host that looks like ours", host: "lab.example.org.evil.example", cookie: root},
		{name: "host by a header", host: "evil.example", cookie: root, headers: http.Header{"X-Forwarded-Host": {labHost}}},
		{name: "no base path", path: strings.Replace(l.pathOf(rt), "/mleflow", "", 1), bearer: tokens["root"], method: rt.Method},
		{name: "other base path", path: "/other" + l.pathOf(rt), bearer: tokens["root"]},
		{name: "base path with a suffix", path: strings.Replace(l.pathOf(rt), "/mleflow", "/mleflowx", 1), bearer: tokens["root"]},
		{name: "base path in capitals", path: strings.Replace(l.pathOf(rt), "/mleflow", "/MLEFLOW", 1), bearer: tokens["root"]},
		{name: "two slashes", path: strings.Replace(l.pathOf(rt), "/mleflow/", "/mleflow//", 1), bearer: tokens["root"]},
		{name: "dots", path: strings.Replace(l.pathOf(rt), "/mleflow/", "/mleflow/x/../", 1), bearer: tokens["root"]},
		{name: "encoded dots", path: strings.Replace(l.pathOf(rt), "/mleflow/", "/mleflow/x/%2e%2e/", 1), bearer: tokens["root"]},
		{name: "encoded slash", path: strings.Replace(l.pathOf(rt), "/mleflow/", "/mleflow%2f", 1), bearer: tokens["root"]},
		{name: "backslash", path: strings.Replace(l.pathOf(rt), "/mleflow/", "/mleflow/%5c", 1), bearer: tokens["root"]},
		{name: "cross-site cookie", cookie: root, site: "cross-site"},
		{name: "same-site cookie", cookie: root, site: "same-site"},
		{name: "other origin", cookie: root, origin: "https://evil.example"},
		{name: "other scheme of the origin", cookie: root, origin: "http://lab.example.org"},
		{name: "other port", cookie: root, origin: "https://lab.example.org:8443"},
		{name: "cross-site by the proxy", peer: "127.0.0.9", proxied: "root", site: "cross-site", origin: "https://evil.example"},
		{name: "navigation from elsewhere", cookie: root, site: "cross-site", origin: "https://evil.example", headers: http.Header{"Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}},
	}
	if rt.Method != "GET" {
		list = append(list,
			forged{name: "form", cookie: root, kind: "application/x-www-form-urlencoded", site: "cross-site"},
			forged{name: "plain text", cookie: root, kind: "text/plain", site: "none"},
			forged{name: "form of an unknown page", cookie: root, kind: "multipart/form-data", origin: "null", site: "cross-site"},
			forged{name: "navigation without an origin", cookie: root, site: "cross-site", headers: http.Header{"Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}},
			forged{name: "no type", cookie: root, kind: "none"},
		)
	}
	if rt.changes() {
		list = append(list,
			forged{name: "viewer", bearer: tokens["vera"]},
			forged{name: "viewer's cookie", cookie: l.cookieOf("vera"), site: "same-origin"},
			forged{name: "viewer by the proxy", peer: "127.0.0.9", proxied: "vera"},
			forged{name: "viewer who claims a role", bearer: tokens["vera"], headers: http.Header{"X-Role": {"admin"}, "X-Remote-User": {"root"}}},
			forged{name: "GET with an override", method: "GET", bearer: tokens["vera"], headers: http.Header{"X-Http-Method-Override": {rt.Method}, "X-Method-Override": {rt.Method}}},
			forged{name: "GET with _method", method: "GET", cookie: root, query: "?_method=" + rt.Method},
			forged{name: "HEAD", method: "HEAD", cookie: root},
			forged{name: "OPTIONS", method: "OPTIONS", bearer: tokens["root"]},
			forged{name: "DELETE", method: "DELETE", bearer: tokens["root"]},
			forged{name: "PATCH", method: "PATCH", bearer: tokens["root"]},
			forged{name: "small letters", method: strings.ToLower(rt.Method), bearer: tokens["root"]},
		)
		if rt.Own {
			own := l.submission
			if strings.Contains(rt.Path, "{rollout}") {
				own = l.rollout
			}
			list = append(list,
				forged{name: "other operator", bearer: tokens["bob"]},
				forged{name: "other operator's cookie", cookie: l.cookieOf("bob"), site: "same-origin"},
				forged{name: "other operator by the proxy", peer: "127.0.0.9", proxied: "bob"},
				forged{name: "operator of a run of nobody", path: strings.Replace(strings.Replace(l.pathOf(rt), l.run, l.other, 1), own, "none", 1), bearer: tokens["ada"]},
				forged{name: "operator of a run by another name", path: strings.Replace(strings.Replace(l.pathOf(rt), l.run, "latest", 1), own, "..", 1), bearer: tokens["ada"]},
			)
		}
	}
	return list
}

func (l *lab) pathOf(rt Route) string {
	return "/mleflow" + strings.NewReplacer("{run}", l.run, "{submission}", l.submission, "{rollout}", l.rollout, "{digest}", strings.Repeat("0", 64), "{page...}", "runs").Replace(rt.Path)
}

// TestForged sends forged requests to each route: none does anything, and none reads.
func TestForged(t *testing.T) {
	l := newLab(t)
	state := func() string { return fmt.Sprint(l.service.List(), l.rollouts.List(10)) }
	before, sent := state(), 0
	for _, rt := range Routes() {
		if rt.Role == Nobody {
			continue
		}
		for _, f := range l.strangers(rt) {
			l.people.failed = failures{} // each is the first
			res := l.send(rt, f)
			sent++
			if harmless := f.method != "" && f.method != rt.Method; res.Code < 300 && !harmless {
				t.Errorf("%s %s, %s: status %d: %.200s", rt.Method, rt.Path, f.name, res.Code, res.Body)
			}
			if strings.Contains(res.Body.String(), tokens["root"]) || len(res.Result().Cookies()) > 0 {
				t.Errorf("%s %s, %s: it gives a credential", rt.Method, rt.Path, f.name)
			}
		}
	}
	if l.acts.Len() > 0 {
		t.Errorf("acts: %s", &l.acts)
	}
	if after := state(); after != before {
		t.Errorf("submissions or rollouts were changed:\n%s\n%s", before, after)
	}
	for _, id := range []string{l.run, l.other} {
		for _, name := range []string{"requests", "about.json"} {
			if _, err := os.Stat(filepath.Join(l.cache, "runs", id, name)); err == nil {
				t.Errorf("run %s has %s", id, name)
			}
		}
	}
	if sent < 500 {
		t.Errorf("only %d requests", sent)
	}
	t.Logf("%d forged requests", sent)
}

// TestAllowed sends each route what its people may send: the forged requests differ from these
// by what is wrong with them.
func TestAllowed(t *testing.T) {
	for _, rt := range Routes() {
		if rt.Role == Nobody {
			continue
		}
		may := map[Role][]string{Viewer: {"vera", "ada", "bob", "root"}, Operator: {"ada", "bob", "root"}}[rt.Role]
		if rt.Own {
			may = []string{"ada", "root"}
		}
		t.Run(rt.Method+" "+rt.Path, func(t *testing.T) {
			l := newLab(t)
			for _, name := range may {
				for _, f := range []forged{{name: "bearer", bearer: tokens[name]}, {name: "cookie", cookie: l.cookieOf(name), site: "same-origin"}, {name: "proxy", peer: "127.0.0.9", proxied: name}} {
					l.acts.Reset()
					res := l.send(rt, f)
					if strings.Contains(res.Body.String(), "earlier start") {
						continue // the form of a page has a token of its own
					}
					if f.proxied != "" && !rt.changes() { // a proxy that signs people in by a password passes it on
						f.headers = http.Header{"Authorization": {"Basic YWRhOmhlbGxv"}}
						if again := l.send(rt, f); again.Code != res.Code {
							t.Errorf("%s by the proxy with a password: status %d", name, again.Code)
						}
					}
					if res.Code == 401 || res.Code == 403 || res.Code == 415 || res.Code >= 500 {
						t.Errorf("%s by %s: status %d: %s", name, f.name, res.Code, res.Body)
					}
					if want := fmt.Sprintf(`"by":%q`, name); rt.changes() && !strings.Contains(l.acts.String(), want) {
						t.Errorf("%s by %s: no line of it: %s", name, f.name, &l.acts)
					}
				}
			}
		})
	}
}

// TestFailures limits wrong tokens by address, also those in the form.
func TestFailures(t *testing.T) {
	l := newLab(t)
	whoami := Route{Method: "GET", Path: api + "/whoami"}
	for range maxFailures {
		if res := l.send(whoami, forged{bearer: strings.Repeat("x", 40)}); res.Code != 401 {
			t.Fatalf("status %d", res.Code)
		}
	}
	if res := l.send(whoami, forged{bearer: tokens["ada"]}); res.Code != 429 {
		t.Errorf("after %d wrong tokens: status %d", maxFailures, res.Code)
	}
	if res := l.send(whoami, forged{cookie: l.cookieOf("ada")}); res.Code != 200 {
		t.Errorf("who is signed in: status %d", res.Code)
	}
	if res := l.send(whoami, forged{bearer: tokens["ada"], peer: "127.0.0.9", headers: http.Header{"X-Forwarded-For": {"10.1.2.3"}}}); res.Code != 200 {
		t.Errorf("from another address: status %d", res.Code)
	}
}
