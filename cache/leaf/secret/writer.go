package secret

import (
	"io"
	"sync"
)

// Writer passes bytes on with secrets replaced by "***", even secrets that are
// split between writes. It holds back bytes that may be the beginning of a secret.
// It may be used by several goroutines.
type Writer struct {
	mu   sync.Mutex
	w    io.Writer
	m    masking
	held []byte
	out  []byte
}

// NewWriter returns a writer in front of w.
func NewWriter(w io.Writer, s *Set) *Writer {
	if s == nil {
		s = New()
	}
	return &Writer{w: w, m: masking{secrets: s}}
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(p), w.pass(p, false)
}

// Flush writes the bytes that were held back, as if nothing followed.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pass(nil, true)
}

// Masked reports whether a secret was replaced.
func (w *Writer) Masked() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.m.any
}

func (w *Writer) pass(p []byte, last bool) error {
	if w.m.secrets.empty {
		if len(p) == 0 {
			return nil
		}
		_, err := w.w.Write(p)
		return err
	}
	text := p
	if len(w.held) > 0 {
		text = append(w.held, p...)
	}
	out, rest := w.m.scan(w.out[:0], text, last)
	w.held = append(w.held[:0:0], rest...)
	w.out = out[:0]
	if len(out) == 0 {
		return nil
	}
	_, err := w.w.Write(out)
	return err
}
