package engine

import (
	"sync"

	"github.com/mleflow/mleflow/engine/event"
)

// serial makes a sink safe for concurrent use.
func serial(s event.Sink) event.Sink {
	var mu sync.Mutex
	return event.SinkFunc(func(ev event.Event) {
		mu.Lock()
		defer mu.Unlock()
		s.Emit(ev)
	})
}
