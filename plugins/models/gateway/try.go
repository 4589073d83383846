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

	"github.com/mleflow/mleflow/cache/leaf/retry"
	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

const (
	// idleTime is the time for which an idle connection is kept. Uvicorn and
	// Node close theirs after five seconds, other servers later.
	idleTime = 4 * time.Second
	// soon is the time within which a failing request counts as sent on a
	// connection that the server had already given up. Later, the server may
	// have processed it.
	soon = 10 * time.Second
	// mostResent is how often a request is sent again because its connection
	// had ended.
	mostResent = 3
	// mostHead and patience bound the part of a response that is read before
	// its client gets any of it. A read that blocks longer than patience means
	// a silent provider, for which the client waits anyway.
	mostHead = 64 << 10
	patience = 10 * time.Second
)

// try is one attempt to send a request.
type try struct {
	resp *http.Response
	err  error
	// sent reports that the provider may have received the request.
	sent bool
	// status is the status of the response, or of the error at the beginning of
	// its body. within is the text of that error.
	status int
	within string
}

// attempt sends a request. If it fails on a reused connection that the server
// may have closed, it is sent again and the failure is added to failed.
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
		if t.err == nil || call.Client.Err() != nil || n == mostResent || !c.stale() {
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

// connection tracks a request on its connection.
type connection struct {
	got, reused, answered, unwritten atomic.Bool
	// written is the time at which the request was completely written, in
	// nanoseconds since 1970.
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

// stale reports whether a request failed because its connection was already
// closed, so that the server did not process it.
func (c *connection) stale() bool {
	written := c.written.Load()
	return c.reused.Load() && !c.answered.Load() &&
		(written == 0 || c.unwritten.Load() || time.Since(time.Unix(0, written)) < soon)
}

// shortLived reports whether a server announces that it closes idle connections
// before this side does.
func shortLived(h http.Header) bool {
	for field := range strings.SplitSeq(h.Get("Keep-Alive"), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		if n, err := strconv.Atoi(value); err == nil && strings.EqualFold(name, "timeout") && n <= int(idleTime/time.Second) {
			return true
		}
	}
	return false
}

// look reads the beginning of a successful response until it is clear whether
// the provider answers or fails. It leaves the response as it was.
func (t *try) look(call *Call) {
	if t.status >= http.StatusMultipleChoices {
		return
	}
	meter := call.Dialect.Usage(call.Request)
	nowhere := &delay{guard: secret.NewGuard(nil), to: io.Discard}
	to := sink(&plain{meter, nowhere})
	if open := decoders[encodingOf(t.resp.Header)]; open != nil {
		to = newZipped(open, nowhere, meter)
	}
	var head bytes.Buffer
	rest, start, buf := io.Reader(t.resp.Body), time.Now(), make([]byte, 4<<10)
	for head.Len() < mostHead && time.Since(start) < patience && !meter.Progress().Begun {
		n, err := t.resp.Body.Read(buf)
		head.Write(buf[:n])
		_ = to.write(buf[:n]) // these sinks never fail
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

// forNothing reports whether a response is an error that came before the model
// wrote anything. Providers do not charge for one.
func forNothing(m dialect.Meter) bool {
	u, final := m.Usage()
	return m.Failed() != "" && m.Progress().Text == 0 && !(final && u.Output > 0)
}

// failed returns the record of a try and closes its response.
func (t *try) failed(hide *secret.Set, start time.Time) transcript.Attempt {
	one := transcript.Attempt{Failed: hide.Mask(t.within), Seconds: time.Since(start).Seconds()}
	if t.err != nil {
		one.Failed = hide.Mask(t.err.Error())
		return one
	}
	one.Status = t.resp.StatusCode
	if asked, ok := retry.Asked(t.resp.Header); ok {
		one.RetryAfter = asked.Seconds()
	}
	if t.within == "" {
		discard(t.resp.Body)
	}
	_ = t.resp.Body.Close()
	return one
}
