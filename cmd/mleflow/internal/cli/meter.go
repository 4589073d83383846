package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
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

// meter shows how far a command is, until the function it returns is called: on a
// terminal in a line that is written over, elsewhere in a line now and then. The
// work only counts; look reads the counters.
func (t *terminal) meter(name string, look func() view.Work) (stop func()) {
	live := !t.json && t.env("TERM") != "dumb" && view.IsTerminal(t.stderr)
	ended := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(meterEvery)
		defer tick.Stop()
		var pace view.Pace
		told := time.Now()
		for {
			var now time.Time
			select {
			case <-ended:
				if live {
					fmt.Fprint(t.stderr, "\r\x1b[K")
				}
				return
			case now = <-tick.C:
			}
			work := look()
			work.Time = now
			text := pace.Line(name, work, view.Width(t.stderr))
			switch {
			case live:
				fmt.Fprintf(t.stderr, "\r\x1b[K%s", text)
			case now.Sub(told) >= meterLineEvery:
				told = now
				fmt.Fprintln(t.stderr, text)
			}
		}
	})
	return sync.OnceFunc(func() { close(ended); group.Wait() })
}

// meterWork is meter for work that counts itself.
func (t *terminal) meterWork(name string) (work *cache.Work, stop func()) {
	work = &cache.Work{}
	return work, t.meter(name, func() view.Work {
		p := step.ProgressOf(work.Now())
		return view.Work{StepProgress: event.StepProgress{What: p.What, Done: p.Done, Total: p.Total, Unit: p.Unit, Bytes: p.Bytes, TotalBytes: p.TotalBytes}}
	})
}
