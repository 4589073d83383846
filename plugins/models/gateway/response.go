package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/sandbox/service"
)

const eventStream = "text/event-stream"

// kept are the response headers that are recorded.
var kept = []string{
	"Content-Type", "Retry-After", "Retry-After-Ms", "X-Should-Retry", "X-Request-Id", "Request-Id",
}

func keptHeaders(h http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range kept {
		if v := h.Get(name); v != "" {
			out[name] = v
		}
	}
	return out
}

// pass forwards a reply as it arrives, byte for byte. Each piece is written and
// flushed before more is read, so that a slow client slows the provider down. A reply
// that repeats the provider's key is not changed: it is refused, or cut if it began.
func (x *exchange) pass(answer *Reply) error {
	header := answer.Header.Clone()
	service.DropHop(header, "Set-Cookie", "Alt-Svc", "Strict-Transport-Security")
	x.event.Status, x.event.Headers, x.reply = answer.Status, keptHeaders(header), header
	sink, control := x.sink(header), http.NewResponseController(x.w)
	if strings.HasPrefix(header.Get("Content-Type"), eventStream) && !x.repeatsKey(header) {
		x.begin() // its first event may take minutes
		_ = control.Flush()
	}
	err := x.flow(sink, answer.Body, control)
	if done := sink.end(); err == nil {
		err = done
	}
	switch {
	case errors.Is(err, errSecret):
		x.event.Failed = err.Error()
		x.account(false)
		if !x.begun {
			return &dialect.Refusal{Reason: dialect.Unreachable, Text: "The answer of the provider of model " + x.Name + " is not passed on, because it repeats the provider's key."}
		}
	case err == nil:
		x.begin()
		if answer.Status < http.StatusMultipleChoices && !x.meter.Done() && x.meter.Failed() == "" {
			x.event.Failed = "the response ended early"
			if x.meter.Progress().Malformed {
				x.event.Failed = "the response is not valid JSON"
			}
		}
	}
	return err
}

// repeatsKey reports whether a header has the key.
func (x *exchange) repeatsKey(header http.Header) bool {
	for _, values := range header {
		if slices.ContainsFunc(values, func(v string) bool { return x.Secrets.Mask(v) != v }) {
			return true
		}
	}
	return false
}

// begin sends the status and the header of the reply.
func (x *exchange) begin() {
	if x.begun {
		return
	}
	header := x.w.Header()
	maps.Copy(header, x.reply)
	if _, ok := header["Content-Type"]; !ok {
		header["Content-Type"] = nil // prevents a guess by net/http
	}
	x.begun = true
	x.w.WriteHeader(x.event.Status)
}

func (x *exchange) flow(sink sink, body io.Reader, control *http.ResponseController) error {
	buf := make([]byte, 32<<10)
	for rest := 0; ; {
		n, err := body.Read(buf)
		if n > 0 {
			if x.left() {
				rest += n
			}
			if x.event.FirstByte == 0 {
				x.event.FirstByte = time.Since(x.start).Seconds()
			}
			if bad := sink.write(buf[:n]); bad != nil {
				return bad
			}
			if x.begun {
				_ = control.Flush()
			}
			if passed := x.overrun(); passed != nil {
				return passed
			}
		}
		switch {
		case errors.Is(err, io.EOF) && !x.event.Gone:
			return nil
		case err != nil && x.left(), rest > restBytes:
			return errGone
		case err != nil:
			x.event.Cut = true
			return fmt.Errorf("receive: %w", err)
		}
	}
}

// Write writes to the client, if it is still there. It never fails, since the
// response is read to its end either way.
func (x *exchange) Write(p []byte) (int, error) {
	if !x.event.Gone {
		x.begin()
		_, err := x.w.Write(p)
		x.gone(err != nil)
	}
	return len(p), nil
}

// sink passes the bytes of a response to the client, the meter and the record.
type sink interface {
	write(p []byte) error
	end() error
}

// sink returns a sink for the content encoding of a response.
func (x *exchange) sink(h http.Header) sink {
	d := &delay{guard: secret.NewGuard(x.Secrets), leaked: x.repeatsKey(h), to: x}
	if open := decoders[encodingOf(h)]; open != nil {
		return newZipped(open, d, io.MultiWriter(d, x.meter, unlessLeaked{d, x.record}))
	}
	d.to = io.MultiWriter(x, x.record)
	return &plain{x.meter, d}
}

// plain is a response without content encoding.
type plain struct {
	meter io.Writer
	*delay
}

func (p *plain) write(b []byte) error {
	_, _ = p.meter.Write(b) // never fails
	_, _ = p.delay.Write(b)
	return p.pass(b, p.guard.Held())
}

var errSecret = errors.New("the response repeats the provider's key, so it was not passed on")

// delay passes bytes on unless they may be the beginning of the key. Once the key was
// seen, nothing is passed on any more: the rest is read for its usage.
type delay struct {
	guard  *secret.Guard
	leaked bool
	to     io.Writer
	held   []byte
}

// Write looks for the key, in the bytes that are passed on or those that they are
// compressed of. It never fails.
func (d *delay) Write(p []byte) (int, error) {
	_, err := d.guard.Write(p)
	d.leaked = d.leaked || err != nil
	return len(p), nil
}

// pass passes bytes on but for the last open ones.
func (d *delay) pass(p []byte, open int) error {
	if d.leaked {
		return nil
	}
	if len(d.held) > 0 {
		p = append(d.held, p...)
	}
	n := len(p) - min(open, len(p))
	d.held = bytes.Clone(p[n:])
	if n == 0 {
		return nil
	}
	_, err := d.to.Write(p[:n])
	return err
}

// end passes the rest on: nothing follows.
func (d *delay) end() error {
	if d.leaked {
		return errSecret
	}
	return d.pass(nil, 0)
}

// unlessLeaked passes on what is written before the key is seen.
type unlessLeaked struct {
	*delay
	to io.Writer
}

// Write implements io.Writer.
func (u unlessLeaked) Write(p []byte) (int, error) {
	if u.leaked {
		return len(p), nil
	}
	return u.to.Write(p)
}

// zipped is a compressed response. It is forwarded unchanged and
// decoded for the guard, the meter and the record. Bytes are decoded before they are
// forwarded, and none are while what they decode to may be the beginning of the key.
type zipped struct {
	client *delay
	in     *io.PipeWriter // to the decoder
	done   chan struct{}
}

func newZipped(open func(io.Reader) (io.Reader, error), client *delay, inside io.Writer) *zipped {
	r, w := io.Pipe()
	z := &zipped{client: client, in: w, done: make(chan struct{})}
	go func() {
		defer close(z.done)
		defer r.Close()
		defer func() { _ = recover() }() // the client receives it as it is
		if plain, err := open(r); err == nil {
			_, _ = io.Copy(inside, plain)
		}
	}()
	return z
}

func (z *zipped) write(p []byte) error {
	if _, err := z.in.Write(p); err == nil { // else it is damaged or ended: the client receives it as it is
		_, _ = z.in.Write(nil) // until the decoder has read all of p and asks for more
	}
	open := 0
	if z.client.guard.Held() > 0 {
		open = math.MaxInt
	}
	return z.client.pass(p, open)
}

func (z *zipped) end() error {
	_ = z.in.Close()
	<-z.done
	return z.client.end()
}
