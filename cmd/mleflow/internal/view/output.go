package view

import (
	"io"
	"os"
	"sync"
)

// Output is a stream that remembers the first failed write, so that a command can report
// it once at its end. It is safe for concurrent use.
type Output struct {
	w   io.Writer
	mu  sync.Mutex
	err error
}

// NewOutput returns an Output in front of w.
func NewOutput(w io.Writer) *Output { return &Output{w: w} }

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

// Err returns the error of the first write that failed.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Underlying returns the stream that an Output is in front of, or w.
func Underlying(w io.Writer) io.Writer {
	if o, ok := w.(*Output); ok {
		return o.w
	}
	return w
}

// file returns the file that a stream writes to, if it is one.
func file(w io.Writer) (*os.File, bool) {
	f, ok := Underlying(w).(*os.File)
	return f, ok
}
