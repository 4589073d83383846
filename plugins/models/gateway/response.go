package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/service"
)

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

// pass forwards a reply as it arrives. Each piece is written and flushed before
// more is read, so that a slow client slows the provider down.
func (x *exchange) pass(answer *Reply) error {
	header := x.w.Header()
	for name, values := range answer.Header {
		for _, v := range values {
			header.Add(name, x.Secrets.Mask(v))
		}
	}
	service.DropHop(header, "Set-Cookie", "Alt-Svc", "Strict-Transport-Security")
	if _, ok := header["Content-Type"]; !ok {
		header["Content-Type"] = nil // prevents a guess by net/http
	}
	x.event.Status, x.event.Headers = answer.Status, keptHeaders(header)
	x.begun = true
	x.w.WriteHeader(answer.Status)
	control := http.NewResponseController(x.w)
	_ = control.Flush()

	sink := x.sink(answer.Header)
	err := x.flow(sink, answer.Body, control)
	if done := sink.end(); err == nil {
		err = done
	}
	if err == nil && answer.Status < http.StatusMultipleChoices && !x.meter.Done() && x.meter.Failed() == "" {
		x.event.Failed = "the response ended before its last event"
	}
	return err
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
			_ = control.Flush()
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
	key := []byte(x.Real)
	if open := decoders[encodingOf(h)]; open != nil {
		return newZipped(open, x, &guard{secret: key}, io.MultiWriter(x.meter, x.record))
	}
	return &plain{x.meter, blackout{secret: key, to: io.MultiWriter(x, x.record)}}
}

// plain is a response without content encoding. The meter reads it unmasked,
// because the key of a local server may be a common word such as "token".
type plain struct {
	meter io.Writer
	blackout
}

func (p *plain) write(b []byte) error {
	_, _ = p.meter.Write(b) // never fails
	_, err := p.blackout.Write(b)
	return err
}

func (p *plain) end() error { return p.flush() }

// blackout replaces each byte of a secret by an asterisk, even if the secret is
// split between writes. It holds back a possible beginning of the secret.
type blackout struct {
	secret []byte
	to     io.Writer
	held   []byte
}

// Write implements io.Writer.
func (b *blackout) Write(p []byte) (int, error) {
	n := len(p)
	if len(b.secret) == 0 {
		return b.to.Write(p)
	}
	if len(b.held) > 0 {
		p = append(b.held, p...)
		b.held = nil
	}
	for rest := p; ; {
		at := bytes.Index(rest, b.secret)
		if at < 0 {
			break
		}
		copy(rest[at:], bytes.Repeat([]byte("*"), len(b.secret)))
		rest = rest[at+len(b.secret):]
	}
	keep := overlap(p, b.secret)
	b.held = bytes.Clone(p[len(p)-keep:])
	if p = p[:len(p)-keep]; len(p) == 0 {
		return n, nil
	}
	_, err := b.to.Write(p)
	return n, err
}

func (b *blackout) flush() error {
	if len(b.held) == 0 {
		return nil
	}
	_, err := b.to.Write(b.held)
	b.held = nil
	return err
}

// overlap returns the length of the longest suffix of text that is a prefix of
// the secret.
func overlap(text, secret []byte) int {
	for n := min(len(text), len(secret)-1); n > 0; n-- {
		if bytes.HasSuffix(text, secret[:n]) {
			return n
		}
	}
	return 0
}

// guard fails as soon as the secret passes through it.
type guard struct {
	secret []byte
	tail   []byte
}

var errSecret = errors.New("the response repeats the key, so it was cut")

// Write implements io.Writer.
func (g *guard) Write(p []byte) (int, error) {
	if len(g.secret) == 0 {
		return len(p), nil
	}
	text := append(g.tail, p...)
	if bytes.Contains(text, g.secret) {
		return 0, errSecret
	}
	g.tail = bytes.Clone(text[len(text)-overlap(text, g.secret):])
	return len(p), nil
}

// zipped is a compressed response. It is forwarded unchanged and
// decoded for the meter and the record. Bytes are decoded before they are
// forwarded.
type zipped struct {
	client io.Writer
	in     chan []byte
	idle   chan struct{}
	rest   []byte
	err    error
	done   chan struct{}
}

func newZipped(open func(io.Reader) (io.Reader, error), client io.Writer, watch, inside io.Writer) *zipped {
	z := &zipped{client: client, in: make(chan []byte), idle: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(z.done)
		defer func() {
			if p := recover(); p != nil { // as in exchange.try
				z.err = fmt.Errorf("panic: %v", p)
			}
		}()
		r, err := open(z)
		if err == nil {
			_, err = io.Copy(io.MultiWriter(watch, inside), r)
		}
		z.err = err
	}()
	return z
}

// Read implements io.Reader for the decoder.
func (z *zipped) Read(p []byte) (int, error) {
	for len(z.rest) == 0 {
		select {
		case z.idle <- struct{}{}:
		case b, ok := <-z.in:
			if !ok {
				return 0, io.EOF
			}
			z.rest = b
		}
	}
	n := copy(p, z.rest)
	z.rest = z.rest[n:]
	return n, nil
}

func (z *zipped) write(p []byte) error {
	select {
	case z.in <- p:
		select { // until the decoder has read all of p
		case <-z.idle:
		case <-z.done:
		}
	case <-z.done: // damaged or ended: the client receives it as it is
	}
	if z.failed() {
		return errSecret
	}
	_, err := z.client.Write(p)
	return err
}

// failed reports whether the decoder stopped at a secret.
func (z *zipped) failed() bool {
	select {
	case <-z.done:
		return errors.Is(z.err, errSecret)
	default:
		return false
	}
}

func (z *zipped) end() error {
	close(z.in)
	<-z.done
	return nil
}
