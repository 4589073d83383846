package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
)

// statusEvery is how often a status line changes.
const statusEvery = 200 * time.Millisecond

// statusLine is a line on the terminal that is written over while a command
// works. It is silent where there is no terminal.
type statusLine struct {
	out io.Writer

	mu   sync.Mutex
	last time.Time
}

func (t *terminal) statusLine() *statusLine {
	if t.json || t.env("TERM") == "dumb" || !view.IsTerminal(t.stderr) {
		return &statusLine{}
	}
	return &statusLine{out: t.stderr, last: time.Now()}
}

// say shows a text, which is only made when it is time for one.
func (l *statusLine) say(text func() string) {
	if l.out == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.last) >= statusEvery {
		l.last = now
		fmt.Fprintf(l.out, "\r\x1b[K%s", text())
	}
}

// clear takes the line away.
func (l *statusLine) clear() {
	if l.out != nil {
		fmt.Fprint(l.out, "\r\x1b[K")
	}
}
