package source

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mleflow/mleflow/cache/memory"
)

func TestInternal(t *testing.T) {
	for text, want := range map[string]bool{
		"127.0.0.1": true, "127.255.0.9": true, "::1": true, "0.0.0.0": true, "::": true, "10.1.2.3": true, "172.16.0.1": true, "172.32.0.1": false,
		"192.168.0.1": true, "169.254.169.254": true, "fe80::1%eth0": true, "fc00::1": true, "fd00:ec2::254": true, "100.64.0.1": true, "100.128.0.1": false,
		"::ffff:127.0.0.1": true, "::ffff:169.254.169.254": true, "64:ff9b::a9fe:a9fe": true, "2002:7f00:1::": true, "224.0.0.1": true, "ff02::1": true,
		"255.255.255.255": true, "240.0.0.1": true, "198.18.0.1": true, "192.0.0.192": true, "8.8.8.8": false, "2606:4700::1111": false, "::ffff:8.8.8.8": false,
	} {
		if got := internal(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: internal %v, want %v", text, got, want)
		}
	}
}

// listening starts a server at an address of this machine.
func listening(t *testing.T, address string, h http.HandlerFunc) (base string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address+":0")
	if err != nil {
		t.Skipf("this machine has no address %s: %v", address, err)
	}
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// TestRedirectsInside takes 127.0.0.1 for this machine's inside and the other
// addresses of 127.0.0.0/8 for the internet, and lets servers lead from one to
// the other.
func TestRedirectsInside(t *testing.T) {
	var inside atomic.Int32
	private := listening(t, "127.0.0.1", func(w http.ResponseWriter, _ *http.Request) {
		inside.Add(1)
		_, _ = io.WriteString(w, "the keys of the machine")
	})
	port := private[strings.LastIndex(private, ":"):]
	leading := func(address, to string) string {
		return listening(t, address, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to+"/data.csv", http.StatusFound) })
	}
	data := listening(t, "127.0.0.3", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a,b\n") })
	tests := []struct {
		name, origin string
		refused      bool
		// open takes the guard away: the attack then succeeds.
		open bool
	}{
		{"no guard", leading("127.0.0.2", private), false, true},
		{"by address", leading("127.0.0.2", private), true, false},
		{"by name", leading("127.0.0.2", "http://localhost"+port), true, false},
		{"as another spelling", leading("127.0.0.2", "http://[::ffff:127.0.0.1]"+port), true, false},
		{"in two steps", leading("127.0.0.2", leading("127.0.0.3", private)), true, false},
		{"from outside to outside", leading("127.0.0.2", data), false, false},
		{"from inside to inside", leading("127.0.0.1", private), false, false},
		{"from inside to outside", leading("127.0.0.1", data), false, false},
		{"inside itself", private, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := quick()
			h.web.internal = func(a netip.Addr) bool { return !tt.open && a.Unmap() == netip.MustParseAddr("127.0.0.1") }
			// A connection that is open already must not be used instead of one that is
			// looked at.
			if _, err := h.Fetch(t.Context(), Request{Spec: Spec{URL: private + "/data.csv"}, Store: memory.New()}); err != nil {
				t.Fatal(err)
			}
			inside.Store(0)
			_, err := h.Fetch(t.Context(), Request{Spec: Spec{URL: tt.origin + "/x.csv"}, Store: memory.New()})
			var refusal *internalError
			var passing *TemporaryError
			if got := errors.As(err, &refusal); got != tt.refused || !tt.refused && err != nil || errors.As(err, &passing) {
				t.Errorf("got %v, refused %v, want %v", err, got, tt.refused)
			}
			if tt.refused && (inside.Load() != 0 || !strings.Contains(err.Error(), "use that URL directly")) {
				t.Errorf("%d requests went inside; %v", inside.Load(), err)
			}
		})
	}
}

// TestRedirectsInsideByProxy judges what can be judged where a proxy makes the
// connections, which itself is inside.
func TestRedirectsInsideByProxy(t *testing.T) {
	var asked []string
	proxy := listening(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Host)
		if r.URL.Host == "data.example" {
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "a,b\n")
	})
	at, err := url.Parse(proxy)
	if err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]bool{"http://store.example/": true, "http://169.254.169.254/latest": false, "http://localhost:1/": false, "http://[::1]:9/": false} {
		transport := newTransport()
		transport.Proxy = http.ProxyURL(at)
		h := NewHTTP(&http.Client{Transport: transport})
		asked = nil
		_, err := h.Fetch(t.Context(), Request{Spec: Spec{URL: "http://data.example/x.csv?to=" + url.QueryEscape(to)}, Store: memory.New()})
		if (err == nil) != want || want != (len(asked) > 1) {
			t.Errorf("%s: %v after requests for %v", to, err, asked)
		}
	}
}
