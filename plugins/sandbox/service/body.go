package service

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// slowest is the least rate of a body in bytes per second.
const slowest = 1 << 10

// ErrSlow means that the body of a request stalled, or came too slowly.
var ErrSlow = fmt.Errorf("the body of the request stalled, or came at less than %d bytes per second", slowest)

// body is the body of a request. It fails if it stalls or comes too slowly.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	begun   time.Time
	stall   time.Duration
	n       int64
	ended   bool
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	b.n += int64(n)
	switch {
	case err == nil:
		b.extend()
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = ErrSlow
	default: // the server now waits for the client to leave, however long the answer takes
		b.ended = true
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// extend sets the time by which more must have come.
func (b *body) extend() {
	due, stalled := b.begun.Add(b.stall+time.Duration(b.n)*time.Second/slowest), time.Now().Add(b.stall)
	if stalled.Before(due) {
		due = stalled
	}
	_ = b.control.SetReadDeadline(due) // only the recorders of tests cannot
}

// rest is the time for what a handler has not read. The server reads it, so that the client
// sees the answer, before it serves the connection's next request.
const rest = time.Second

// leave ends the handler's use of the body.
func (b *body) leave() {
	if !b.ended {
		_ = b.control.SetReadDeadline(time.Now().Add(min(rest, b.stall)))
	}
}
