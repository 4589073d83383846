package ui

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// ask sends a request to a guard of a handler that says "inside".
func ask(g *Guard, method, target, host string, headers map[string]string, cookies ...*http.Cookie) *http.Response {
	r := httptest.NewRequest(method, target, nil)
	r.Host = host
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w.Result()
}

func inside() *Guard {
	return NewGuard("1", Secret(), url.URL{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("inside")) }))
}

// TestEnter exchanges the token for a cookie, and leads to the address without
// it.
func TestEnter(t *testing.T) {
	g := inside()
	res := ask(g, "GET", "/runs?token="+g.token+"&q=a", "127.0.0.1:1", nil)
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/runs?q=a" {
		t.Fatalf("status %d, to %q", res.StatusCode, res.Header.Get("Location"))
	}
	set := res.Header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/", "mleflow-1="} {
		if !strings.Contains(set, want) {
			t.Errorf("the cookie %q lacks %s", set, want)
		}
	}
	if strings.Contains(set, g.token) {
		t.Error("the cookie is the token")
	}
	if res := ask(g, "GET", "/runs", "localhost:9000", nil, res.Cookies()...); res.StatusCode != http.StatusOK {
		t.Errorf("with the cookie, by a tunnel: status %d", res.StatusCode)
	}
	for _, target := range []string{"//evil.example/?token=", `/\evil.example?token=`} {
		if to := ask(g, "GET", target+g.token, "127.0.0.1:1", nil).Header.Get("Location"); to != "/" {
			t.Errorf("%s leads to %q", target, to)
		}
	}
}

// TestStrangersGetNothing tries what other people and other pages can.
func TestStrangersGetNothing(t *testing.T) {
	g := inside()
	cookie := ask(g, "GET", "/?token="+g.token, "127.0.0.1:1", nil).Cookies()
	forged := []*http.Cookie{{Name: cookie[0].Name, Value: "x"}}
	token := []*http.Cookie{{Name: cookie[0].Name, Value: g.token}}
	for _, tt := range []struct {
		name, method, target, host string
		headers                    map[string]string
		cookies                    []*http.Cookie
		status                     int
	}{
		{"nothing", "GET", "/", "127.0.0.1:1", nil, nil, 403},
		{"a wrong token", "GET", "/?token=x", "127.0.0.1:1", nil, nil, 403},
		{"an empty token", "GET", "/?token=", "127.0.0.1:1", nil, cookie, 403},
		{"a forged cookie", "GET", "/", "127.0.0.1:1", nil, forged, 403},
		{"the token as a cookie", "GET", "/", "127.0.0.1:1", nil, token, 403},
		{"a name that was made to resolve here", "GET", "/", "evil.example:1", nil, cookie, 421},
		{"such a name with the token", "GET", "/?token=" + g.token, "evil.example:1", nil, nil, 421},
		{"a name that looks like ours", "GET", "/", "localhost.evil.example:1", nil, cookie, 421},
		{"an address of the network", "GET", "/", "192.168.0.2:1", nil, cookie, 421},
		{"no host", "GET", "/", "", nil, cookie, 421},
		{"another origin", "GET", "/", "127.0.0.1:1", map[string]string{"Origin": "https://evil.example"}, cookie, 403},
		{"another port", "GET", "/", "127.0.0.1:1", map[string]string{"Origin": "http://127.0.0.1:2"}, cookie, 403},
		{"no origin of its own", "GET", "/", "127.0.0.1:1", map[string]string{"Origin": "null"}, cookie, 403},
		{"a script at another port", "GET", "/", "127.0.0.1:1", map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}, cookie, 403},
		{"a frame", "GET", "/", "127.0.0.1:1", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, cookie, 403},
		{"writing", "POST", "/", "127.0.0.1:1", nil, cookie, 405},
		{"a form of another page", "POST", "/runs/1/describe", "127.0.0.1:1", map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, cookie, 405},
		{"a form of another port", "POST", "/runs/1/describe", "127.0.0.1:1", map[string]string{"Origin": "null", "Sec-Fetch-Site": "same-site"}, cookie, 405},
		{"a form of an old browser", "POST", "/runs/1/describe", "127.0.0.1:1", map[string]string{"Origin": "http://127.0.0.1:1"}, cookie, 405},
		{"our form without the cookie", "POST", "/runs/1/describe", "127.0.0.1:1", map[string]string{"Origin": "null", "Sec-Fetch-Site": "same-origin"}, nil, 403},
		{"our form at a name that was made to resolve here", "POST", "/runs/1/describe", "evil.example:1", map[string]string{"Origin": "null", "Sec-Fetch-Site": "same-origin"}, cookie, 421},
		{"our form to another address", "POST", "/runs/1", "127.0.0.1:1", map[string]string{"Origin": "null", "Sec-Fetch-Site": "same-origin"}, cookie, 405},
		{"our form", "POST", "/runs/1/describe", "127.0.0.1:1", map[string]string{"Origin": "null", "Sec-Fetch-Site": "same-origin"}, cookie, 200},
		{"deleting", "DELETE", "/", "127.0.0.1:1", nil, cookie, 405},
		{"another method", "OPTIONS", "/", "127.0.0.1:1", nil, cookie, 405},
		{"ourselves", "GET", "/", "127.0.0.1:1", map[string]string{"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-origin"}, cookie, 200},
		{"a head", "HEAD", "/", "[::1]:1", nil, cookie, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := ask(g, tt.method, tt.target, tt.host, tt.headers, tt.cookies...)
			var body strings.Builder
			_, _ = readAll(&body, res)
			if res.StatusCode != tt.status || (tt.status != 200) == strings.Contains(body.String(), "inside") {
				t.Errorf("status %d, want %d: %q", res.StatusCode, tt.status, body.String())
			}
			if tt.status != 200 && len(res.Cookies()) > 0 {
				t.Error("it is given a cookie")
			}
			for _, h := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Cache-Control"} {
				if res.Header.Get(h) == "" {
					t.Errorf("no header %s", h)
				}
			}
		})
	}
}
