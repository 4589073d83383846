package ui

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui/browsertest"
)

// proxied is a guard behind a reverse proxy with the address https://lab.example.org/mleflow.
func proxied(token string) *Guard {
	return NewGuard("1", token, url.URL{Scheme: "https", Host: "lab.example.org", Path: "/mleflow"},
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("inside")) }))
}

var formOfOurs = map[string]string{"Origin": "null", "Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}

// signIn sends the form that takes the token.
func signIn(g *Guard, target, host, token string) *http.Response {
	r := httptest.NewRequest("POST", target, strings.NewReader(url.Values{"token": {token}}.Encode()))
	r.Host = host
	for name, value := range formOfOurs {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w.Result()
}

// TestSignInBehindProxy: the token is sent in the body of a form, which no proxy logs, and
// its cookie stays valid when the server starts again with the token.
func TestSignInBehindProxy(t *testing.T) {
	token := Secret()
	g := proxied(token)
	res := signIn(g, "/mleflow/runs?state=failed", "lab.example.org", token)
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/mleflow/runs?state=failed" {
		t.Fatalf("status %d, to %q", res.StatusCode, res.Header.Get("Location"))
	}
	set := res.Header.Get("Set-Cookie")
	for _, want := range []string{"Path=/mleflow;", "Secure", "HttpOnly", "SameSite=Lax", "Max-Age=2592000"} {
		if !strings.Contains(set, want) {
			t.Errorf("the cookie %q lacks %s", set, want)
		}
	}
	if strings.Contains(set, token) {
		t.Error("the cookie is the token")
	}
	cookie := res.Cookies()
	if res := ask(proxied(token), "GET", "/mleflow/runs", "lab.example.org", nil, cookie...); res.StatusCode != http.StatusOK {
		t.Errorf("after a restart with the token: status %d", res.StatusCode)
	}
	if res := ask(proxied(Secret()), "GET", "/mleflow/runs", "lab.example.org", nil, cookie...); res.StatusCode != http.StatusForbidden {
		t.Errorf("after a restart with another token: status %d", res.StatusCode)
	}
	if set := signIn(g, "/mleflow/", "localhost:7430", token).Header.Get("Set-Cookie"); set == "" || strings.Contains(set, "Secure") {
		t.Errorf("by a tunnel, without https: the cookie %q", set)
	}
	for _, target := range []string{"//evil.example/x", "/%5Cevil.example", "/mleflow//evil.example", "/elsewhere", "/mleflowx"} {
		to, err := url.Parse(signIn(g, target, "lab.example.org", token).Header.Get("Location"))
		if err != nil || to.Host != "" || !strings.HasPrefix(to.Path, "/mleflow/") {
			t.Errorf("%s leads to %q: %v", target, to, err)
		}
	}
}

// TestStrangersBehindProxy tries what other people and other pages can where a proxy serves
// the pages.
func TestStrangersBehindProxy(t *testing.T) {
	token := Secret()
	g := proxied(token)
	cookie := signIn(g, "/mleflow/", "lab.example.org", token).Cookies()
	for _, tt := range []struct {
		name, method, target, host string
		headers                    map[string]string
		cookies                    []*http.Cookie
		status                     int
	}{
		{"ourselves", "GET", "/mleflow/", "lab.example.org", map[string]string{"Origin": "https://lab.example.org", "Sec-Fetch-Site": "same-origin"}, cookie, 200},
		{"a proxy that names its port", "GET", "/mleflow/", "LAB.example.org:443", nil, cookie, 200},
		{"a tunnel", "GET", "/mleflow/", "localhost:9000", nil, cookie, 200},
		{"nothing", "GET", "/mleflow/", "lab.example.org", nil, nil, 403},
		{"the token in a query, which the proxy has logged", "GET", "/mleflow/?token=" + token, "lab.example.org", nil, nil, 403},
		{"a name that was made to resolve here", "GET", "/mleflow/", "evil.example", nil, cookie, 421},
		{"a name before ours", "GET", "/mleflow/", "evil.lab.example.org", nil, cookie, 421},
		{"a name behind ours", "GET", "/mleflow/", "lab.example.org.evil.example", nil, cookie, 421},
		{"the name of a proxy that nobody named", "GET", "/mleflow/", "evil.example", map[string]string{"X-Forwarded-Host": "lab.example.org", "Forwarded": "host=lab.example.org"}, cookie, 421},
		{"another name in other headers", "GET", "/mleflow/", "lab.example.org", map[string]string{"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http"}, cookie, 200},
		{"the origin without https", "GET", "/mleflow/", "lab.example.org", map[string]string{"Origin": "http://lab.example.org"}, cookie, 403},
		{"a neighbour", "GET", "/mleflow/", "lab.example.org", map[string]string{"Origin": "https://other.example.org"}, cookie, 403},
		{"a form of a neighbour", "POST", "/mleflow/runs/1/describe", "lab.example.org", map[string]string{"Origin": "https://other.example.org", "Sec-Fetch-Site": "same-site"}, cookie, 405},
		{"a form that claims to be ours", "POST", "/mleflow/runs/1/describe", "lab.example.org", map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"}, cookie, 405},
		{"our form", "POST", "/mleflow/runs/1/describe", "lab.example.org", formOfOurs, cookie, 200},
		{"our form without the cookie", "POST", "/mleflow/runs/1/describe", "lab.example.org", formOfOurs, nil, 403},
		{"our form that signs in, sent by a stranger", "POST", "/mleflow/", "lab.example.org", map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, nil, 405},
		{"a style sheet of ours", "GET", "/mleflow/style.css", "lab.example.org", nil, nil, 200},
		{"a style sheet elsewhere", "GET", "/mleflow/x/style.css", "lab.example.org", nil, nil, 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if res := ask(g, tt.method, tt.target, tt.host, tt.headers, tt.cookies...); res.StatusCode != tt.status {
				t.Errorf("status %d, want %d", res.StatusCode, tt.status)
			}
		})
	}
}

// TestAddressesBelowAPath: every address in every page, also in those that a stranger's files
// fill, is below the path, and no text of theirs is changed.
func TestAddressesBelowAPath(t *testing.T) {
	l := newLab(t)
	run, attempts := l.strangeRun()
	l.get("/agents")
	l.indexed()
	below := New(l.ctx, func() Source { s := l.ui.Source; s.Base = "/mleflow"; return s }())
	below.get("/mleflow/agents")
	below.results = l.ui.results
	below.token = l.ui.token
	links := 0
	for name, path := range pagesOf(run, attempts[0]) {
		if name == "report" {
			continue // it has no addresses
		}
		_, plain := l.get(path)
		status, text := below.get("/mleflow" + path)
		for _, in := range []string{` href="/`, ` src="/`, ` action="/`, ` data-turns="/`, ` data-compare="/`} {
			links += strings.Count(text, in+"mleflow/")
			if strings.Count(text, in) != strings.Count(text, in+"mleflow/") {
				t.Errorf("%s (%d) has an address outside of the path in%s", name, status, in)
			}
		}
		if rest := strings.ReplaceAll(text, `="/mleflow/`, `="/`); rest != plain {
			t.Errorf("%s differs in more than addresses", name)
		}
	}
	if links < 200 {
		t.Errorf("%d addresses", links)
	}
	if status, _ := below.get("/runs"); status != http.StatusNotFound {
		t.Errorf("a page outside of the path: status %d", status)
	}
}

// get asks the pages without a guard.
func (u *UI) get(path string) (int, string) {
	w := httptest.NewRecorder()
	u.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}

// TestProxyInTheBrowser signs in behind a reverse proxy with a path, follows a run, and goes by
// keys, the palette, forms and links. Nothing is asked for outside of the path, and the proxy
// sees the token in no address.
func TestProxyInTheBrowser(t *testing.T) {
	b := browsertest.Open(t)
	l := newLab(t)
	run, attempts := l.usualRun()
	live := l.write("live.hcl", l.start.Add(time.Hour), attempts[:1])
	t.Cleanup(func() { l.close(live, 0) })
	pages := New(l.ctx, func() Source { s := l.ui.Source; s.Base = "/ml/flow"; return s }())
	l.ui = pages
	l.get("/ml/flow/agents")
	l.indexed()
	var mu sync.Mutex
	var seen []string
	server, proxy := httptest.NewUnstartedServer(nil), httptest.NewUnstartedServer(nil)
	_, port, _ := net.SplitHostPort(proxy.Listener.Addr().String())
	at := url.URL{Scheme: "http", Host: "localhost:" + port, Path: "/ml/flow"}
	token := Secret()
	server.Config.Handler = NewGuard(port, token, at, pages)
	server.Start()
	back := must(url.Parse(server.URL))
	proxy.Config.Handler = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		mu.Lock()
		seen = append(seen, r.In.Header.Get("Accept")+" "+r.In.URL.String())
		mu.Unlock()
		r.SetURL(back)
		r.Out.Host = r.In.Host
	}}
	proxy.Start()
	t.Cleanup(func() { server.CloseClientConnections(); proxy.CloseClientConnections(); proxy.Close(); server.Close() })

	tab := b.Tab(browsertest.Forms()[0])
	tab.Go(at.String() + "/runs#token=" + token)
	tab.Wait(`document.querySelector('[data-section=grid]') && !location.hash`)
	seenAt := func(part string) bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.ContainsFunc(seen, func(s string) bool { return strings.Contains(s, part) })
	}
	for _, said := range tab.Said() {
		if !strings.Contains(said, "status of 403") {
			t.Errorf("at the sign-in: %s", said)
		}
	}
	for name, path := range pagesOf(run, attempts[0]) {
		if name != "report" && name != "nothing" {
			tab.Go(at.String() + path)
			looked(t, tab, name)
		}
	}
	tab.Go(at.String() + runAddress(live.ID()))
	for range 1000 {
		if seenAt("text/event-stream /ml/flow" + runAddress(live.ID())) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !seenAt("text/event-stream /ml/flow" + runAddress(live.ID())) {
		t.Error("nothing follows the run")
	}
	tab.Key("g")
	tab.Key("a")
	tab.Wait(`location.pathname === '/ml/flow/agents'`)
	tab.Go(at.String() + runAddress(run) + "/about")
	tab.Run(`document.querySelector('[name=note]').value = 'behind a proxy'; document.querySelector('[name=note]').form.submit()`)
	tab.Wait(`location.pathname === '/ml/flow` + runAddress(run) + `/about' && document.body.textContent.includes('behind a proxy')`)
	for _, asked := range tab.Asked() {
		if !strings.HasPrefix(asked, at.String()+"/") && !strings.HasPrefix(asked, "about:") {
			t.Errorf("the pages ask for %s", asked)
		}
	}
	if seenAt(token) {
		t.Error("the proxy sees the token in an address")
	}
}
