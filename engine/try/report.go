package try

import (
	"sync"
	"time"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/step"
)

// progressEvery is the minimum interval between two reports of a step.
const progressEvery = 100 * time.Millisecond

// progress limits a step's reports to ten a second. It always passes on the
// last report of each piece of work.
func progress(sink event.Sink, address string) func(step.Progress) {
	var mu sync.Mutex
	var last time.Time
	return func(p step.Progress) {
		mu.Lock()
		defer mu.Unlock()
		if p.Done > p.Total {
			p.Total = 0 // the total was an estimate that was too low
		}
		if p.Bytes > p.TotalBytes {
			p.TotalBytes = 0
		}
		if done := p.Total > 0 && p.Done >= p.Total; !done && time.Since(last) < progressEvery {
			return
		}
		last = time.Now()
		sink.Emit(event.StepProgress{At: event.Now(), Address: address, Progress: p})
	}
}

func warn(sink event.Sink, address string) func(string) {
	return func(message string) {
		sink.Emit(event.Warning{At: event.Now(), Address: address, Message: message})
	}
}

// phase limits a step's reports about a phase as progress does, but passes on
// every change.
func phase(sink event.Sink, address string) func(step.Phase) {
	var mu sync.Mutex
	var before step.Phase
	var last time.Time
	return func(p step.Phase) {
		mu.Lock()
		defer mu.Unlock()
		if !p.Turn(before) && time.Since(last) < progressEvery {
			return
		}
		before, last = p, time.Now()
		sink.Emit(event.StepPhase{At: event.Now(), Address: address, Phase: p})
	}
}
