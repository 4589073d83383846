package gateway

import (
	"slices"
	"sync"
	"time"
)

// waits measures the time in which at least one request waited for a failing
// provider. It is safe for concurrent use.
type waits struct {
	mu   sync.Mutex
	done []span
	open map[int]time.Time
	next int
}

type span struct{ from, to time.Time }

// begin starts a wait that began at from.
func (w *waits) begin(from time.Time) (end func() time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = map[int]time.Time{}
	}
	id := w.next
	w.next++
	w.open[id] = from
	return sync.OnceValue(func() time.Duration {
		w.mu.Lock()
		defer w.mu.Unlock()
		now := time.Now()
		delete(w.open, id)
		w.done = union(append(w.done, span{from, now}))
		return now.Sub(from)
	})
}

// total returns the time up to now.
func (w *waits) total() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	all := slices.Clone(w.done)
	for _, from := range w.open {
		all = append(all, span{from, now})
	}
	var sum time.Duration
	for _, s := range union(all) {
		sum += s.to.Sub(s.from)
	}
	return sum
}

// union merges overlapping spans.
func union(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && !s.from.After(out[n-1].to) {
			if s.to.After(out[n-1].to) {
				out[n-1].to = s.to
			}
			continue
		}
		out = append(out, s)
	}
	return out
}
