package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

// answer is an answer to a request. Its body is read at the permitted rate, and
// a server that sends too little is given up. Time spent waiting because of the
// limit does not count against the server.
type answer struct {
	*http.Response
	settings
	// timer ends the request by cancel when it fires; slow reports whether it did.
	timer  *time.Timer
	cancel context.CancelCauseFunc
	slow   func() bool
	// spent and got belong to the current window, which ends early once least
	// bytes have arrived.
	spent time.Duration
	got   int64
	// head holds the bytes that begin has read. read returns them first.
	head []byte
}

// errSlow is why a request was ended.
var errSlow = errors.New("too slow")

// open sends a request to the origin and returns the answer, which must be closed.
func (t *transfer) open(ctx context.Context, header http.Header) (*answer, error) {
	inner, cancel := context.WithCancelCause(ctx)
	resp, err := t.origin.get(inner, header)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	a := &answer{Response: resp, settings: t.settings, cancel: cancel}
	a.timer = time.AfterFunc(t.window, func() { cancel(errSlow) })
	a.timer.Stop()
	a.slow = func() bool { return errors.Is(context.Cause(inner), errSlow) }
	return a, nil
}

// close ends the request. It does nothing without an answer, or the second time.
func (a *answer) close() {
	if a != nil {
		a.Body.Close()
		a.timer.Stop()
		a.cancel(nil)
	}
}

// read reads once into p. A failure that may pass is a TemporaryError; the end
// is io.EOF.
func (a *answer) read(ctx context.Context, p []byte) (int, error) {
	if len(a.head) > 0 {
		n := copy(p, a.head)
		a.head = a.head[n:]
		return n, nil
	}
	start := time.Now()
	a.timer.Reset(a.window - a.spent)
	n, err := a.Body.Read(p[:min(len(p), a.limit.Burst())])
	fired := !a.timer.Stop()
	a.spent += time.Since(start)
	a.got += int64(n)
	if a.got >= a.least {
		a.spent, a.got = 0, 0
	}
	if cause := a.limit.WaitN(ctx, n); cause != nil && err == nil {
		err = cause
	}
	switch {
	case err == io.EOF: //nolint:errorlint // the body's own end, never wrapped
		return n, io.EOF
	case ctx.Err() != nil:
		return n, context.Cause(ctx)
	case a.slow(), fired, err == nil && a.spent >= a.window:
		return n, &TemporaryError{Err: fmt.Errorf("the server sent fewer than %d bytes in %v", a.least, a.window)}
	case err != nil:
		return n, &TemporaryError{Err: redactError(err)}
	}
	return n, nil
}

// readFull reads until p is full or the body ends or fails.
func (a *answer) readFull(ctx context.Context, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = a.read(ctx, p[n:])
		n += m
	}
	return n, err
}

// begin reads the beginning of the body, without consuming it.
func (a *answer) begin(ctx context.Context) ([]byte, error) {
	head := make([]byte, mostPage)
	n, err := a.readFull(ctx, head)
	if err != nil && err != io.EOF { //nolint:errorlint // see read
		return nil, err
	}
	a.head = head[:n]
	return a.head, nil
}

// fill reads exactly len(p) bytes and passes each piece to seen; then the body
// must end. Bytes read before a failure are valid.
func (a *answer) fill(ctx context.Context, p []byte, seen func(n int)) error {
	for len(p) > 0 {
		n, err := a.read(ctx, p)
		seen(n)
		p = p[n:]
		if err == io.EOF && len(p) > 0 { //nolint:errorlint // see read
			return &TemporaryError{Err: fmt.Errorf("the answer ended %d bytes early", len(p))}
		}
		if err != nil && err != io.EOF { //nolint:errorlint // see read
			return err
		}
	}
	return a.end(ctx)
}

// end makes sure that the body ends here, which also frees the connection.
func (a *answer) end(ctx context.Context) error {
	var more [1]byte
	n, err := a.read(ctx, more[:])
	if n > 0 {
		return &TemporaryError{Err: errors.New("the answer is longer than it should be")}
	}
	if err == io.EOF { //nolint:errorlint // see read
		return nil
	}
	return err
}

// gate makes all parts of a download wait while the server wants a pause.
type gate struct {
	mu    sync.Mutex
	until time.Time
}

// shut closes the gate for a while.
func (g *gate) shut(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := time.Now().Add(d); until.After(g.until) {
		g.until = until
	}
}

// tellEvery is how often a gate tells that it is shut.
const tellEvery = 10 * time.Second

// pass waits until the gate is open, and tells until when.
func (g *gate) pass(ctx context.Context, tell func(until time.Time)) error {
	for {
		g.mu.Lock()
		until := g.until
		g.mu.Unlock()
		left := time.Until(until)
		if left <= 0 {
			return nil
		}
		tell(until)
		if err := progress.Sleep(ctx, min(left, tellEvery)); err != nil {
			return err
		}
	}
}

// retrier retries what may pass.
type retrier struct {
	settings
	gate gate
	logf func(format string, args ...any)
	// waiting is called while the server wants a pause.
	waiting func(until time.Time)
}

// retry calls try until it succeeds, fails permanently, or fails too often in a
// row without progress. The pauses grow exponentially and are drawn from zero
// up (full jitter), so that neither the parts of a download nor many machines
// retry at the same time.
func (r *retrier) retry(ctx context.Context, try func() (moved bool, err error)) error {
	failures, brief, wait, asked := 0, 0, r.wait, time.Duration(0)
	for {
		if err := r.gate.pass(ctx, r.waiting); err != nil {
			return err
		}
		moved, err := try()
		var temporary *TemporaryError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !errors.As(err, &temporary):
			return err
		}
		if moved {
			failures, brief, wait, asked = 0, 0, r.wait, 0
		}
		if brief++; !temporary.brief {
			brief = 0
		}
		switch {
		case brief < r.briefTries:
		case temporary.later:
			return err
		default:
			return temporary.Err
		}
		asked += temporary.After
		if failures++; failures >= r.tries || asked > r.patience {
			return err
		}
		r.gate.shut(temporary.After)
		pause := rand.N(min(wait, longestWait) + 1) //nolint:gosec // no secret
		r.logf("%v; retrying in %v", err, (temporary.After + pause).Round(time.Millisecond))
		if err := progress.Sleep(ctx, pause); err != nil {
			return err
		}
		wait *= 2
	}
}
