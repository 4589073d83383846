package exec

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"sync"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// shownBytes is the maximum size of a command's standard output in the log. The output
// stdout has all of it.
const shownBytes = 1 << 20

// locked is a log for several goroutines.
type locked struct {
	mu sync.Mutex
	io.Writer
}

// Write implements io.Writer.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Writer.Write(p)
}

// shown copies standard output to the log, complete lines at a time, so that they do
// not mix with lines of standard error.
type shown struct {
	log   io.Writer
	limit *executor.Output
	lines io.Writer
	part  []byte
}

func newShown(log io.Writer) *shown {
	s := &shown{log: log, limit: executor.NewOutput(shownBytes)}
	s.lines = s.limit.Writer(log)
	return s
}

// Write implements io.Writer; it never fails.
func (s *shown) Write(p []byte) (int, error) {
	s.part = append(s.part, p...)
	if end := bytes.LastIndexByte(s.part, '\n') + 1; end > 0 || len(s.part) >= 64<<10 {
		end = cmp.Or(end, len(s.part))
		s.lines.Write(s.part[:end])
		s.part = append(s.part[:0], s.part[end:]...)
	}
	return len(p), nil
}

// end writes the rest and states how much the log omits.
func (s *shown) end() {
	if len(s.part) > 0 {
		s.lines.Write(append(s.part, '\n'))
		s.part = nil
	}
	if n := s.limit.Dropped(); n > 0 {
		fmt.Fprintf(s.log, "(%d more bytes of standard output are in the output stdout)\n", n)
	}
}
