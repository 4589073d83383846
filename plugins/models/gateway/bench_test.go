package gateway

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// onTCP is a gateway for OpenAI's dialect and a provider, both on TCP.
func onTCP(b *testing.B, provider http.Handler) (direct, through string) {
	b.Helper()
	server := httptest.NewServer(provider)
	b.Cleanup(server.Close)
	m := Model{Name: "main", Provider: "openai", BaseURL: server.URL + "/v1", Models: []string{"*"}, Budget: Limits{Cost: 1_000_000 * Dollar}}
	d := dialect.Named("openai")
	up, err := NewProvider(&m, d, realKey, nil)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	record, err := transcript.Open(filepath.Join(dir, "transcript"), 4<<30, nil)
	if err != nil {
		b.Fatal(err)
	}
	g, err := New(Options{Dir: dir, Transcript: record, Blocks: []Block{{Model: m, Dialect: d, Virtual: virtualKey, Real: realKey, Upstream: up}}})
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(b.Context(), l) }()
	b.Cleanup(func() { <-done; _ = g.Close(); _ = record.Close() })
	return server.URL, "http://" + l.Addr().String() + "/main"
}

// chat is a request of so many bytes.
func chat(size int) string {
	turn := `{"role":"user","content":"` + strings.Repeat("all work and no play ", 50) + `"},`
	turns := strings.Repeat(turn, max(size/len(turn), 1))
	return `{"model":"gpt-5.5","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":1000,"messages":[` + strings.TrimSuffix(turns, ",") + `]}`
}

const usageEvent = `data: {"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":40,"completion_tokens":20,"total_tokens":60}}` + "\n\ndata: [DONE]\n\n"

func textEvent(n int) []byte {
	return fmt.Appendf(nil, `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":%q}}]}`+"\n\n", strings.Repeat("word ", n))
}

func open(b *testing.B, client *http.Client, address, body, key string) *http.Response {
	req, err := http.NewRequest(http.MethodPost, address+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		b.Fatalf("%d %s", resp.StatusCode, text)
	}
	return resp
}

// BenchmarkFirstByte is the time to the first byte of a stream, from the
// provider itself and through the gateway: for requests of a short question and
// of a long conversation.
func BenchmarkFirstByte(b *testing.B) {
	event := textEvent(1)
	direct, through := onTCP(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(event)
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, usageEvent)
	}))
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
		body, both := chat(size), ways{}
		for _, way := range []struct{ name, address, key string }{{"direct", direct, realKey}, {"gateway", through, virtualKey}} {
			b.Run(fmt.Sprintf("%dKiB/%s", size>>10, way.name), func(b *testing.B) {
				client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
				defer client.CloseIdleConnections()
				var first time.Duration
				one := make([]byte, 1)
				for b.Loop() {
					begun := time.Now()
					resp := open(b, client, way.address, body, way.key)
					_, _ = io.ReadFull(resp.Body, one)
					first += time.Since(begun)
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				both.report(b, way.name, float64(first.Microseconds())/1000/float64(b.N))
			})
		}
	}
}

// BenchmarkThroughput is a stream of events at full speed.
func BenchmarkThroughput(b *testing.B) {
	event := textEvent(200)
	const events = 2000
	direct, through := onTCP(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for range events {
			_, _ = w.Write(event)
		}
		_, _ = io.WriteString(w, usageEvent)
	}))
	body, both := chat(1<<10), ways{}
	for _, way := range []struct{ name, address, key string }{{"direct", direct, realKey}, {"gateway", through, virtualKey}} {
		b.Run(way.name, func(b *testing.B) {
			client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
			defer client.CloseIdleConnections()
			b.SetBytes(int64(len(event) * events))
			for b.Loop() {
				resp := open(b, client, way.address, body, way.key)
				if n, err := io.Copy(io.Discard, resp.Body); err != nil || n < int64(len(event)*events) {
					b.Fatalf("%d bytes, %v", n, err)
				}
				resp.Body.Close()
			}
			both.report(b, way.name, float64(len(event)*events)*float64(b.N)/1e6/b.Elapsed().Seconds())
		})
	}
}

// BenchmarkStreams holds 64 streams open at once and measures the memory of the
// gateway, the provider and the clients of the test together, with and without
// the gateway.
func BenchmarkStreams(b *testing.B) {
	event := textEvent(20)
	for _, size := range []int{1 << 10, 1 << 20} {
		body, both := chat(size), ways{}
		for _, name := range []string{"direct", "gateway"} {
			b.Run(fmt.Sprintf("%dKiB/%s", size>>10, name), func(b *testing.B) {
				for b.Loop() {
					both.report(b, name, measureStreams(b, name, body, event))
				}
			})
		}
	}
}

func measureStreams(b *testing.B, name, body string, event []byte) (mebibytes float64) {
	release := make(chan struct{})
	direct, through := onTCP(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for range 100 {
			_, _ = w.Write(event)
			_ = http.NewResponseController(w).Flush()
		}
		<-release
		_, _ = io.WriteString(w, usageEvent)
	}))
	address, key := direct, realKey
	if name == "gateway" {
		address, key = through, virtualKey
	}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()
	before := memory()
	var all sync.WaitGroup
	replies := make([]*http.Response, 64)
	for i := range replies {
		all.Go(func() {
			replies[i] = open(b, client, address, body, key)
			_, _ = io.CopyN(io.Discard, replies[i].Body, int64(100*len(event)))
		})
	}
	all.Wait()
	mebibytes = float64(memory()-before) / (1 << 20)
	close(release)
	for _, resp := range replies {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return mebibytes
}

// ways are figures by way, "direct" or "gateway". Each benchmark reports those that
// are known, so that the last one has both.
type ways map[string]float64

func (w ways) report(b *testing.B, name string, figure float64) {
	w[name] = figure
	for way, v := range w {
		b.ReportMetric(v, way)
	}
}

func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
