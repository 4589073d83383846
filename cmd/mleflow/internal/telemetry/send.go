package telemetry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/mleflow/mleflow/cache/leaf/secret"
)

// Options say where spans go.
type Options struct {
	// Collector is the address of a collector's traces, as Address returns it. If
	// it is empty, File receives a request a line in OTLP JSON.
	Collector string
	File      io.Writer
	// Env reads the environment, in which OTEL_EXPORTER_OTLP_HEADERS may hold
	// credentials.
	Env func(string) string
	// Content adds prompts, replies and the arguments and results of tools.
	Content bool
	// Lossy drops spans rather than wait for the collector.
	Lossy bool
	// Version is that of the program.
	Version string
}

// FromEnv is the address that stands for that of the environment.
const FromEnv = "env"

// Address checks the address of a collector and returns that of its traces:
// /v1/traces below it. FromEnv takes OTEL_EXPORTER_OTLP_TRACES_ENDPOINT as it is,
// or OTEL_EXPORTER_OTLP_ENDPOINT.
func Address(text string, env func(string) string) (string, error) {
	traces := ""
	if text == FromEnv {
		traces = env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
		if text = cmp.Or(traces, env("OTEL_EXPORTER_OTLP_ENDPOINT")); text == "" {
			return "", errors.New("neither OTEL_EXPORTER_OTLP_ENDPOINT nor OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set; set one, or name the collector as http://HOST:4318")
		}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", errors.New("the collector's address is not like http://HOST:4318 or https://HOST/PATH")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("the collector's address holds a user or a query; pass credentials as OTEL_EXPORTER_OTLP_HEADERS=NAME=VALUE")
	}
	if path := strings.TrimSuffix(u.Path, "/"); traces == "" && !strings.HasSuffix(path, "/v1/traces") {
		u.Path = path + "/v1/traces"
	}
	return u.String(), nil
}

// headerValues returns the values of the headers in the environment, which are
// secret.
func headerValues(env func(string) string) (values []string, err error) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		for i, pair := range strings.FieldsFunc(strings.TrimSpace(env(name)), func(r rune) bool { return r == ',' }) {
			key, value, ok := strings.Cut(pair, "=")
			plain, err := url.PathUnescape(strings.TrimSpace(value))
			if !ok || strings.TrimSpace(key) == "" || err != nil {
				return nil, fmt.Errorf("%s: header %d is not NAME=VALUE with a percent-encoded value", name, i+1)
			}
			_, token, _ := strings.Cut(plain, " ") // Bearer TOKEN
			values = append(values, value, plain, token)
		}
	}
	return values, nil
}

// Sender makes spans and passes them on. It is safe for concurrent use.
type Sender struct {
	queue   sdktrace.SpanProcessor
	about   *resource.Resource
	scope   instrumentation.Scope
	content bool
	secrets *secret.Set

	mu         sync.Mutex
	made, sent int
	err        error
}

// Open returns a Sender, which must be closed.
func Open(ctx context.Context, o Options) (*Sender, error) {
	values, err := headerValues(o.Env)
	if err != nil {
		return nil, err
	}
	s := &Sender{content: o.Content, secrets: secret.New(values...), scope: instrumentation.Scope{Name: "mleflow", Version: o.Version, SchemaURL: semconv.SchemaURL}}
	// The library would print what it cannot parse, such as a header.
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	to := []otlptracehttp.Option{otlptracehttp.WithEndpointURL(o.Collector), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: time.Second, MaxInterval: 15 * time.Second, MaxElapsedTime: time.Minute,
	})}
	if o.Collector == "" {
		to = []otlptracehttp.Option{
			otlptracehttp.WithEndpointURL("https://localhost"), otlptracehttp.WithHTTPClient(&http.Client{Transport: lines{o.File}}),
			otlptracehttp.WithEncoding(otlptracehttp.EncodingJSON), otlptracehttp.WithCompression(otlptracehttp.NoCompression), otlptracehttp.WithMaxRequestSize(0),
		}
	}
	exporter, err := otlptrace.New(ctx, otlptracehttp.NewClient(to...))
	if err != nil {
		return nil, s.plain(err)
	}
	s.about, err = resource.New(ctx, resource.WithAttributes(semconv.ServiceName("mleflow"), semconv.ServiceVersion(o.Version)), resource.WithFromEnv())
	if err != nil {
		return nil, errors.New("OTEL_RESOURCE_ATTRIBUTES is not a list of NAME=VALUE, separated by commas")
	}
	batch := sdktrace.BatchSpanProcessorOptions{BatchTimeout: time.Hour, ExportTimeout: 2 * time.Minute, MaxExportBatchSize: 512, MaxQueueSize: 2048, BlockOnQueueFull: !o.Lossy}
	if o.Content { // a span may have many kilobytes
		batch.MaxExportBatchSize, batch.MaxQueueSize = 32, 256
	}
	if o.Lossy {
		batch.BatchTimeout = time.Second
	}
	s.queue = sdktrace.NewBatchSpanProcessor(&counting{exporter, s, !o.Lossy}, func(b *sdktrace.BatchSpanProcessorOptions) { *b = batch })
	return s, nil
}

// Close sends the last spans until ctx ends. It returns the number of spans that
// were made and that arrived, and why others did not.
func (s *Sender) Close(ctx context.Context) (made, sent int, err error) {
	err = s.queue.Shutdown(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err = cmp.Or(s.err, err); err == nil && s.sent < s.made {
		err = errors.New("the collector was too slow")
	}
	return s.made, s.sent, s.plain(err)
}

// Err returns the first failure to send.
func (s *Sender) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// plain removes secrets from an error, and the address, which messages give.
func (s *Sender) plain(err error) error {
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	return s.secrets.Error(err)
}

// lines writes the bodies of requests to a file.
type lines struct{ io.Writer }

// RoundTrip implements http.RoundTripper.
func (l lines) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		_, err = l.Write(append(body, '\n'))
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, err
}

// counting counts the spans that arrived. After a failure it sends nothing more
// if stop is set.
type counting struct {
	sdktrace.SpanExporter
	s    *Sender
	stop bool
}

// ExportSpans implements sdktrace.SpanExporter.
func (c *counting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if c.stop && c.s.Err() != nil {
		return nil
	}
	err := c.SpanExporter.ExportSpans(ctx, spans)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if err == nil {
		c.s.sent += len(spans)
	} else if c.s.err == nil {
		c.s.err = err
	}
	return nil
}

// span is a finished span.
type span struct {
	run        string
	id, parent trace.SpanID
	name       string
	kind       trace.SpanKind
	start, end time.Time
	attrs      []attribute.KeyValue
	moments    []sdktrace.Event
	links      []sdktrace.Link
	// failed describes an error, and class names its class.
	failed, class string
}

func traceID(run string) trace.TraceID {
	sum := sha256.Sum256([]byte("mleflow run\x00" + run))
	return trace.TraceID(sum[:16])
}

// spanID returns the identifier of a part of a run, which path names.
func spanID(run string, path ...string) trace.SpanID {
	sum := sha256.Sum256([]byte("mleflow span\x00" + run + "\x00" + strings.Join(path, "\x00")))
	return trace.SpanID(sum[:8])
}

func contextOf(run string, id trace.SpanID) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID(run), SpanID: id, TraceFlags: trace.FlagsSampled})
}

// put makes a span. A stub of the SDK's takes the identifiers and times as given.
func (s *Sender) put(x span) {
	s.mu.Lock()
	s.made++
	s.mu.Unlock()
	stub := tracetest.SpanStub{
		Name: x.name, SpanContext: contextOf(x.run, x.id), SpanKind: cmp.Or(x.kind, trace.SpanKindInternal), StartTime: x.start, EndTime: x.end,
		Attributes: x.attrs, Events: x.moments, Links: x.links, Resource: s.about, InstrumentationScope: s.scope,
	}
	if x.parent.IsValid() {
		stub.Parent = contextOf(x.run, x.parent)
	}
	if x.end.Before(x.start) {
		stub.EndTime = x.start
	}
	if x.failed != "" {
		stub.Status = sdktrace.Status{Code: codes.Error, Description: x.failed}
		stub.Attributes = append(stub.Attributes, semconv.ErrorTypeKey.String(x.class))
	}
	s.queue.OnEnd(stub.Snapshot())
}
