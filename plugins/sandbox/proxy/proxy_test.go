package proxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mleflow/mleflow/plugins/sandbox/proxy"
)

// world is a network for a proxy: one TLS server and one plain server that
// stand for all hosts, and a resolver.
type world struct {
	secure, open *httptest.Server
	proxy        string

	mu     sync.Mutex
	conns  []proxy.Conn
	looked []string
	dialed []string
	got    []string
	cancel context.CancelFunc
	done   chan error
}

var names = map[string]string{
	"api.example.com": "93.184.216.34", "a.wild.example.com": "93.184.216.35", "rebound.example.com": "127.0.0.1",
	"half.example.com": "93.184.216.34,10.0.0.1", "meta.internal": "169.254.169.254", "llm.internal": "10.0.0.7", "files.example.com": "93.184.216.36",
}

var list = []string{
	"api.example.com:443", "*.wild.example.com:443", "rebound.example.com:443", "rebound.example.com:80", "half.example.com:443",
	"meta.internal:80", "llm.internal:443", "files.example.com:80", "10.9.9.9:443", "nowhere.example.com:443",
}

func newWorld(t *testing.T, change func(*proxy.Options)) *world {
	t.Helper()
	w := &world{done: make(chan error, 1)}
	answer := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.mu.Lock()
		w.got = append(w.got, fmt.Sprintf("%s %s host=%s te=%v body=%s x=%s proxy=%s", r.Method, r.URL, r.Host, r.TransferEncoding, body, r.Header.Get("X-Hop"), r.Header.Get("Proxy-Authorization")))
		w.mu.Unlock()
		rw.Header().Set("X-Served", "yes")
		fmt.Fprint(rw, "hello")
	})
	w.secure, w.open = httptest.NewTLSServer(answer), httptest.NewServer(answer)
	t.Cleanup(w.secure.Close)
	t.Cleanup(w.open.Close)
	policy, err := proxy.ParsePolicy(list)
	if err != nil {
		t.Fatal(err)
	}
	opts := proxy.Options{
		Allow: policy, HelloTimeout: 200 * time.Millisecond, Own: func() []netip.Addr { return nil },
		Lookup: w.lookup, Dial: w.dial,
		Record: func(c proxy.Conn) { w.mu.Lock(); defer w.mu.Unlock(); w.conns = append(w.conns, c) },
	}
	if change != nil {
		change(&opts)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.proxy = l.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	go func() { w.done <- proxy.New(opts).Serve(ctx, l) }()
	return w
}

func (w *world) lookup(_ context.Context, _, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked = append(w.looked, host)
	found, ok := names[strings.TrimSuffix(host, ".")]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var out []netip.Addr
	for text := range strings.SplitSeq(found, ",") {
		out = append(out, netip.MustParseAddr(text))
	}
	return out, nil
}

func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, address)
	w.mu.Unlock()
	to := w.open.Listener.Addr().String()
	if strings.HasSuffix(address, ":443") {
		to = w.secure.Listener.Addr().String()
	}
	return (&net.Dialer{}).DialContext(ctx, network, to)
}

// end stops the proxy and returns what it wrote down.
func (w *world) end(t *testing.T) []proxy.Conn {
	t.Helper()
	w.cancel()
	if err := <-w.done; err != nil {
		t.Error(err)
	}
	slices.SortFunc(w.conns, func(a, b proxy.Conn) int { return a.Time.Compare(b.Time) })
	return w.conns
}

// client is an HTTP client that uses the proxy and says serverName in TLS.
func (w *world) client(serverName string) *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(w.secure.Certificate())
	return &http.Client{Transport: &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: w.proxy}),
		TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: serverName, InsecureSkipVerify: serverName == ""}, //nolint:gosec // a test
		DisableKeepAlives: true,
	}}
}

func get(c *http.Client, url string) (string, error) {
	resp, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.StatusCode, " ", string(body)), err
}

func TestRequestsPass(t *testing.T) {
	w := newWorld(t, nil)
	for _, address := range []string{"https://api.example.com/v1", "http://files.example.com/x?y=1", "https://llm.internal/"} {
		name := ""
		if strings.Contains(address, "llm") {
			name = "llm.internal"
		}
		c := w.client(name)
		if name == "" && strings.HasPrefix(address, "https") {
			c = w.client("api.example.com")
		}
		c.Transport.(*http.Transport).TLSClientConfig.InsecureSkipVerify = name != "" //nolint:gosec // a test
		if got, err := get(c, address); got != "200 hello" {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
	want := []proxy.Conn{
		{Method: "CONNECT", Host: "api.example.com", Port: 443, SNI: "api.example.com", Verdict: "allowed"},
		{Method: "GET", Host: "files.example.com", Port: 80, Verdict: "allowed", Status: 200},
		{Method: "CONNECT", Host: "llm.internal", Port: 443, SNI: "llm.internal", Verdict: "allowed"},
	}
	conns := w.end(t)
	for i, c := range conns {
		if c.Up < 50 || c.Down < 50 || c.Address == "" || c.Seconds <= 0 || c.Time.IsZero() {
			t.Errorf("connection %d: %+v", i, c)
		}
	}
	if diff := cmp.Diff(want, conns, cmpopts.IgnoreFields(proxy.Conn{}, "Time", "Seconds", "Address", "Up", "Down")); diff != "" {
		t.Errorf("connections (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"93.184.216.34:443", "93.184.216.36:80", "10.0.0.7:443"}, w.dialed); diff != "" {
		t.Errorf("dialled (-want +got):\n%s", diff)
	}
}

// TestRewritten sees that a request arrives as the proxy understood it.
func TestRewritten(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"host header is that of the address", "GET http://files.example.com/a HTTP/1.1\r\nHost: evil.net\r\n\r\n", "GET /a host=files.example.com te=[] body= x= proxy="},
		{"both length and coding", "POST http://files.example.com/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "POST / host=files.example.com te=[chunked] body=abc x= proxy="},
		{"headers of the hop", "GET http://files.example.com/ HTTP/1.1\r\nHost: x\r\nConnection: x-hop, close\r\nX-Hop: 1\r\nProxy-Authorization: Basic s3cr3t\r\n\r\n", "GET / host=files.example.com te=[] body= x= proxy="},
		{"port given", "GET http://FILES.example.com.:80/%2e%2e/b HTTP/1.0\r\n\r\n", "GET /%2e%2e/b host=files.example.com te=[] body= x= proxy="},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, nil)
			reply := w.talk(t, tt.text)
			w.end(t)
			if diff := cmp.Diff([]string{tt.want}, w.got); diff != "" || !strings.Contains(reply, "hello") {
				t.Errorf("server got (-want +got):\n%s\nreply %q", diff, reply)
			}
		})
	}
}

// TestPipelined sees that of requests sent at once each is judged by itself.
func TestPipelined(t *testing.T) {
	w := newWorld(t, nil)
	one := "GET http://files.example.com/%s HTTP/1.1\r\nHost: x\r\n\r\n"
	reply := w.talk(t, fmt.Sprintf(one, "1")+strings.ReplaceAll(fmt.Sprintf(one, "2"), "files.example.com", "evil.net")+fmt.Sprintf(one, "3"))
	conns := w.end(t)
	var got []string
	for _, c := range conns {
		got = append(got, c.Host+" "+c.Verdict)
	}
	if diff := cmp.Diff([]string{"files.example.com allowed", "evil.net refused", "files.example.com allowed"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, reply)
	}
	if len(w.dialed) != 2 {
		t.Errorf("%d connections to the server, want one for each request", len(w.dialed))
	}
}

// TestHelloInPieces sends a ClientHello byte by byte, and more behind it.
func TestHelloInPieces(t *testing.T) {
	w := newWorld(t, func(o *proxy.Options) { o.HelloTimeout = 5 * time.Second })
	c, err := net.Dial("tcp", w.proxy)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(c, connectAPI)
	r := bufio.NewReader(c)
	for range 2 {
		if line, err := r.ReadString('\n'); err != nil {
			t.Fatal(line, err)
		}
	}
	roots := x509.NewCertPool()
	roots.AddCert(w.secure.Certificate())
	session := tls.Client(&slow{Conn: c}, &tls.Config{RootCAs: roots, ServerName: "api.example.com"}) //nolint:gosec // a test
	fmt.Fprint(session, "GET / HTTP/1.0\r\n\r\n")
	body, err := io.ReadAll(session)
	if !strings.HasSuffix(string(body), "hello") {
		t.Errorf("got %q, %v", body, err)
	}
	session.Close()
	if conns := w.end(t); len(conns) != 1 || conns[0].Verdict != proxy.Allowed {
		t.Errorf("%+v", conns)
	}
}

// slow writes its first bytes one by one.
type slow struct {
	net.Conn
	sent int
}

func (s *slow) Write(p []byte) (n int, err error) {
	for i := range p {
		if s.sent > 400 {
			m, err := s.Conn.Write(p[i:])
			return n + m, err
		}
		m, err := s.Conn.Write(p[i : i+1])
		n, s.sent = n+m, s.sent+m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// TestEncryptedHello sends a ClientHello whose inner name is encrypted.
func TestEncryptedHello(t *testing.T) {
	raw := sayHello(t, "api.example.com", nil)
	// An empty extension 0xfe0d at the end; the three lengths before it grow.
	ext := []byte{0xfe, 0x0d, 0, 0}
	at := 5 + 4 + 2 + 32
	at += 1 + int(raw[at])
	at += 2 + int(raw[at])<<8 + int(raw[at+1])
	at += 1 + int(raw[at])
	for _, i := range []int{3, 7, at} {
		n := int(raw[i])<<8 + int(raw[i+1]) + len(ext)
		raw[i], raw[i+1] = byte(n>>8), byte(n)
	}
	w := newWorld(t, nil)
	w.talk(t, connectAPI, string(raw)+string(ext))
	if conns := w.end(t); len(conns) != 1 || !strings.Contains(conns[0].Reason, "encrypted") {
		t.Errorf("%+v", conns)
	}
}

// TestLimits sees that idle and endless connections are closed.
func TestLimits(t *testing.T) {
	for name, change := range map[string]func(*proxy.Options){
		"idle":  func(o *proxy.Options) { o.Idle = 100 * time.Millisecond },
		"total": func(o *proxy.Options) { o.Total = 100 * time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, change)
			start := time.Now()
			c, err := net.Dial("tcp", w.proxy)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			fmt.Fprint(c, connectAPI)
			_, _ = c.Write(sayHello(t, "api.example.com", nil))
			if _, err := io.Copy(io.Discard, c); time.Since(start) > 5*time.Second {
				t.Errorf("closed after %v (%v)", time.Since(start), err)
			}
			if conns := w.end(t); len(conns) != 1 || conns[0].Up == 0 || conns[0].Down == 0 {
				t.Errorf("%+v", conns)
			}
		})
	}
}

// TestEnds sees that the end of the context ends open connections.
func TestEnds(t *testing.T) {
	w := newWorld(t, nil)
	c, err := net.Dial("tcp", w.proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, connectAPI)
	_, _ = c.Write(sayHello(t, "api.example.com", nil))
	if _, err := c.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if conns := w.end(t); len(conns) != 1 {
		t.Errorf("%+v", conns)
	}
	if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
}
