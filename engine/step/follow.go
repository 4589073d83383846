package step

import (
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache"
)

// followEvery is how often the work of a step is looked at.
const followEvery = 200 * time.Millisecond

// Follow reports the progress of work, which begins after this, until the function
// it returns is called, and the end of each of its parts.
func (e *Env) Follow(w *cache.Work) (stop func()) {
	return Follow(w, func(p cache.Progress) { e.Progress(ProgressOf(p)) })
}

// Follow tells the progress of work as Env.Follow does.
func Follow(w *cache.Work, tell func(cache.Progress)) (stop func()) {
	w.Ended = tell
	ended := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(followEvery)
		defer tick.Stop()
		var last cache.Progress
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				if p := w.Now(); p.What != "" && p != last {
					last = p
					tell(p)
				}
			}
		}
	})
	return func() {
		close(ended)
		group.Wait()
		w.Begin("", 0, 0)
	}
}

// ProgressOf is the progress of work, in files or, where there are none, in bytes.
func ProgressOf(p cache.Progress) Progress {
	if p.Files == 0 && p.TotalFiles == 0 {
		return Progress{What: p.What, Done: p.Bytes, Total: p.TotalBytes, Unit: "bytes"}
	}
	return Progress{What: p.What, Done: p.Files, Total: p.TotalFiles, Unit: "files", Bytes: p.Bytes, TotalBytes: p.TotalBytes}
}
