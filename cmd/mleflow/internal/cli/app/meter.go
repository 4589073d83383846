package app

import (
	"fmt"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

const (
	// meterEvery is how often a meter looks, and shows on a terminal what it sees.
	meterEvery = 200 * time.Millisecond
	// meterLineEvery is how often it writes a line where there is no terminal.
	meterLineEvery = 10 * time.Second
)

// Meter shows how far a command is, until the function it returns is called: on a
// terminal in a line that is written over, elsewhere in a line now and then. The
// work only counts; read reads the counters.
func (t *Terminal) Meter(name string, read func() view.Work) (stop func()) {
	live := !t.JSON && t.Env("TERM") != "dumb" && view.IsTerminal(t.Stderr)
	var pace view.Pace
	told := time.Now()
	over := progress.Every(meterEvery, func() {
		work := read()
		work.Time = time.Now()
		text := pace.Line(name, work, view.Width(t.Stderr))
		switch {
		case live:
			fmt.Fprintf(t.Stderr, "\r\x1b[K%s", text)
		case work.Time.Sub(told) >= meterLineEvery:
			told = work.Time
			fmt.Fprintln(t.Stderr, text)
		}
	})
	return sync.OnceFunc(func() {
		over()
		if live {
			fmt.Fprint(t.Stderr, "\r\x1b[K")
		}
	})
}

// MeterWork is meter for work that counts itself.
func (t *Terminal) MeterWork(name string) (work *progress.Work, stop func()) {
	work = &progress.Work{}
	return work, t.Meter(name, func() view.Work {
		return view.Work{StepProgress: event.StepProgress{Progress: step.ProgressOf(work.Now())}}
	})
}
