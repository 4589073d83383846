package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// says is a provider that replies with a text and a usage.
func says(input, output int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "hello\nusage %d %d\n", input, output)
	}
}

func TestPasses(t *testing.T) {
	var got *http.Request
	var body string
	b := start(t, toyModel(), nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		got, body = r, string(data)
		w.Header().Set("X-Request-Id", "r1")
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "1")
		fmt.Fprint(w, "hello\nusage 3 4\n")
	}))
	resp, text := b.ask(toyRequest{Model: "small", Max: 10}, func(r *http.Request) {
		r.URL.RawQuery = "b=2&a=1"
		r.Header.Set("Connection", "X-Mine")
		r.Header.Set("X-Mine", "1")
		r.Header.Set("X-Forwarded-For", "10.0.0.1")
		r.Header.Set("X-Api-Key", "mine")
		r.Header.Set("X-Kept", "yes")
	})
	if resp.StatusCode != 200 || text != "hello\nusage 3 4\n" || resp.Header.Get("X-Request-Id") != "r1" || resp.Header.Get("X-Hop") != "" {
		t.Errorf("client got %d %q %v", resp.StatusCode, text, resp.Header)
	}
	if got.URL.Path != "/api/v1/ask" || got.URL.Query().Get("a") != "1" || !strings.Contains(body, `"small"`) {
		t.Errorf("provider got %s %q", got.URL, body)
	}
	for name, want := range map[string]string{"Authorization": "Bearer " + realKey, "X-Kept": "yes", "X-Mine": "", "X-Forwarded-For": "", "X-Api-Key": ""} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("provider got %s %q, want %q", name, v, want)
		}
	}
	// 3 tokens at 1000 and 4 at 2000 dollars per million.
	want := Summary{Model: "main", Requests: 1, Usage: dialect.Usage{Input: 3, Output: 4}, Tokens: 7, Cost: 11 * Dollar / 1000, Unlisted: 1}
	b.stop()
	s := b.Summary()[0]
	if s.FirstByte == nil || s.FirstByte.Median <= 0 {
		t.Errorf("no time to first byte: %+v", s.FirstByte)
	}
	s.FirstByte = nil
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
}

func TestRefuses(t *testing.T) {
	for _, test := range []struct {
		name    string
		ask     toyRequest
		edit    func(*http.Request)
		status  int
		reason  dialect.Reason
		ability dialect.Ability
	}{
		{"no key", toyRequest{Model: "small"}, func(r *http.Request) { r.Header.Del("Authorization") }, 401, dialect.BadKey, ""},
		{"wrong key", toyRequest{Model: "small"}, func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, 401, dialect.BadKey, ""},
		{"real key", toyRequest{Model: "small"}, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+realKey) }, 401, dialect.BadKey, ""},
		{"model", toyRequest{Model: "huge"}, nil, 403, dialect.NotAllowed, ""},
		{"no model", toyRequest{}, nil, 400, dialect.BadRequest, ""},
		{"ability", toyRequest{Model: "small", Search: true}, nil, 403, dialect.NotAllowed, "web_search"},
		{"path", toyRequest{Model: "small"}, func(r *http.Request) { r.URL.Path = "/main/v1/files" }, 403, dialect.NotAllowed, ""},
		{"escaped path", toyRequest{Model: "small"}, func(r *http.Request) { r.URL.RawPath = "/main/v1%2fask"; r.URL.Path = "/main/v1/ask" }, 403, dialect.NotAllowed, ""},
		{"dots", toyRequest{Model: "small"}, func(r *http.Request) { r.URL.Path = "/main/v1/x/../ask" }, 403, dialect.NotAllowed, ""},
		{"encoding", toyRequest{Model: "small"}, func(r *http.Request) { r.Header.Set("Content-Encoding", "br") }, 400, dialect.BadRequest, ""},
		{"WebSocket", toyRequest{Model: "small"}, func(r *http.Request) { r.Header.Set("Upgrade", "websocket"); r.Header.Set("Connection", "Upgrade") }, 426, dialect.NoSocket, ""},
		{"panic", toyRequest{Model: "small", Text: "panic"}, nil, 400, dialect.BadRequest, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := start(t, toyModel(), nil, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the provider was asked") }))
			if test.edit == nil {
				test.edit = func(*http.Request) {}
			}
			resp, text := b.ask(test.ask, test.edit)
			if resp.StatusCode != test.status || !strings.Contains(text, string(test.reason)) {
				t.Errorf("got %d %s", resp.StatusCode, text)
			}
			events := b.events()
			if len(events) != 1 || events[0].Refused != test.reason || events[0].Ability != test.ability || events[0].Status != test.status {
				t.Errorf("recorded %+v", events)
			}
			if s := b.Summary()[0]; s.Refused[test.reason] != 1 || s.Requests != 0 {
				t.Errorf("summary %+v", s)
			}
		})
	}
}
