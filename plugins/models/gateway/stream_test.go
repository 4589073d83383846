package gateway

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// TestEventsArriveAsTheyCome: the client has each event before the provider
// writes the next one.
func TestEventsArriveAsTheyCome(t *testing.T) {
	for _, accept := range []string{"", "gzip"} {
		synctest.Test(t, func(t *testing.T) {
			texts := []string{"data: 1\n\n", "data: 2\n\n", "usage 3 4\n"}
			if accept != "" {
				texts = zip(texts...)
			}
			b := start(t, toyModel(), nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if got := r.Header.Get("Accept-Encoding"); accept != "" && got != accept || accept == "" && got != "identity" {
					t.Errorf("the provider is asked for %q", got)
				}
				if accept != "" {
					w.Header().Set("Content-Encoding", "gzip")
				}
				parts(time.Minute, texts...)(w, r)
			}))
			req := b.request(toyRequest{Model: "small"})
			req.Header.Set("Accept-Encoding", accept)
			begun := time.Now()
			resp, err := b.client.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			for i, want := range texts {
				got := make([]byte, len(want))
				if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
					t.Fatalf("got %q, %v, want %q", got, err, want)
				}
				if at := time.Since(begun); at != time.Duration(i+1)*time.Minute {
					t.Errorf("event %d arrived after %s", i+1, at)
				}
			}
		})
	}
}

// TestBackPressure: while the client does not read, the provider cannot go on
// writing.
func TestBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		written := 0
		b := start(t, toyModel(), nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			for range 1024 {
				n, err := w.Write(bytes.Repeat([]byte("x"), 16<<10))
				if err != nil {
					return
				}
				mu.Lock()
				written += n
				mu.Unlock()
			}
			fmt.Fprint(w, "\nusage 3 4\n")
		}))
		resp, err := b.client.RoundTrip(b.request(toyRequest{Model: "small"}))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		time.Sleep(time.Hour)
		synctest.Wait()
		mu.Lock()
		before := written
		mu.Unlock()
		if before > 128<<10 {
			t.Errorf("the provider wrote %d bytes that nobody read", before)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if err != nil || n < 16<<20 {
			t.Errorf("then got %d, %v", n, err)
		}
	})
}

// TestProviderIsLeft: a provider that answers nothing to a client that left is
// itself left after a while.
func TestProviderIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := time.Duration(0)
		begun := time.Now()
		b := start(t, toyModel(), nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			left = time.Since(begun)
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := b.client.RoundTrip(b.request(toyRequest{Model: "small"}).WithContext(ctx)) //nolint:bodyclose // an error
		if err == nil {
			t.Fatal("a reply")
		}
		time.Sleep(restTime)
		synctest.Wait()
		if left != time.Minute+restTime {
			t.Errorf("the provider was left after %s", left)
		}
	})
}

// TestEnd: at the end of the attempt, requests in progress are ended, settled and
// recorded.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, toyModel(), nil, parts(time.Hour, good))
		go func() {
			resp, err := b.client.RoundTrip(b.request(toyRequest{Model: "small", Max: 10}))
			if err == nil {
				resp.Body.Close()
			}
		}()
		time.Sleep(time.Minute)
		if events := b.events(); len(events) != 1 || Dollars(events[0].Cost) != wholeCost {
			t.Errorf("%+v", events)
		}
	})
}

func TestBodies(t *testing.T) {
	big := fmt.Sprintf(`{"model":"small","max":1,"text":%q}`, strings.Repeat("x", 1<<20))
	bomb := func() io.Reader {
		r, w := io.Pipe()
		go func() {
			z, zeros := make([]byte, 1<<20), 0
			b := bufio.NewWriter(w)
			defer w.Close()
			defer b.Flush()
			g := gzip.NewWriter(b)
			defer g.Close()
			for ; zeros < 80; zeros++ {
				if _, err := g.Write(z); err != nil {
					return
				}
			}
		}()
		return r
	}
	for _, test := range []struct {
		name     string
		body     io.Reader
		length   int64
		encoding string
		status   int
	}{
		{"length", strings.NewReader(big), int64(len(big)), "", 200},
		{"chunks", strings.NewReader(big), -1, "", 200},
		{"gzip", strings.NewReader(zip(big)[0]), -1, "gzip", 200},
		{"too large by its length", strings.NewReader("x"), maxBody + 1, "", 413},
		{"too large in chunks", io.LimitReader(zeros{}, maxBody+1), -1, "", 413},
		{"zstd", strings.NewReader(zstandard(big)), -1, "zstd", 200},
		{"zstd that is none", strings.NewReader("x"), 1, "zstd", 400},
		{"zstd bomb", strings.NewReader(zstandard(strings.Repeat("\x00", maxBody+1))), -1, "zstd", 413},
		{"gzip bomb", bomb(), -1, "gzip", 413},
		{"gzip that is none", strings.NewReader("x"), 1, "gzip", 400},
		{"two encodings", strings.NewReader("x"), 1, "gzip, gzip", 400},
		{"empty", http.NoBody, 0, "", 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			b := start(t, toyModel(), nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				data, _ := io.ReadAll(r.Body)
				got = string(data) + r.Header.Get("Content-Encoding")
				fmt.Fprint(w, good)
			}))
			req := b.request(toyRequest{})
			req.Body, req.ContentLength = io.NopCloser(test.body), test.length
			if test.encoding != "" {
				req.Header.Set("Content-Encoding", test.encoding)
			}
			// The gateway may close the connection before it has read everything.
			w := httptest.NewRecorder()
			b.ServeHTTP(w, req)
			if w.Code != test.status || w.Code == 200 && got != big {
				t.Errorf("got %d %.100s, the provider %.100s", w.Code, w.Body, got)
			}
			if !b.bodies.TryAcquire(maxBodies) {
				t.Error("bytes of the request are held for ever")
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestBodiesWaitForMemory: a request waits while others hold the memory.
func TestBodiesWaitForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, toyModel(), nil, says(3, 4))
		if !b.bodies.TryAcquire(maxBodies - 50) {
			t.Fatal("the memory is held")
		}
		time.AfterFunc(time.Minute, func() { b.bodies.Release(maxBodies - 50) })
		begun := time.Now()
		if status := call(t.Context(), b.Gateway, toyRequest{Model: "small"}); status != 200 || time.Since(begun) != time.Minute {
			t.Errorf("got %d after %s", status, time.Since(begun))
		}
	})
}

// TestSmuggling sends what two servers in a row may understand differently: the
// provider never gets a request that the rules did not see.
func TestSmuggling(t *testing.T) {
	body := `{"model":"small","max":1}`
	key := "Authorization: Bearer " + virtualKey + "\r\n"
	inner := "POST /api/v1/admin HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
	for name, request := range map[string]string{
		"two lengths":        "POST /main/v1/ask HTTP/1.1\r\nHost: g\r\n" + key + fmt.Sprintf("Content-Length: %d\r\nContent-Length: 3\r\n\r\n%s%s", len(body), body, inner),
		"length and chunks":  "POST /main/v1/ask HTTP/1.1\r\nHost: g\r\n" + key + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n%s", len(body), body, inner),
		"chunked twice":      "POST /main/v1/ask HTTP/1.1\r\nHost: g\r\n" + key + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n%s", len(body), body, inner),
		"space before colon": "POST /main/v1/ask HTTP/1.1\r\nHost: g\r\n" + key + fmt.Sprintf("Content-Length : 3\r\nContent-Length: %d\r\n\r\n%s%s", len(body), body, inner),
		"folded header":      "POST /main/v1/ask HTTP/1.1\r\nHost: g\r\n" + key + fmt.Sprintf("X-Kept: a\r\n b: c\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
		"line in header":     "POST /main/v1/ask HTTP/1.1\r\nHost: g\r\n" + key + fmt.Sprintf("X-Kept: a\n\nX: b\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
		"absolute form":      "POST http://evil.test/main/v1/ask HTTP/1.1\r\nHost: g\r\n" + key + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
		"connect":            "CONNECT evil.test:443 HTTP/1.1\r\nHost: g\r\n" + key + "\r\n" + inner,
		"upgrade":            "POST /main/v1/ask HTTP/1.1\r\nHost: g\r\n" + key + fmt.Sprintf("Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
		"h2 preface":         "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + inner,
		"other host":         "POST /main/v1/ask HTTP/1.1\r\nHost: evil.test\r\n" + key + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
		"expect":             "POST /main/v1/ask HTTP/1.1\r\nHost: g\r\n" + key + fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := start(t, toyModel(), nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					data, _ := io.ReadAll(r.Body)
					if r.URL.Path != "/api/v1/ask" || string(data) != body || r.Host != "provider.local" || r.Header.Get("Upgrade")+r.Header.Get("Expect") != "" || r.Header.Get("Authorization") != "Bearer "+realKey {
						t.Errorf("the provider got %s %s %q %v", r.Method, r.URL, data, r.Header)
					}
					fmt.Fprint(w, good)
				}))
				c, err := b.front.Dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(time.Minute))
				go func() { _, _ = io.WriteString(c, request) }()
				reply, _ := io.ReadAll(c)
				t.Logf("%.60q", reply)
				if bytes.Contains(reply, []byte(realKey)) {
					t.Errorf("%q", reply)
				}
			})
		})
	}
}

// TestRealNetwork is the same over TCP and TLS: a certificate that nobody signed
// is a failure that is not retried, and its error stays outside.
func TestRealNetwork(t *testing.T) {
	server := httptest.NewTLSServer(says(3, 4))
	defer server.Close()
	for _, trusted := range []bool{false, true} {
		m := toyModel()
		m.BaseURL, m.Retry = server.URL, Retry{Attempts: 3}
		transport := NewTransport()
		if trusted {
			transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig
		}
		up, err := NewProvider(&m, toy{}, realKey, transport)
		if err != nil {
			t.Fatal(err)
		}
		b := serve(t, t.TempDir(), m, nil, up)
		resp, text := b.ask(toyRequest{Model: "small"})
		want := 200
		if !trusted {
			want = 502
		}
		if resp.StatusCode != want || strings.Contains(text, "x509") || strings.Contains(text, "127.0.0.1") {
			t.Errorf("got %d %s", resp.StatusCode, text)
		}
		e := b.events()[0]
		if trusted != (e.Failed == "") || !trusted && (!strings.Contains(e.Failed, "certificate") || len(e.Attempts) > 0 || e.Cost != 0) {
			t.Errorf("recorded %+v", e)
		}
	}
}

// TestSerialConnections: connections are used again, on both sides.
func TestSerialConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire, dials := listen(), 0
		server := &http.Server{Handler: says(1, 1)}
		go func() { _ = server.Serve(wire) }()
		defer server.Close()
		b := startAt(t, t.TempDir(), toyModel(), nil, func(ctx context.Context, n, a string) (net.Conn, error) {
			dials++
			return wire.Dial(ctx, n, a)
		})
		for range 20 {
			if resp, text := b.ask(toyRequest{Model: "small"}); resp.StatusCode != 200 {
				t.Fatal(text)
			}
			synctest.Wait()
		}
		if dials != 1 {
			t.Errorf("%d connections for 20 requests", dials)
		}
	})
}

// fragile is a dialect whose meter panics.
type fragile struct{ toy }

func (fragile) Usage(*dialect.Request) dialect.Meter { return &bomb{} }

type bomb struct{ toyMeter }

func (*bomb) Write([]byte) (int, error) { panic("meter") }

// TestPanicWithinAResponse: a response that a meter cannot bear ends, or passes
// unmetered, is charged whole, and harms nothing else.
func TestPanicWithinAResponse(t *testing.T) {
	for _, accept := range []string{"identity", "gzip"} {
		synctest.Test(t, func(t *testing.T) {
			b := start(t, toyModel(), nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if texts := []string{good}; accept == "gzip" {
					encoded("gzip", parts(0, zip(texts...)...))(w, r)
				} else {
					parts(0, texts...)(w, r)
				}
			}))
			b.blocks["main"].Dialect = fragile{}
			_, _ = b.ask(toyRequest{Model: "small", Max: 10}, func(r *http.Request) { r.Header.Set("Accept-Encoding", accept) })
			e := b.events()[0]
			if Dollars(e.Cost) != wholeCost || e.Failed == "" {
				t.Errorf("%s: recorded %+v", accept, e)
			}
		})
	}
}
