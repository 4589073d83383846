package try

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/engine/event"
)

// Lines returns a log that emits each complete line as an event of a step. It
// also writes everything to to, which may be nil.
func Lines(sink event.Sink, address string, to io.WriteCloser) io.WriteCloser {
	return &lines{sink: sink, address: address, to: to}
}

// lines implements Lines.
type lines struct {
	mu      sync.Mutex
	to      io.WriteCloser
	sink    event.Sink
	address string
	part    []byte
}

// maxLine is the maximum length of an emitted line. The log is not truncated.
const maxLine = 4096

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := p
	for {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		l.emit(append(l.part, rest[:i]...))
		l.part, rest = l.part[:0], rest[i+1:]
	}
	if space := maxLine - len(l.part); space > 0 {
		l.part = append(l.part, rest[:min(space, len(rest))]...)
	}
	if l.to == nil {
		return len(p), nil
	}
	return l.to.Write(p)
}

func (l *lines) emit(line []byte) {
	text := strings.TrimSuffix(string(line[:min(len(line), maxLine)]), "\r")
	l.sink.Emit(event.StepLog{At: event.Now(), Address: l.address, Line: strings.ToValidUTF8(text, "\uFFFD")})
}

// Close implements io.Closer.
func (l *lines) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.emit(l.part)
	}
	if l.to == nil {
		return nil
	}
	return l.to.Close()
}
