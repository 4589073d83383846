package guest

import (
	"io"
	"sync"
)

// Output passes on the first bytes of a command's output and counts the rest. It never
// fails, so that a full log does not stop the command. Its writers share the limit and
// may be used concurrently.
type Output struct {
	mu            sync.Mutex
	left, dropped int64
	unlimited     bool
}

// NewOutput returns an Output for a limit in bytes: 0 is no limit.
func NewOutput(limit int64) *Output {
	return &Output{left: limit, unlimited: limit == 0}
}

// Dropped returns the number of bytes that were not passed on.
func (o *Output) Dropped() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dropped
}

// Writer returns a writer that passes on to dst, one Write at a time.
func (o *Output) Writer(dst io.Writer) io.Writer { return &outputWriter{o, dst} }

type outputWriter struct {
	output *Output
	dst    io.Writer
}

func (w *outputWriter) Write(p []byte) (int, error) {
	o := w.output
	o.mu.Lock()
	defer o.mu.Unlock()
	pass := p
	if !o.unlimited && int64(len(p)) > o.left {
		pass = p[:o.left]
	}
	o.left -= int64(len(pass))
	n, err := w.dst.Write(pass)
	if err != nil {
		n = max(n, 0)
		o.dropped += int64(len(pass) - n)
	}
	o.dropped += int64(len(p) - len(pass))
	return len(p), nil
}
