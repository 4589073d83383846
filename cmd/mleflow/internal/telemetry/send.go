package telemetry

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
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
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
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

// Sender makes spans and passes them on. It is safe for concurrent use.
type Sender struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	content  bool
	secrets  *secret.Set

	mu         sync.Mutex
	made, sent int
	err        error
}

// Open returns a Sender, which must be closed.
func Open(ctx context.Context, o Options) (*Sender, error) {
	s := &Sender{content: o.Content}
	values, err := headerValues(o.Env)
	if err != nil {
		return nil, err
	}
	s.secrets = secret.New(values...)
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
	about, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName("mleflow"), semconv.ServiceVersion(o.Version)), resource.WithFromEnv())
	if err != nil {
		return nil, errors.New("OTEL_RESOURCE_ATTRIBUTES is not a list of NAME=VALUE, separated by commas")
	}
	batch := []sdktrace.BatchSpanProcessorOption{
		sdktrace.WithBatchTimeout(time.Hour), sdktrace.WithExportTimeout(2 * time.Minute), sdktrace.WithMaxExportBatchSize(512),
		sdktrace.WithMaxQueueSize(2048), sdktrace.WithBlocking(),
	}
	if o.Content { // a span may have many kilobytes
		batch = append(batch, sdktrace.WithMaxExportBatchSize(32), sdktrace.WithMaxQueueSize(256))
	}
	if o.Lossy {
		batch = append(batch, sdktrace.WithBatchTimeout(time.Second), func(b *sdktrace.BatchSpanProcessorOptions) { b.BlockOnQueueFull = false })
	}
	all := -1
	s.provider = sdktrace.NewTracerProvider(
		sdktrace.WithResource(about), sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithIDGenerator(given{}),
		sdktrace.WithRawSpanLimits(sdktrace.SpanLimits{AttributeValueLengthLimit: all, AttributeCountLimit: all, EventCountLimit: all, LinkCountLimit: all, AttributePerEventCountLimit: all, AttributePerLinkCountLimit: all}),
		sdktrace.WithSpanProcessor(sdktrace.NewBatchSpanProcessor(&counting{SpanExporter: exporter, s: s, stop: !o.Lossy}, batch...)),
	)
	s.tracer = s.provider.Tracer("mleflow", trace.WithInstrumentationVersion(o.Version), trace.WithSchemaURL(semconv.SchemaURL))
	return s, nil
}

// Close sends the last spans until ctx ends. It returns the number of spans that
// were made and that arrived, and why others did not.
func (s *Sender) Close(ctx context.Context) (made, sent int, err error) {
	err = s.provider.Shutdown(ctx)
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
	var inner *url.Error
	if errors.As(err, &inner) {
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
	moments    []moment
	links      []trace.Link
	// failed describes an error, and class names its class.
	failed, class string
}

// moment is an event of a span.
type moment struct {
	name  string
	at    time.Time
	attrs []attribute.KeyValue
}

type idKey struct{}

// given is an IDGenerator that takes the identifiers of the span in the context.
type given struct{}

// NewIDs implements sdktrace.IDGenerator.
func (g given) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	x := ctx.Value(idKey{}).(span)
	return traceID(x.run), x.id
}

// NewSpanID implements sdktrace.IDGenerator.
func (g given) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	return ctx.Value(idKey{}).(span).id
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

// put makes a span.
func (s *Sender) put(x span) {
	s.mu.Lock()
	s.made++
	s.mu.Unlock()
	ctx := context.WithValue(context.Background(), idKey{}, x)
	if x.parent.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, contextOf(x.run, x.parent))
	}
	if x.end.Before(x.start) {
		x.end = x.start
	}
	_, out := s.tracer.Start(ctx, x.name, trace.WithTimestamp(x.start), trace.WithSpanKind(x.kind), trace.WithAttributes(x.attrs...), trace.WithLinks(x.links...))
	for _, m := range x.moments {
		out.AddEvent(m.name, trace.WithTimestamp(m.at), trace.WithAttributes(m.attrs...))
	}
	if x.failed != "" {
		out.SetStatus(codes.Error, x.failed)
		out.SetAttributes(semconv.ErrorTypeKey.String(cmp.Or(x.class, "_OTHER")))
	}
	out.End(trace.WithTimestamp(x.end))
}
