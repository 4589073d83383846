package progress

import (
	"context"
	"sync"
	"time"
)

// Every calls look in a goroutine at each interval. The returned function stops
// this and waits for the last call; calling it again does nothing.
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

// Sleep waits. If ctx ends first, it returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// followEvery is the interval at which Follow looks at the work.
const followEvery = 200 * time.Millisecond

// Follow reports the progress of work, and the end of each of its parts, until the
// returned function is called. It must be called before the work begins.
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
