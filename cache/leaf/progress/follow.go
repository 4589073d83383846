package progress

import (
	"sync"
	"time"
)

// Every calls look in a goroutine, at each interval, until the function it returns is
// called, which waits for the last call. Calling that again does nothing.
func Every(interval time.Duration, look func()) (stop func()) {
	ended := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				look()
			}
		}
	})
	return sync.OnceFunc(func() { close(ended); group.Wait() })
}

// followEvery is how often work that is followed is looked at.
const followEvery = 200 * time.Millisecond

// Follow tells the progress of work, which begins after this, until the function it
// returns is called, and the end of each of its parts.
func Follow(w *Work, tell func(State)) (stop func()) {
	w.Ended = tell
	var last State
	over := Every(followEvery, func() {
		if now := w.Now(); now.What != "" && now != last {
			last = now
			tell(now)
		}
	})
	return sync.OnceFunc(func() {
		over()
		w.Begin("", 0, 0)
	})
}
