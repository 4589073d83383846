package serve

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/rollout"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui"
	sandbox "github.com/mleflow/mleflow/plugins/sandbox/service"
)

// TestConfig refuses files that would let in the wrong people, and says what to write.
func TestConfig(t *testing.T) {
	user := "user \"ada\" {\n  role = \"admin\"\n  token = \"file:ada\"\n}\n"
	for _, tt := range []struct{ name, text, want string }{
		{"nobody", "", "mleflow serve token"},
		{"a token in the file", "user \"ada\" {\n  role = \"admin\"\n  token = \"" + strings.Repeat("a", 40) + "\"\n}", "does not belong into the file"},
		{"a word as the token", "user \"ada\" {\n  role = \"admin\"\n  token = \"command:echo hunter2\"\n}", "Weak token"},
		{"no token", "user \"ada\" {\n  role = \"admin\"\n}", "cannot sign in"},
		{"half a digest", "user \"ada\" {\n  role = \"admin\"\n  token_sha256 = \"abcd\"\n}", "64 hexadecimal"},
		{"no such role", "user \"ada\" {\n  role = \"boss\"\n  token = \"file:ada\"\n}", "viewer, operator, admin"},
		{"no role", "user \"ada\" {\n  token = \"file:ada\"\n}", "role"},
		{"the same person twice", user + user, "Duplicate user"},
		{"a shared token", user + strings.Replace(user, `"ada" `, `"bob" `, 1), "token of another user"},
		{"a name with a line break", "user \"a\\nb\" {\n  role = \"admin\"\n  token = \"file:ada\"\n}", "Invalid name"},
		{"open without TLS", "listen = \"10.0.0.1:80\"\n" + user, "No encryption"},
		{"all addresses without a url", "listen = \"0.0.0.0:80\"\ntls {\n  certificate = \"c\"\n  key = \"k\"\n}\n" + user, "url is missing"},
		{"http elsewhere", "url = \"http://lab.example.org\"\n" + user, "must begin with https"},
		{"everybody a proxy", "proxy {\n  header = \"X-User\"\n  from = [\"0.0.0.0/0\"]\n}\n" + user, "everybody would be a proxy"},
		{"the header of tokens", "proxy {\n  header = \"authorization\"\n  from = [\"127.0.0.1\"]\n}\n" + user, "Invalid header"},
		{"a secret of a stranger", "secret \"K_1\" {\n  from = \"env:K\"\n  owners = [\"adda\"]\n}\n" + user, `Did you mean "ada"?`},
		{"a typo", "lisen = \"127.0.0.1:1\"\n" + user, "lisen"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := read(t.Context(), writeLab(t, tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	path := writeLab(t, user)
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t.Context(), path); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("a file that others can write: %v", err)
	}
}

// TestRestart keeps browsers signed in, but not those whose token was changed.
func TestRestart(t *testing.T) {
	l := newLab(t)
	old := l.cookieOf("ada")
	whoami := Route{Method: "GET", Path: api + "/whoami"}
	l.people = &people{settings: l.people.settings, key: []byte("key"), cookie: l.people.cookie}
	if res := l.send(whoami, forged{cookie: old}); res.Code != 200 {
		t.Errorf("after a restart: status %d", res.Code)
	}
	l.people.people[0].sum[0]++
	if res := l.send(whoami, forged{cookie: old}); res.Code != 401 {
		t.Errorf("with another token: status %d", res.Code)
	}
}

// TestSignIn signs a browser in by the form, to the page that it asked for.
func TestSignIn(t *testing.T) {
	l := newLab(t)
	form := func(token string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "https://lab.example.org/mleflow/runs/"+l.run+"?q=1", strings.NewReader("token="+token))
		r.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Site": {"same-origin"}, "Origin": {"null"}}
		r.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		l.ServeHTTP(w, r)
		return w
	}
	if res := form("wrong"); res.Code != 403 || len(res.Result().Cookies()) > 0 || !strings.Contains(res.Body.String(), "The token is wrong.") {
		t.Errorf("a wrong token: status %d: %s", res.Code, res.Body)
	}
	res := form(tokens["vera"])
	if at := res.Header().Get("Location"); res.Code != 303 || at != "/mleflow/runs/"+l.run+"?q=1" {
		t.Fatalf("status %d, to %q", res.Code, at)
	}
	set := res.Header().Get("Set-Cookie")
	for _, want := range []string{"Path=/mleflow", "HttpOnly", "Secure", "SameSite=Lax"} {
		if !strings.Contains(set, want) {
			t.Errorf("the cookie lacks %s: %s", want, set)
		}
	}
	page := l.send(Route{Method: "GET", Path: "/runs/" + l.run}, forged{cookie: res.Result().Cookies()[0].Value})
	if page.Code != 200 || !strings.Contains(page.Body.String(), `href="/mleflow/runs"`) || strings.Contains(page.Body.String(), ` href="/runs`) {
		t.Errorf("the page does not stay below its path: status %d: %s", page.Code, page.Body)
	}
}

// rollouts runs those of a lab, and asks for one with a hostile key before.
func rollouts(l *lab) error {
	more := rollout.Request{Key: "<b>", Agent: "a", Competition: "demo-digits", Data: rollout.Data{Micro: 5, Seed: 1}, Reward: rollout.Reward{On: "validation"}}
	one, _, err := l.rollouts.Submit(context.Background(), "ada", more)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return l.rollouts.Run(ctx) })
	both.Go(func() error {
		defer stop()
		for _, id := range []string{l.rollout, one.ID} {
			if one, err := l.rollouts.Wait(ctx, id); err != nil || one.State != rollout.Done {
				return fmt.Errorf("%+v: %w", one, err)
			}
		}
		return nil
	})
	return both.Wait()
}

// TestSignOut shows the queue to a browser, and removes its cookie by the form of that page
// only.
func TestSignOut(t *testing.T) {
	l := newLab(t)
	queue := Route{Method: "GET", Path: queueLink.Address}
	page := l.send(queue, forged{cookie: l.cookieOf("vera")}).Body.String()
	for _, want := range []string{"signed in as <bdi>vera</bdi>, viewer", `action="/mleflow/sign-out"`, "Sign out", l.submission, `href="/mleflow/runs/` + l.run} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s: %s", want, page)
		}
	}
	if page := l.send(queue, forged{bearer: tokens["vera"]}).Body.String(); strings.Contains(page, "Sign out") {
		t.Error("there is no cookie to remove")
	}
	if err := rollouts(l); err != nil {
		t.Fatal(err)
	}
	page = l.send(queue, forged{cookie: l.cookieOf("vera")}).Body.String()
	for _, want := range []string{"<bdi>ada&#39;s</bdi>", "<bdi>a/demo-digits/0</bdi>", "<td>done</td>", `<td class="num">0.5</td>`, `href="/mleflow/runs/run"`, "micro 5, seed 1, validation", "<bdi>&lt;b&gt;</bdi>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s: %s", want, page)
		}
	}
	leave := func(site string) *http.Response {
		return l.send(Route{Method: "POST", Path: leavePath}, forged{cookie: l.cookieOf("vera"), site: site}).Result()
	}
	if res := leave("cross-site"); res.StatusCode != 403 || len(res.Cookies()) > 0 {
		t.Errorf("by another site: status %d, %v", res.StatusCode, res.Cookies())
	}
	res := leave("")
	if list := res.Cookies(); res.StatusCode != 303 || len(list) != 1 || list[0].Name != l.people.cookie || list[0].Value != "" || list[0].MaxAge >= 0 || list[0].Path != "/mleflow" {
		t.Errorf("status %d, %v", res.StatusCode, list)
	}
}

// TestRenewed serves a certificate that was renewed, and the old one while half of it is there.
func TestRenewed(t *testing.T) {
	dir := t.TempDir()
	certificate(t, dir)
	files := &keyPair{tlsBlock: tlsBlock{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}}
	get := func() string {
		pair, err := files.get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(pair.Certificate[0])
	}
	first := get()
	certificate(t, dir)
	key, err := os.ReadFile(files.Key)
	if err == nil {
		err = os.WriteFile(files.Key, []byte("half"), 0o600)
	}
	later := time.Now().Add(time.Minute) // of file systems with coarse times
	if err = errors.Join(err, os.Chtimes(files.Key, later, later)); err != nil {
		t.Fatal(err)
	}
	if get() != first {
		t.Error("half a certificate is used")
	}
	if err := errors.Join(os.WriteFile(files.Key, key, 0o600), os.Chtimes(files.Key, later, later.Add(time.Minute))); err != nil {
		t.Fatal(err)
	}
	if get() == first {
		t.Error("the old certificate is used")
	}
}

// TestPublic reaches a published report by its link, and nothing else.
func TestPublic(t *testing.T) {
	l := newLab(t)
	publish := func(text string) (s Submission) {
		r := httptest.NewRequest("POST", "https://lab.example.org/mleflow"+api+"/submissions/"+l.submission+"/publish", strings.NewReader(text))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + tokens["ada"]}}
		r.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		l.ServeHTTP(w, r)
		if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || w.Code != 200 {
			t.Fatalf("status %d: %s", w.Code, w.Body)
		}
		return s
	}
	anybody := func(path string) *httptest.ResponseRecorder {
		return l.send(Route{Method: "GET", Path: path}, forged{})
	}
	link, ok := strings.CutPrefix(publish(`{"public": true}`).Link, "https://lab.example.org/mleflow")
	if !ok || len(link) < 40 {
		t.Fatalf("the link is %q", link)
	}
	if res := anybody(link); res.Code != 200 || !strings.Contains(res.Body.String(), l.run) || !strings.Contains(res.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("status %d: %.300s", res.Code, res.Body)
	}
	for _, path := range []string{link + "/", link + "/..", link + "/../../runs", link + "x", link[:len(link)-1], "/public/", "/public/x", "/runs", "/runs/" + l.run, "/runs/" + l.run + "/report", "/runs/" + l.other + "/report", link + "%2f..%2f..%2fruns", api + "/submissions"} {
		if res := anybody(path); res.Code < 300 {
			t.Errorf("%s: status %d", path, res.Code)
		}
	}
	seen := l.send(Route{Method: "GET", Path: api + "/submissions"}, forged{bearer: tokens["vera"]})
	if strings.Contains(seen.Body.String(), link) {
		t.Error("others see the link")
	}
	if publish(`{"public": false}`).Link != "" || anybody(link).Code != 404 {
		t.Error("the link is still there")
	}
}

// TestTLS follows a run that lives over TLS: events come as they are written, and a client that
// comes again goes on where it was.
func TestTLS(t *testing.T) {
	l := newLab(t)
	dir := t.TempDir()
	pool := certificate(t, dir)
	s := l.people.settings
	s.Listen, s.TLS = "127.0.0.1:0", &tlsBlock{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	listener, limits, err := listen(s)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- sandbox.Serve(ctx, listener, l, limits) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, listener.Addr().String())
	}
	client := func(most uint16) *http.Client {
		return &http.Client{Transport: &http.Transport{DialContext: dial, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: most}}}
	}
	if res, err := client(tls.VersionTLS11).Get("https://lab.example.org/mleflow/style.css"); err == nil {
		res.Body.Close()
		t.Error("TLS 1.1 is accepted")
	}
	lock, err := os.Create(filepath.Join(l.cache, "runs", l.run, "lock"))
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	follow := func(last string) *bufio.Scanner {
		r, err := http.NewRequestWithContext(ctx, "GET", "https://lab.example.org/mleflow"+api+"/runs/"+l.run+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+tokens["vera"])
		r.Header.Set("Last-Event-ID", last)
		res, err := client(0).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return bufio.NewScanner(res.Body)
	}
	next := func(s *bufio.Scanner) string {
		for s.Scan() {
			if line := s.Text(); line != "" && !strings.HasPrefix(line, "data") {
				return line
			}
		}
		return fmt.Sprint("end: ", s.Err())
	}
	first := follow("")
	if a, b := next(first), next(first); a != "id: 1" || b != "id: 2" {
		t.Fatalf("%q, %q", a, b)
	}
	journal, err := os.OpenFile(filepath.Join(l.cache, "runs", l.run, "events.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = io.WriteString(journal, `{"type":"warning","at":"2026-01-01T00:00:02Z","text":"again"}`+"\n")
	}
	if err != nil {
		t.Fatal(err)
	}
	if a := next(first); a != "id: 3" {
		t.Errorf("%q", a)
	}
	if a := next(follow("2")); a != "id: 3" {
		t.Errorf("who was at 2 gets %q", a)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if a := next(first); a != "event: end" {
		t.Errorf("a run that ended: %q", a)
	}
}

// certificate writes a certificate for the lab, and returns who believes it.
func certificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{labHost}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, text := range map[string][]byte{"cert.pem": cert, "key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return pool
}

// bearer signs the requests of a client.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// TestTools calls a tool with a viewer's token. Nobody is offered a tool that acts or reads
// files, and nothing is answered without a token.
func TestTools(t *testing.T) {
	l := newLab(t)
	served := httptest.NewServer(l)
	defer served.Close()
	connect := func(token string) (*sdk.ClientSession, error) {
		to := &sdk.StreamableClientTransport{Endpoint: served.URL + "/mleflow/mcp", HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1}
		return sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), to, nil)
	}
	for _, token := range []string{"", strings.Repeat("x", 40)} {
		if _, err := connect(token); err == nil {
			t.Errorf("the token %q connects", token)
		}
	}
	for _, name := range []string{"vera", "root"} {
		l.acts.Reset()
		s, err := connect(tokens[name])
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			if !tool.Annotations.ReadOnlyHint || tool.Name == "plan" || tool.Name == "explain" {
				t.Errorf("%s is offered %s", name, tool.Name)
			}
		}
		if len(list.Tools) < 8 {
			t.Errorf("%d tools", len(list.Tools))
		}
		if r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "runs"}); err != nil || r.IsError || !strings.Contains(l.acts.String(), "[runs --json --]") {
			t.Errorf("runs: %v, %+v, %s", err, r, &l.acts)
		}
		for _, act := range []string{"attempts_stop", "runs_pause", "apply"} {
			if r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: act, Arguments: map[string]any{"keys": []string{"*"}}}); err == nil && !r.IsError {
				t.Errorf("%s calls %s", name, act)
			}
		}
		if n := strings.Count(l.acts.String(), "\n"); n != 1 {
			t.Errorf("commands: %s", &l.acts)
		}
	}
}

// TestGoneAway ends the call of a client that goes away without a word.
func TestGoneAway(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	l := newLab(t)
	o := l.options(app.NewApp(&app.Terminal{Stdout: io.Discard, Stderr: io.Discard}))
	o.Run = func(ctx context.Context, _ []string, _, _ io.Writer) int {
		close(begun)
		<-ctx.Done()
		close(ended)
		return 130
	}
	l.tools = newTools(o)
	served := httptest.NewServer(l)
	defer served.Close()
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", served.URL+"/mleflow/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{"run":"latest"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + tokens["vera"]}}
	go func() {
		<-begun
		leave()
	}()
	if res, err := http.DefaultClient.Do(r); err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Error("the command goes on")
	}
}

// TestLimits reads what a run's limits may be set to, and who may set a priority.
func TestLimits(t *testing.T) {
	l := newLab(t)
	post := func(name, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "https://lab.example.org/mleflow"+api+path, strings.NewReader(body))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + tokens[name]}}
		r.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		l.ServeHTTP(w, r)
		return w
	}
	for body, want := range map[string]string{
		`{"act":"set budget","budget":"100USD"}`: "is not running", `{"act":"set deadline","deadline":"2126-12-01T08:00:00+01:00"}`: "is not running",
		`{"act":"set parallelism","value":2}`: "is not running", `{"act":"set gpus"}`: "is not running", `{"act":"drain"}`: "is not running",
		`{"act":"set budget"}`: "budget is the whole amount", `{"act":"set budget","budget":"-1USD"}`: "above 0", `{"act":"set deadline"}`: "name the time",
		`{"act":"set deadline","deadline":"tomorrow"}`: "the request is not", `{"act":"set parallelism"}`: "an integer of at least 1", `{"act":"set gpus","value":-1}`: "an integer of at least 0", `{"act":"stop"}`: "is not drain",
	} {
		if res := post("ada", "/runs/"+l.run, body); res.Code != 400 || !strings.Contains(res.Body.String(), want) {
			t.Errorf("%s: status %d: %s", body, res.Code, res.Body)
		}
	}
	for _, tt := range []struct {
		name     string
		priority int
		status   int
	}{{"ada", 1, 403}, {"ada", -1, 200}, {"ada", 0, 200}, {"root", 1000, 200}, {"root", 1001, 400}} {
		priority := fmt.Sprintf(`"priority":%d`, tt.priority)
		for path, body := range map[string]string{"/submissions/" + l.submission + "/priority": "{" + priority + "}", "/submissions": `{"pipeline":"demo.hcl","files":[],` + priority + "}"} {
			if res := post(tt.name, path, body); res.Code != tt.status {
				t.Errorf("%s sets %d at %s: status %d: %s", tt.name, tt.priority, path, res.Code, res.Body)
			}
		}
	}
}

// TestDocument has each route of the API, under a name of its own.
func TestDocument(t *testing.T) {
	var doc struct {
		Paths      map[string]map[string]struct{ OperationID string }
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(openAPI, &doc); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, rt := range Routes() {
		if got := doc.Paths[strings.TrimPrefix(rt.Path, "/api")][strings.ToLower(rt.Method)].OperationID; got != rt.Name || rt.Name != "" && names[got] {
			t.Errorf("%s %s is %q in the document", rt.Method, rt.Path, got)
		}
		names[rt.Name] = true
		if strings.HasPrefix(rt.Path, api) && rt.Role == Nobody {
			t.Errorf("%s %s is open to all", rt.Method, rt.Path)
		}
		if rt.changes() && rt.Role == Viewer {
			t.Errorf("%s %s lets viewers change something", rt.Method, rt.Path)
		}
	}
	for _, one := range strings.Split(string(openAPI), `"#/components/schemas/`)[1:] {
		name, _, _ := strings.Cut(one, `"`)
		if doc.Components.Schemas[name] == nil || strings.ContainsAny(name, "/[] ") {
			t.Errorf("no schema %q", name)
		}
	}
}

// TestStrangersBody answers a stranger at once, who then has no connection that waits for the
// body that he promised.
func TestStrangersBody(t *testing.T) {
	l := newLab(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limits := ui.Limits
	limits.Body = 10 * time.Minute // longer than the test
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- sandbox.Serve(ctx, listener, l, limits) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	c, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	_, _ = fmt.Fprintf(c, "POST /mleflow%s/rollouts HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n", api, labHost)
	text, err := io.ReadAll(c) // to its end
	if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 401") {
		t.Errorf("%.300s, %v", text, err)
	}
}
