package telemetry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// server is a collector that answers the first requests with other statuses.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	slow     time.Duration
	headers  []string
	spans    []*otlp.Span
}

func newServer(t *testing.T, slow time.Duration, statuses ...int) *server {
	s := &server{statuses: statuses, slow: slow}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	return s
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	select {
	case <-r.Context().Done():
	case <-time.After(s.slow):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.headers = append(s.headers, r.Header.Get("Authorization"))
	if len(s.statuses) > 0 {
		w.WriteHeader(s.statuses[0])
		fmt.Fprintf(w, "no: %s", r.Header.Get("Authorization")) // as a bad server would
		s.statuses = s.statuses[1:]
		return
	}
	var req collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &req); err != nil || r.URL.Path != "/v1/traces" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	for _, rs := range req.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			s.spans = append(s.spans, ss.Spans...)
		}
	}
}

func none(string) string { return "" }

// sent sends three spans and returns what Close does.
func sent(t *testing.T, o Options, most time.Duration) (made, arrived int, err error) {
	t.Helper()
	if o.Env == nil {
		o.Env = none
	}
	s, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1, 0)
	for i := range 3 {
		x := span{run: "r", id: spanID("r", fmt.Sprint(i)), parent: spanID("r"), name: "n", start: at, end: at.Add(time.Second)}
		if i == 2 {
			x.failed, x.class, x.moments = "it broke", "broken", []sdktrace.Event{{Name: "m", Time: at, Attributes: []attribute.KeyValue{attribute.Int("k", 1)}}}
		}
		s.put(x)
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	return s.Close(ctx)
}

func TestSpansArrive(t *testing.T) {
	s := newServer(t, 0)
	if made, arrived, err := sent(t, Options{Collector: s.URL + "/v1/traces"}, time.Minute); made != 3 || arrived != 3 || err != nil {
		t.Fatalf("%d made, %d arrived, %v", made, arrived, err)
	}
	trace, parent, last := traceID("r"), spanID("r"), s.spans[2]
	for i, x := range s.spans {
		if id := spanID("r", fmt.Sprint(i)); string(x.TraceId) != string(trace[:]) || string(x.ParentSpanId) != string(parent[:]) || string(x.SpanId) != string(id[:]) {
			t.Errorf("span %d has identifiers %x %x %x", i, x.TraceId, x.ParentSpanId, x.SpanId)
		}
		if x.StartTimeUnixNano != 1e9 || x.EndTimeUnixNano != 2e9 {
			t.Errorf("span %d is from %d to %d", i, x.StartTimeUnixNano, x.EndTimeUnixNano)
		}
	}
	if last.Status.Code != otlp.Status_STATUS_CODE_ERROR || last.Status.Message != "it broke" || last.Attributes[0].Value.GetStringValue() != "broken" || len(last.Events) != 1 {
		t.Errorf("the failed span is %v", last)
	}
}

// TestCollectorIsBusy: a collector that asks for patience gets the spans later.
func TestCollectorIsBusy(t *testing.T) {
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		s := newServer(t, 0, status)
		if _, arrived, err := sent(t, Options{Collector: s.URL + "/v1/traces"}, time.Minute); arrived != 3 || err != nil || len(s.headers) != 2 {
			t.Errorf("after status %d, %d spans arrived in %d requests: %v", status, arrived, len(s.headers), err)
		}
	}
}

// TestCollectorFails: what does not arrive is counted, and no secret is told.
func TestCollectorFails(t *testing.T) {
	closed := newServer(t, 0)
	closed.Close()
	env := func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20s3cret-token"}[name]
	}
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20s3cret-token")
	refusing := newServer(t, 0, http.StatusUnauthorized)
	for _, c := range []struct{ name, url, want string }{
		{"closed port", closed.URL, "connection refused"},
		{"refusal", refusing.URL, "401"},
		{"slow", newServer(t, time.Minute).URL, "deadline exceeded"},
	} {
		began := time.Now()
		made, arrived, err := sent(t, Options{Collector: c.url + "/v1/traces", Env: env, Lossy: true}, time.Second)
		if made != 3 || arrived != 0 || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %d made, %d arrived, %v", c.name, made, arrived, err)
		}
		if strings.Contains(fmt.Sprint(err), "s3cret") {
			t.Errorf("%s: the error has the secret: %v", c.name, err)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: Close took %v", c.name, took)
		}
	}
	if len(refusing.headers) != 1 || refusing.headers[0] != "Bearer s3cret-token" {
		t.Errorf("the header of the environment is %q", refusing.headers)
	}
}

// TestNothingWaits: spans are made while a collector hangs, more than wait in the
// queue.
func TestNothingWaits(t *testing.T) {
	s, err := Open(context.Background(), Options{Collector: newServer(t, time.Minute).URL + "/v1/traces", Env: none, Lossy: true})
	if err != nil {
		t.Fatal(err)
	}
	const many = 10_000
	for i := range many {
		s.put(span{run: "r", id: spanID("r", fmt.Sprint(i)), name: "n", start: time.Unix(1, 0), end: time.Unix(2, 0)})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if made, arrived, err := s.Close(ctx); made != many || arrived != 0 || err == nil {
		t.Errorf("%d made, %d arrived, %v", made, arrived, err)
	}
}

func TestBadHeaders(t *testing.T) {
	for _, text := range []string{"s3cret", "a=b,s3cret", "=s3cret", "a=s3cret%zz"} {
		_, err := Open(context.Background(), Options{Collector: "http://localhost/v1/traces", Env: func(name string) string {
			return map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": text}[name]
		}})
		if err == nil || !strings.Contains(err.Error(), "OTEL_EXPORTER_OTLP_HEADERS: header") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAddress(t *testing.T) {
	general := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318/base/"}
	traces := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://t/custom"}
	for _, c := range []struct {
		text string
		env  map[string]string
		want string
	}{
		{"http://localhost:4318", nil, "http://localhost:4318/v1/traces"},
		{"http://localhost:4318/", nil, "http://localhost:4318/v1/traces"},
		{"https://h/api/otel", nil, "https://h/api/otel/v1/traces"},
		{"https://h/v1/traces", nil, "https://h/v1/traces"},
		{"env", general, "http://c:4318/base/v1/traces"},
		{"env", traces, "https://t/custom"},
		{"env", nil, ""},
		{"localhost:4318", nil, ""},
		{"grpc://localhost:4317", nil, ""},
		{"http://me:pass@host", nil, ""},
		{"http://host/?token=x", nil, ""},
	} {
		got, err := Address(c.text, func(name string) string { return c.env[name] })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", c.text, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "pass@") {
			t.Errorf("the error has the password: %v", err)
		}
	}
}
