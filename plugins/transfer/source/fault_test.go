package source

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mleflow/mleflow/cache/memory"
)

// realFailure is what a request to an address gives on this machine.
func realFailure(t *testing.T, address string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := newTransport()
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
		t.Fatalf("%s answers", address)
	}
	return err
}

type answering func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func says(code int, header ...string) answering {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader("<html>")), Request: r, ContentLength: 6}, nil
	}
}

func gives(err error) answering {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// TestTimeToFail measures, by a clock of its own, how long each fault keeps a
// download waiting until it fails. The failures of connections are real ones.
func TestTimeToFail(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = nil
	secure.StartTLS()
	defer secure.Close()
	closed := httptest.NewServer(nil)
	closed.Close()
	const never, soon, long = 0, 3 * time.Second, 71 * time.Second
	tests := []struct {
		name string
		do   answering
		// most is the longest it may take, and tries how often it is tried.
		most  time.Duration
		tries int
		// passes says that the engine may try again later.
		passes bool
		want   string
	}{
		{"certificate of nobody", gives(realFailure(t, secure.URL)), never, 1, false, "certificate is not accepted"},
		{"no TLS", gives(realFailure(t, strings.Replace(plain.URL, "http:", "https:", 1))), never, 1, false, "does not use TLS"},
		{"refused by the proxy", gives(fmt.Errorf("%w: 407", errProxy)), never, 1, false, "the proxy refuses"},
		{"unknown name", gives(&net.DNSError{Err: "no such host", Name: "data.example", IsNotFound: true}), soon, 3, false, "check the address"},
		{"names cannot be resolved", gives(&net.DNSError{Err: "server misbehaving", Name: "data.example", IsTemporary: true}), long, 8, true, "misbehaving"},
		{"nobody listens", gives(realFailure(t, closed.URL)), long, 8, true, "refused"},
		{"reset", gives(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), long, 8, true, "reset"},
		{"leads inside", gives(&internalError{address: "169.254.169.254:80"}), never, 1, false, "private network"},
		{"leads to another scheme", says(302, "Location", "ftp://x/"), never, 1, false, "not safe"},
		{"leads in a circle", says(302, "Location", "https://data.example/data.zip"), never, 10, false, "too many redirects"},
		{"a page", says(200, "Content-Type", "text/html"), never, 1, false, "web page"},
		{"400", says(400), never, 1, false, "400"}, {"401", says(401), never, 1, false, "login"}, {"403", says(403), never, 1, false, "has no access"},
		{"404", says(404), never, 1, false, "no such file"}, {"410", says(410), never, 1, false, "no such file"}, {"501", says(501), never, 1, false, "501"},
		{"500", says(500), long, 8, true, "500"}, {"503", says(503), long, 8, true, "503"},
		{"503 for an hour", says(503, "Retry-After", "3600"), never, 1, true, "503 Service Unavailable and asks to wait 1h0m0s, until "},
		{"503 for a day", says(503, "Retry-After", "86400"), never, 1, false, "asks to wait 24h0m0s, until "},
		{"429 for 90 s each time", says(429, "Retry-After", "90"), 280 * time.Second, 4, true, "asks to wait 1m30s"},
		{"compressed", says(200, "Content-Encoding", "gzip"), soon, 3, true, `in Content-Encoding "gzip"`},
		{"the storage refuses every signature", func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "data.example" {
				return says(302, "Location", "https://store.example/signed")(r)
			}
			return says(403)(r)
		}, soon, 6, false, "the storage that the server redirects to"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				do := answering(func(r *http.Request) (*http.Response, error) { tries++; return tt.do(r) })
				h := NewHTTP(&http.Client{Transport: do})
				h.web.guarded = stepwise(do)
				begin := time.Now()
				_, err := h.Fetch(t.Context(), Request{Spec: Spec{URL: "https://data.example/data.zip"}, Store: memory.New()})
				took := time.Since(begin)
				var passing *TemporaryError
				if err == nil || !strings.Contains(err.Error(), tt.want) || errors.As(err, &passing) != tt.passes {
					t.Errorf("got %v, passing %v, want %q", err, passing != nil, tt.want)
				}
				if took > tt.most || tries != tt.tries {
					t.Errorf("failed after %v and %d requests, want at most %v and %d", took, tries, tt.most, tt.tries)
				}
			})
		})
	}
}

// TestPatience waits as long as a server asks, and tells until when; a question
// about the file does not wait for minutes.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		do := answering(func(r *http.Request) (*http.Response, error) {
			if tries++; tries == 1 || tries == 3 {
				return says(429, "Retry-After", "120")(r)
			}
			return says(200)(r)
		})
		h := NewHTTP(&http.Client{Transport: do})
		h.web.guarded = stepwise(do)
		req := Request{Spec: Spec{URL: "https://data.example/data.html"}, Store: memory.New()}
		begin, told := time.Now(), 0
		req.Waiting = func(until time.Time) {
			if told++; until.Sub(begin) != 2*time.Minute {
				t.Errorf("told to wait until %v after the beginning", until.Sub(begin))
			}
		}
		if _, err := h.Fetch(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < 2*time.Minute || told != 12 {
			t.Errorf("fetched after %v, told %d times", took, told)
		}
		begin = time.Now()
		if _, err := h.Inspect(t.Context(), req.Spec); err == nil || !strings.Contains(err.Error(), "asks to wait 2m0s") || time.Since(begin) > 0 {
			t.Errorf("a question gives %v after %v", err, time.Since(begin))
		}
	})
}
