package gateway

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

const good = "hello\nusage 3 4\n"

// raw replies with these bytes and closes the connection.
func raw(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = buf.WriteString(text)
		_ = buf.Flush()
		_ = c.Close()
	}
}

// status replies with a status and headers, given as pairs.
func status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, "status %d\n", code)
	}
}

// parts replies with the texts, each after a pause.
func parts(pause time.Duration, texts ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for _, text := range texts {
			if progress.Sleep(r.Context(), pause) != nil {
				return
			}
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// zip compresses the texts, each flushed.
func zip(texts ...string) (out []string) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for i, text := range texts {
		_, _ = io.WriteString(z, text)
		if _ = z.Flush(); i == len(texts)-1 {
			_ = z.Close()
		}
		out = append(out, b.String())
		b.Reset()
	}
	return out
}

// zstandard compresses a text with zstd.
func zstandard(text string) string {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return string(z.EncodeAll([]byte(text), nil))
}

func unzip(t *testing.T, text string) string {
	z, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		return "not gzip: " + err.Error()
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		return string(plain) + "!" + err.Error()
	}
	return string(plain)
}

// encoded adds a content encoding.
func encoded(name string, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Encoding", name); h(w, r) }
}

// fault is a way in which a provider fails, and what becomes of it.
type fault struct {
	name string
	// providers are what each request gets in turn; the last one goes on.
	providers []http.HandlerFunc
	// down is how long nobody listens at the beginning.
	down   time.Duration
	retry  Retry
	accept string
	// leaves is when the client leaves.
	leaves time.Duration

	status int
	// body is what the client gets of it; "!" at its end that it is cut.
	body string
	// cost is what is charged: reported, nothing, or all that was reserved.
	cost     Dollars
	requests int           // that the provider got
	waited   time.Duration // at least, and at most a second more
	failed   string        // part of what is recorded
}

const (
	reportedCost = 11 * Dollar / 1000 // 3 tokens for 1000, 4 for 2000 dollars per million
	// wholeCost is what the request of these tests may take: its 57 bytes and 10
	// tokens.
	wholeCost = 77 * Dollar / 1000
	// leftCost is that of the 57 bytes and 6 bytes of an answer, as tokens.
	leftCost = 69 * Dollar / 1000
)

// lasting is how long the client of the faults needs at most.
const lasting = 2 * time.Hour

func faults() []fault {
	one := func(h ...http.HandlerFunc) []http.HandlerFunc { return h }
	four := Retry{Attempts: 4, Longest: 30 * time.Second}
	ok := says(3, 4)
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		fmt.Fprintf(w, "you are %s\nusage 3 4\n", r.Header.Get("Authorization"))
	}
	z := zip("hello\n", "usage 3 4\n")
	return []fault{
		{name: "no fault", providers: one(ok), status: 200, body: good, cost: reportedCost, requests: 1},
		// Passed through.
		{name: "400", providers: one(status(400)), retry: four, status: 400, body: "status 400\n", requests: 1},
		{name: "401", providers: one(status(401)), retry: four, status: 401, body: "status 401\n", requests: 1},
		{name: "404", providers: one(status(404)), retry: four, status: 404, body: "status 404\n", requests: 1},
		{name: "429 without retries", providers: one(status(429, "Retry-After", "7")), status: 429, body: "status 429\n", requests: 1},
		{name: "500 without retries", providers: one(status(500)), status: 500, body: "status 500\n", requests: 1},
		{name: "501", providers: one(status(501)), retry: four, status: 501, body: "status 501\n", requests: 1},
		{name: "500 that says not to retry", providers: one(status(500, "X-Should-Retry", "false")), retry: four, status: 500, body: "status 500\n", requests: 1},
		{name: "429 that asks for more than the longest wait", providers: one(status(429, "Retry-After", "3600")), retry: four, status: 429, body: "status 429\n", requests: 1},
		// Retried.
		{name: "429, then good", providers: one(status(429, "Retry-After", "7"), ok), retry: four, status: 200, body: good, cost: reportedCost, requests: 2, waited: 7 * time.Second},
		{name: "429 in milliseconds", providers: one(status(429, "Retry-After-Ms", "1500", "Retry-After", "9"), ok), retry: four, status: 200, body: good, cost: reportedCost, requests: 2, waited: 1500 * time.Millisecond},
		{name: "503 until a date of a clock a year ahead", providers: one(status(503, "Date", "Mon, 22 Nov 2027 10:00:00 GMT", "Retry-After", "Mon, 22 Nov 2027 10:00:12 GMT"), ok), retry: four, status: 200, body: good, cost: reportedCost, requests: 2, waited: 12 * time.Second},
		{name: "503 until a date of a clock a year behind", providers: one(status(503, "Date", "Sat, 22 Nov 1997 10:00:00 GMT", "Retry-After", "Sat, 22 Nov 1997 10:00:12 GMT"), ok), retry: four, status: 200, body: good, cost: reportedCost, requests: 2, waited: 12 * time.Second},
		{name: "Retry-After that cannot be read", providers: one(status(529, "Retry-After", "soon"), ok), retry: four, status: 200, body: good, cost: reportedCost, requests: 2, waited: 250 * time.Millisecond},
		{name: "negative Retry-After", providers: one(status(529, "Retry-After", "-5"), ok), retry: four, status: 200, body: good, cost: reportedCost, requests: 2, waited: 250 * time.Millisecond},
		{name: "Retry-After that is not a number", providers: one(status(529, "Retry-After", "NaN"), ok), retry: four, status: 200, body: good, cost: reportedCost, requests: 2, waited: 250 * time.Millisecond},
		{name: "400 that says to retry", providers: one(status(400, "X-Should-Retry", "true"), ok), retry: four, status: 200, body: good, cost: reportedCost, requests: 2, waited: 250 * time.Millisecond},
		{name: "always 503", providers: one(status(503)), retry: four, status: 503, body: "status 503\n", requests: 4, waited: 1750 * time.Millisecond},
		{name: "down", down: lasting, retry: four, status: 502, waited: 1750 * time.Millisecond, failed: "connection refused"},
		{name: "down for ten minutes", down: 10 * time.Minute, providers: one(ok), retry: Retry{Attempts: 50, Longest: 30 * time.Second}, status: 200, body: good, cost: reportedCost, requests: 1, waited: 10 * time.Minute},
		// Not retried, since it may have been charged.
		{name: "closed without a reply", providers: one(raw("")), retry: four, status: 502, cost: wholeCost, requests: 1, failed: "EOF"},
		{name: "not HTTP", providers: one(raw("SSH-2.0-OpenSSH_9.6\r\n")), retry: four, status: 502, cost: wholeCost, requests: 1, failed: "malformed HTTP"},
		{name: "cut in the header", providers: one(raw("HTTP/1.1 200 OK\r\nContent-Ty")), retry: four, status: 502, cost: wholeCost, requests: 1, failed: "malformed MIME header"},
		{name: "a header of a mebibyte", providers: one(raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20) + "\r\n\r\n")), retry: four, status: 502, cost: wholeCost, requests: 1, failed: "headers exceeded"},
		{name: "cut in the body", providers: one(raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")), retry: four, status: 200, body: "hello!", cost: wholeCost, requests: 1, failed: "unexpected EOF"},
		{name: "cut in a chunk", providers: one(raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n8\r\nus")), retry: four, status: 200, body: "hellous!", cost: wholeCost, requests: 1, failed: "unexpected EOF"},
		{name: "malformed chunk", providers: one(raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n")), retry: four, status: 200, body: "hello!", cost: wholeCost, requests: 1, failed: "chunk"},
		{name: "cut after the usage", providers: one(raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + good)), status: 200, body: good + "!", cost: reportedCost, requests: 1, failed: "unexpected EOF"},
		{name: "ended early", providers: one(parts(0, "hello\n")), retry: four, status: 200, body: "hello\n", cost: wholeCost, requests: 1, failed: "ended early"},
		{name: "nothing", providers: one(status204), retry: four, status: 204, cost: wholeCost, requests: 1, failed: "ended early"},
		{name: "malformed event", providers: one(parts(0, "usage three\n", "\xff\x00\n", "usage 3 4\n")), status: 200, body: "usage three\n\xff\x00\nusage 3 4\n", cost: reportedCost, requests: 1},
		// Slow.
		{name: "an hour of silence", providers: one(parts(time.Hour, good)), status: 200, body: good, cost: reportedCost, requests: 1},
		{name: "silence within", providers: one(parts(40*time.Minute, "hello\n", "usage 3 4\n")), status: 200, body: good, cost: reportedCost, requests: 1},
		{name: "drip", providers: one(parts(10*time.Second, strings.Split(good, "")...)), status: 200, body: good, cost: reportedCost, requests: 1},
		{name: "keep-alive comments", providers: one(parts(15*time.Second, ": ping\n\n", ": ping\n\n", good)), status: 200, body: ": ping\n\n: ping\n\n" + good, cost: reportedCost, requests: 1},
		{name: "client leaves before the reply", providers: one(parts(time.Hour, good)), leaves: time.Minute, cost: wholeCost, requests: 1},
		{name: "client leaves before the reply, which comes", providers: one(parts(2*time.Minute, good)), leaves: time.Minute, cost: reportedCost, requests: 1},
		{name: "client leaves within the reply", providers: one(parts(time.Minute, "hello\n", "usage 3 4\n")), leaves: 90 * time.Second, status: 200, body: "hello\n!", cost: reportedCost, requests: 1},
		{name: "client leaves within a reply without usage", providers: one(parts(time.Minute, "hello\n", "a\n")), leaves: 90 * time.Second, status: 200, body: "hello\n!", cost: leftCost + 2*2*Dollar/1000, requests: 1},
		{name: "client leaves within a reply without an end", providers: one(func(w http.ResponseWriter, r *http.Request) {
			parts(time.Minute, "hello\n")(w, r)
			<-r.Context().Done()
		}), leaves: 90 * time.Second, status: 200, body: "hello\n!", cost: leftCost, requests: 1},
		{name: "client leaves between retries", providers: one(status(503, "Retry-After", "20"), ok), retry: four, leaves: 10 * time.Second, requests: 1, waited: 10 * time.Second},
		// Elsewhere.
		{name: "redirect", providers: one(status(307, "Location", "https://evil.test/?key="+realKey)), retry: four, status: 502, requests: 1, failed: "not followed"},
		{name: "103 before the reply", providers: one(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			ok(w, r)
		}), status: 200, body: good, cost: reportedCost, requests: 1},
		{name: "trailers", providers: one(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-End")
			ok(w, r)
			w.Header().Set("X-End", "1")
		}), status: 200, body: good, cost: reportedCost, requests: 1},
		{name: "HTTP/1.0 without length", providers: one(raw("HTTP/1.0 200 OK\r\n\r\n" + good)), status: 200, body: good, cost: reportedCost, requests: 1},
		{name: "upgrade that nobody asked for", providers: one(raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")), status: 502, cost: wholeCost, requests: 1, failed: "101"},
		// Encoded.
		{name: "gzip", accept: "br, gzip;q=0.8", providers: one(encoded("gzip", parts(time.Second, z...))), status: 200, body: "gzip:" + good, cost: reportedCost, requests: 1},
		{name: "zstd that nobody asked for", providers: one(encoded("zstd", parts(time.Second, zstandard(good)))), status: 200, body: zstandard(good), cost: reportedCost, requests: 1},
		{name: "repeats the key in zstd", providers: one(encoded("zstd", parts(0, zstandard("you are "+realKey+"\nusage 3 4\n")))), status: 502, cost: reportedCost, requests: 1, failed: "repeats"},
		{name: "gzip cut", accept: "gzip", providers: one(encoded("gzip", parts(0, z[0]))), status: 200, body: "gzip:hello\n!unexpected EOF", cost: wholeCost, requests: 1, failed: "ended early"},
		{name: "gzip that is none", accept: "gzip", providers: one(encoded("gzip", parts(0, good))), status: 200, body: good, cost: wholeCost, requests: 1, failed: "ended early"},
		{name: "encoding that nobody asked for", accept: "br", providers: one(encoded("br", parts(0, "\x0b\x02\x80"))), status: 200, body: "\x0b\x02\x80", cost: wholeCost, requests: 1, failed: "ended early"},
		// Keys.
		{name: "repeats the key in a header", providers: one(echo), status: 502, cost: reportedCost, requests: 1, failed: "repeats"},
		{name: "repeats the key in parts", providers: one(parts(time.Second, "you are "+realKey[:7], realKey[7:9], realKey[9:]+"\nusage 3 4\n")), status: 200, body: "you are !", cost: reportedCost, requests: 1, failed: "repeats"},
		{name: "repeats the key at once", providers: one(parts(0, "you are "+realKey+"\nusage 3 4\n")), status: 502, cost: reportedCost, requests: 1, failed: "repeats"},
		{name: "repeats the key in base64", providers: one(parts(0, "you are "+base64.StdEncoding.EncodeToString([]byte("Bearer "+realKey))+"\nusage 3 4\n")), status: 502, cost: reportedCost, requests: 1, failed: "repeats"},
		{name: "repeats the key in an event", providers: one(events(parts(time.Second, "you are ", realKey+"\nusage 3 4\n"))), status: 200, body: "you are !", cost: reportedCost, requests: 1, failed: "repeats"},
		{name: "repeats the key in gzip", accept: "gzip", providers: one(encoded("gzip", parts(0, zip("you are ", realKey, "\nusage 3 4\n")...))), status: 200, body: "gzip:you are !unexpected EOF", cost: reportedCost, requests: 1, failed: "repeats"},
		{name: "repeats the key in parts of gzip", accept: "gzip", providers: one(encoded("gzip", parts(0, zip("you are "+realKey[:9], realKey[9:], "\nusage 3 4\n")...))), status: 502, cost: reportedCost, requests: 1, failed: "repeats"},
		{name: "begins the key in gzip", accept: "gzip", providers: one(encoded("gzip", parts(0, zip("you are "+realKey[:9], " and no more", "\nusage 3 4\n")...))), status: 200, body: "gzip:you are " + realKey[:9] + " and no more\nusage 3 4\n", cost: reportedCost, requests: 1},
		{name: "repeats the key in an error", providers: one(func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "no such key: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		}), status: 502, requests: 1, failed: "repeats"},
	}
}

// events says that a response is a stream of events.
func events(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		h(w, r)
	}
}

func status204(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(204)
}

func TestFaults(t *testing.T) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) { synctest.Test(t, f.test) })
	}
}

func (f *fault) test(t *testing.T) {
	begun, wire, requests := time.Now(), listen(), 0
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := f.providers[min(requests, len(f.providers)-1)]
		requests++
		h(w, r)
	})}
	go func() { _ = server.Serve(wire) }()
	defer server.Close()
	m := toyModel()
	m.Retry, m.Budget = f.retry, Limits{Cost: 100 * Dollar}
	b := startAt(t, t.TempDir(), m, nil, func(ctx context.Context, network, address string) (net.Conn, error) {
		if time.Since(begun) < f.down {
			return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		}
		return wire.Dial(ctx, network, address)
	})
	ctx, cancel := context.WithTimeout(t.Context(), lasting)
	if f.leaves > 0 {
		ctx, cancel = context.WithTimeout(t.Context(), f.leaves)
	}
	defer cancel()
	req := b.request(toyRequest{Model: "small", Max: 10}).WithContext(ctx)
	if f.accept != "" {
		req.Header.Set("Accept-Encoding", f.accept)
	}
	got := f.receive(t, b, req)
	if f.leaves > 0 {
		time.Sleep(restTime)
	}
	synctest.Wait()
	paused := b.Paused()
	f.check(t, b, requests, paused)
	holdsNoKey(t, b.dir, got)
}

// receive returns everything that the client gets.
func (f *fault) receive(t *testing.T, b *bench, req *http.Request) string {
	resp, err := b.client.RoundTrip(req)
	if err != nil {
		if f.status != 0 {
			t.Errorf("client: %v", err)
		}
		return err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	all := fmt.Sprint(resp.Header, string(data))
	text := string(data)
	if strings.HasPrefix(f.body, "gzip:") {
		text = "gzip:" + unzip(t, text)
	} else if err != nil {
		text += "!"
	}
	if resp.StatusCode != f.status || f.status != 502 && text != f.body {
		t.Errorf("client got %d %q, want %d %q", resp.StatusCode, text, f.status, f.body)
	}
	return all
}

func (f *fault) check(t *testing.T, b *bench, requests int, paused time.Duration) {
	t.Helper()
	if requests != f.requests {
		t.Errorf("the provider got %d requests, want %d", requests, f.requests)
	}
	events := b.events()
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	e := events[0]
	if marked := f.cost > 0 && f.cost != reportedCost; e.Estimated != marked || (b.Summary()[0].Unreported > 0) != marked {
		t.Errorf("marked as an estimate: %t; %+v", e.Estimated, b.Summary())
	}
	if Dollars(e.Cost) != f.cost || b.Summary()[0].Cost != f.cost {
		t.Errorf("charged %s, want %s", Dollars(e.Cost), f.cost)
	}
	if e.Status != f.status && f.leaves == 0 || (e.Failed == "") != (f.failed == "") || !strings.Contains(e.Failed, f.failed) || e.Gone != (f.leaves > 0) {
		t.Errorf("recorded %+v", e)
	}
	if failures := max(f.requests-1, 0); f.down == 0 && len(e.Attempts) != failures && f.leaves == 0 {
		t.Errorf("recorded %+v", e.Attempts)
	}
	waited := time.Duration(e.Waited * float64(time.Second)).Round(time.Millisecond)
	if slack := f.waited/2 + time.Minute; waited < f.waited || waited > f.waited+slack || paused.Round(time.Millisecond) != waited {
		t.Errorf("waited %s (%s paused), want %s", waited, paused, f.waited)
	}
	if spent, held := b.blocks["main"].pool.Spent(); held != (Amount{}) || spent.Cost != f.cost {
		t.Errorf("spent %+v, held %+v", spent, held)
	}
}

// holdsNoKey looks for the real key in every byte that was written or received.
func holdsNoKey(t *testing.T, dir string, got ...string) {
	t.Helper()
	for _, text := range got {
		if strings.Contains(text, realKey) {
			t.Errorf("the client got the key: %q", text)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(realKey)) {
			t.Errorf("%s holds the key: %q", path, data)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
