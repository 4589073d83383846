package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestIdleConnections: a connection is given up before servers such as Uvicorn
// give it up after five seconds, or as soon as a server says that it does.
func TestIdleConnections(t *testing.T) {
	for _, c := range []struct {
		name  string
		says  string
		pause time.Duration
		dials int
	}{
		{"shorter than both", "", 3900 * time.Millisecond, 1},
		{"between both", "", 4500 * time.Millisecond, 10},
		{"as long as the server's", "", 5 * time.Second, 10},
		{"a server that says five", "timeout=5, max=100", time.Second, 1},
		{"a server that says two", "max=100, Timeout=2", 1900 * time.Millisecond, 10},
		{"a server that says nonsense", "timeout", time.Second, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wire, dials := listen(), 0
				server := &http.Server{IdleTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if c.says != "" {
						w.Header().Set("Keep-Alive", c.says)
					}
					says(3, 4)(w, r)
				})}
				go func() { _ = server.Serve(wire) }()
				defer server.Close()
				b := startAt(t, t.TempDir(), toyModel(), nil, func(ctx context.Context, n, a string) (net.Conn, error) {
					dials++
					return wire.Dial(ctx, n, a)
				})
				for range 10 {
					if resp, text := b.ask(toyRequest{Model: "small"}); resp.StatusCode != 200 {
						t.Fatal(text)
					}
					time.Sleep(c.pause)
				}
				if c.name == "a server that says two" {
					dials++ // the first answer told it
				}
				if dials < c.dials || dials > c.dials+1 {
					t.Errorf("%d connections for 10 requests", dials)
				}
			})
		})
	}
}

// closer is a provider that answers the first request of each connection, and
// ends the connection at a later one as end says.
func closer(t *testing.T, end func(c net.Conn, r *bufio.Reader)) (dial dialer, dials, got *atomic.Int64) {
	dials, got = new(atomic.Int64), new(atomic.Int64)
	serve := func(c net.Conn) {
		defer c.Close()
		r := bufio.NewReader(c)
		for n := 0; ; n++ {
			if n > 0 {
				end(c, r)
				return
			}
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			got.Add(1)
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(good), good)
		}
	}
	return func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		here, there := net.Pipe()
		go serve(there)
		return here, nil
	}, dials, got
}

// TestConnectionsThatEnded: a request whose connection the server had closed is
// sent again, without a retry block, and costs what the answer costs.
func TestConnectionsThatEnded(t *testing.T) {
	half := func(c net.Conn, r *bufio.Reader) { _, _ = io.ReadFull(r, make([]byte, 100)) }
	whole := func(after time.Duration, text string) func(net.Conn, *bufio.Reader) {
		return func(c net.Conn, r *bufio.Reader) {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			time.Sleep(after)
			_, _ = io.WriteString(c, text)
		}
	}
	for _, c := range []struct {
		name  string
		end   func(net.Conn, *bufio.Reader)
		again bool
	}{
		{"at once", func(net.Conn, *bufio.Reader) {}, true},
		{"while the request is written", half, true},
		{"after the request", whole(0, ""), true},
		{"a moment after the request", whole(time.Second, ""), true},
		{"a minute after the request", whole(time.Minute, ""), false},
		{"within the header", whole(0, "HTTP/1.1 200 OK\r\nContent-"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial, dials, got := closer(t, c.end)
				b := startAt(t, t.TempDir(), toyModel(), nil, dial)
				const n = 6
				failures := 0
				for range n {
					resp, _ := b.ask(toyRequest{Model: "small", Max: 10, Text: strings.Repeat("x", 10_000)})
					if resp.StatusCode != 200 {
						failures++
					}
					synctest.Wait()
				}
				events := b.events()
				resent := 0
				for _, e := range events {
					for _, a := range e.Attempts {
						if !strings.Contains(a.Failed, "sent again") {
							t.Errorf("recorded %+v", a)
						}
						resent++
					}
				}
				s := b.Summary()[0]
				switch {
				case c.again && (failures > 0 || got.Load() != n || s.Cost != n*reportedCost || s.Unreported > 0):
					t.Errorf("%d failed, the provider answered %d, %d sent again: %+v", failures, got.Load(), resent, s)
				case !c.again && (failures != n/2 || resent > 0 || s.Unreported != n/2):
					t.Errorf("%d failed, %d sent again: %+v", failures, resent, s)
				}
				t.Logf("%d connections, %d sent again", dials.Load(), resent)
			})
		})
	}
}

// TestUnwrittenRequest: a connection that breaks while the request is written,
// be it a new one, costs nothing, and a retry sends it again.
func TestUnwrittenRequest(t *testing.T) {
	for _, attempts := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			m := toyModel()
			m.Retry, m.Budget = Retry{Attempts: attempts, Longest: time.Second}, Limits{Cost: 1000 * Dollar}
			wire := listen()
			server := &http.Server{Handler: says(3, 4)}
			go func() { _ = server.Serve(wire) }()
			defer server.Close()
			b := startAt(t, t.TempDir(), m, nil, func(ctx context.Context, network, address string) (net.Conn, error) {
				if n++; n > 1 {
					return wire.Dial(ctx, network, address)
				}
				here, there := net.Pipe()
				go func() {
					_, _ = io.ReadFull(there, make([]byte, 100))
					_ = there.Close()
				}()
				return here, nil
			})
			resp, _ := b.ask(toyRequest{Model: "small", Max: 10, Text: strings.Repeat("x", 100_000)})
			e := b.events()[0]
			switch spent, _ := b.blocks["main"].pool.Spent(); {
			case attempts == 1 && (resp.StatusCode != 502 || spent != Amount{}):
				t.Errorf("status %d, spent %+v, recorded %+v", resp.StatusCode, spent, e)
			case attempts > 1 && (resp.StatusCode != 200 || spent.Cost != reportedCost || len(e.Attempts) != 1):
				t.Errorf("status %d, spent %+v, recorded %+v", resp.StatusCode, spent, e)
			}
		})
	}
}

// TestConnectionsOfHTTP2: the same, where a server ends the one connection that
// all requests share.
func TestConnectionsOfHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("%s", r.Proto)
		}
		says(3, 4)(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	m := toyModel()
	m.BaseURL = server.URL
	transport := NewTransport()
	transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
	var last atomic.Pointer[net.Conn]
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		last.Store(&c)
		return c, err
	}
	up, err := NewProvider(&m, toy{}, realKey, transport)
	if err != nil {
		t.Fatal(err)
	}
	b := serve(t, t.TempDir(), m, nil, up)
	for i := range 8 {
		if resp, text := b.ask(toyRequest{Model: "small", Max: 10}); resp.StatusCode != 200 {
			t.Errorf("%d: status %d %s", i, resp.StatusCode, text)
		}
		if i%2 == 0 { // behind the back of the transport
			_ = (*last.Load()).(*net.TCPConn).CloseWrite()
		} else {
			server.CloseClientConnections()
		}
	}
	b.stop()
	if s := b.Summary()[0]; s.Cost != 8*reportedCost || s.Unreported > 0 {
		t.Errorf("%+v", s)
	}
}
