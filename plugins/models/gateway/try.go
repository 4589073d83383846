package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

const (
	// idleTime is how long a connection is kept for the next request. Uvicorn and
	// Node close theirs after five seconds, others later.
	idleTime = 4 * time.Second
	// soon is how long after a request a server closes a connection that it had
	// given up before. Later than that it may have worked on the request.
	soon = 10 * time.Second
	// mostResent is how often a request is sent again at most, because its
	// connection had ended.
	mostResent = 3
	// mostHead and patience bound what is read of a response, and how long, before
	// its client gets any of it. Whatever blocks longer than patience is a silent
	// provider, which its client waits for anyway.
	mostHead = 64 << 10
	patience = 10 * time.Second
)

// try is one try of a request.
type try struct {
	resp *http.Response
	err  error
	// sent says that the provider may have got the request.
	sent bool
	// status is that of the response, or the one that the error at the beginning of
	// its body stands for, which within is.
	status int
	within string
}

// attempt sends a request. On a connection that was used before, which the
// server may have closed in the meantime, it is sent again if nothing came back:
// that is noted in failed.
func (p *provider) attempt(ctx context.Context, call *Call, failed *[]transcript.Attempt) *try {
	for n := 0; ; n++ {
		start, t := time.Now(), &try{}
		var c connection
		req, err := p.request(httptrace.WithClientTrace(ctx, c.trace()), call)
		if err != nil {
			return &try{err: err}
		}
		t.resp, t.err = p.send.RoundTrip(req)
		t.sent = c.got.Load() && !c.unwritten.Load()
		if t.err == nil {
			t.status = t.resp.StatusCode
			if shortLived(t.resp.Header) {
				p.alone.Store(true)
			}
		}
		if t.err == nil || ctx.Err() != nil || n == mostResent || !c.stale() {
			return t
		}
		if idle, ok := p.send.(interface{ CloseIdleConnections() }); ok {
			idle.CloseIdleConnections()
		}
		one := t.failed(p.secret, start)
		one.Failed += " (sent again: the server had closed the connection)"
		*failed = append(*failed, one)
	}
}

// connection is what becomes of a request on its connection.
type connection struct {
	got, reused, answered, unwritten atomic.Bool
	// written is when the request was written whole, since 1970.
	written atomic.Int64
}

func (c *connection) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) { c.got.Store(true); c.reused.Store(i.Reused) },
		WroteRequest: func(i httptrace.WroteRequestInfo) {
			c.unwritten.Store(i.Err != nil)
			c.written.Store(time.Now().UnixNano())
		},
		GotFirstResponseByte: func() { c.answered.Store(true) },
	}
}

// stale reports whether a request failed because its connection was closed
// before, so that the server did not work on it.
func (c *connection) stale() bool {
	written := c.written.Load()
	return c.reused.Load() && !c.answered.Load() &&
		(written == 0 || c.unwritten.Load() || time.Since(time.Unix(0, written)) < soon)
}

// shortLived reports whether a server says that it closes idle connections
// before they are closed here.
func shortLived(h http.Header) bool {
	for field := range strings.SplitSeq(h.Get("Keep-Alive"), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		if n, err := strconv.Atoi(value); err == nil && strings.EqualFold(name, "timeout") && n <= int(idleTime/time.Second) {
			return true
		}
	}
	return false
}

// look reads the beginning of a response with a good status, until that tells
// whether the provider answers or fails, and leaves the response as it was.
func (t *try) look(call *Call) {
	if t.status >= http.StatusMultipleChoices {
		return
	}
	meter := call.Dialect.Usage(call.Request)
	to := sink(&plain{meter, blackout{to: io.Discard}})
	if gzipped(t.resp.Header) {
		to = newZipped(io.Discard, io.Discard, meter)
	}
	var head bytes.Buffer
	rest, start, buf := io.Reader(t.resp.Body), time.Now(), make([]byte, 4<<10)
	for head.Len() < mostHead && time.Since(start) < patience && !meter.Progress().Begun {
		n, err := t.resp.Body.Read(buf)
		head.Write(buf[:n])
		_ = to.write(buf[:n]) // nothing there fails
		if err != nil {
			rest = broken{err}
			break
		}
	}
	_ = to.end()
	t.resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(&head, rest), t.resp.Body}
	if forNothing(meter) {
		t.status, t.within = meter.Progress().Status, meter.Failed()
	}
}

// forNothing reports whether a response is an error of the provider before the
// model wrote anything. Nobody charges for one.
func forNothing(m dialect.Meter) bool {
	u, final := m.Usage()
	return m.Failed() != "" && m.Progress().Text == 0 && !(final && u.Output > 0)
}

// failed is the record of a try, whose response ends here.
func (t *try) failed(hide *secret.Set, start time.Time) transcript.Attempt {
	one := transcript.Attempt{Failed: hide.Mask(t.within), Seconds: time.Since(start).Seconds()}
	if t.err != nil {
		one.Failed = hide.Mask(t.err.Error())
		return one
	}
	one.Status = t.resp.StatusCode
	if asked, ok := retryAfter(t.resp.Header); ok {
		one.RetryAfter = asked.Seconds()
	}
	if t.within == "" {
		discard(t.resp.Body)
	}
	_ = t.resp.Body.Close()
	return one
}
