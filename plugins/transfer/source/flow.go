package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// flow reads the body of an answer at the permitted rate, and gives up on a
// server that sends too little. Time spent waiting because of the limit does
// not count against the server.
type flow struct {
	settings
	body io.ReadCloser
	// cut ends the request when the timer fires.
	timer *time.Timer
	slow  func() bool
	// spent and got belong to the current window, which ends early once least
	// bytes have arrived.
	spent time.Duration
	got   int64
	// head holds the bytes that begin has read. read returns them first.
	head []byte
}

// errSlow is why a request was ended.
var errSlow = errors.New("too slow")

// open sends a request with send and returns the answer. Its body must be read
// and closed through the flow.
func (s settings) open(ctx context.Context, send func(context.Context) (*http.Response, error)) (*http.Response, *flow, error) {
	inner, cancel := context.WithCancelCause(ctx)
	resp, err := send(inner)
	if err != nil {
		cancel(nil)
		return nil, nil, err
	}
	f := &flow{settings: s, body: resp.Body}
	f.timer = time.AfterFunc(s.window, func() { cancel(errSlow) })
	f.timer.Stop()
	f.slow = func() bool { return errors.Is(context.Cause(inner), errSlow) }
	resp.Body = closing{resp.Body, func() { f.timer.Stop(); cancel(nil) }}
	f.body = resp.Body
	return resp, f, nil
}

// closing is a body that ends its request when it is closed.
type closing struct {
	io.ReadCloser
	end func()
}

// Close implements io.Closer.
func (c closing) Close() error {
	err := c.ReadCloser.Close()
	c.end()
	return err
}

// read reads once into p. A failure that may pass is a TemporaryError; the end
// is io.EOF.
func (f *flow) read(ctx context.Context, p []byte) (int, error) {
	if len(f.head) > 0 {
		n := copy(p, f.head)
		f.head = f.head[n:]
		return n, nil
	}
	start := time.Now()
	f.timer.Reset(f.window - f.spent)
	n, err := f.body.Read(p[:min(len(p), f.limit.Burst())])
	fired := !f.timer.Stop()
	f.spent += time.Since(start)
	f.got += int64(n)
	if f.got >= f.least {
		f.spent, f.got = 0, 0
	}
	if cause := f.limit.WaitN(ctx, n); cause != nil && err == nil {
		err = cause
	}
	switch {
	case err == io.EOF: //nolint:errorlint // the body's own end, never wrapped
		return n, io.EOF
	case ctx.Err() != nil:
		return n, context.Cause(ctx)
	case f.slow(), fired, err == nil && f.spent >= f.window:
		return n, &TemporaryError{Err: fmt.Errorf("the server sent fewer than %d bytes in %v", f.least, f.window)}
	case err != nil:
		return n, &TemporaryError{Err: redactError(err)}
	}
	return n, nil
}

// begin reads the beginning of the body, without consuming it.
func (f *flow) begin(ctx context.Context) ([]byte, error) {
	head := make([]byte, mostPage)
	n := 0
	for n < len(head) {
		more, err := f.read(ctx, head[n:])
		n += more
		if err == io.EOF { //nolint:errorlint // see read
			break
		}
		if err != nil {
			return nil, err
		}
	}
	f.head = head[:n]
	return f.head, nil
}

// fill reads exactly len(p) bytes and passes each piece to seen; then the body
// must end. Bytes read before a failure are valid.
func (f *flow) fill(ctx context.Context, p []byte, seen func(n int)) error {
	for len(p) > 0 {
		n, err := f.read(ctx, p)
		seen(n)
		p = p[n:]
		if err == io.EOF && len(p) > 0 { //nolint:errorlint // see read
			return &TemporaryError{Err: fmt.Errorf("the answer ended %d bytes early", len(p))}
		}
		if err != nil && err != io.EOF { //nolint:errorlint // see read
			return err
		}
	}
	return f.end(ctx)
}

// end makes sure that the body ends here, which also frees the connection.
func (f *flow) end(ctx context.Context) error {
	var more [1]byte
	n, err := f.read(ctx, more[:])
	if n > 0 {
		return &TemporaryError{Err: errors.New("the answer is longer than it should be")}
	}
	if err == io.EOF { //nolint:errorlint // see read
		return nil
	}
	return err
}
