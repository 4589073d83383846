package proxy

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// FuzzPolicy sees that a host is only ever allowed by a place that ends in it
// or is it, however it is spelled.
func FuzzPolicy(f *testing.F) {
	for _, s := range []string{"api.example.com", "API.example.COM.", "x.wild.example.org", "wild.example.org", "127.0.0.1", "::ffff:127.0.0.1", "evil.net#api.example.com", "a\x00.wild.example.org"} {
		f.Add(s)
	}
	p, err := ParsePolicy([]string{"api.example.com:443", "*.wild.example.org:443"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if _, ok := p.find(host, 443); !ok {
			return
		}
		plain := strings.TrimSuffix(strings.ToLower(host), ".")
		if plain != "api.example.com" && !strings.HasSuffix(plain, ".wild.example.org") || strings.ContainsAny(plain, "\x00/@#?%: ") {
			t.Errorf("%q is allowed", host)
		}
	})
}

// script is a connection that gives what it was given.
type script struct {
	net.Conn
	r io.Reader
}

func (s script) Read(p []byte) (int, error)  { return s.r.Read(p) }
func (s script) Write(p []byte) (int, error) { return len(p), nil }
func (script) Close() error                  { return nil }
func (script) SetDeadline(time.Time) error   { return nil }

// FuzzHello sees that whatever a client says is passed on as it is or refused,
// and never more than the limit is read.
func FuzzHello(f *testing.F) {
	f.Add([]byte("\x16\x03\x01\x00\x05hello"))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := readHello(t.Context(), script{r: bytes.NewReader(data)})
		if len(h.raw) > helloBytes || !bytes.HasPrefix(data, h.raw) {
			t.Errorf("%d bytes of %d kept, not as they came", len(h.raw), len(data))
		}
		if err == nil && h.name != "" && !bytes.Contains(data, []byte(h.name)) {
			t.Errorf("the name %q is not in what was said", h.name)
		}
	})
}
