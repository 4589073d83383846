package gateway

import (
	"fmt"
	"sync"
	"time"
)

// An attempt is hopeless after that many refusals of the same request by an
// exhausted budget, over that time, with nothing let through between them.
const (
	futileRefusals = 20
	futileTime     = time.Minute
)

// futile counts refusals that only repeat.
type futile struct {
	mu          sync.Mutex
	limit, need string
	count       int
	since       time.Time
}

func (f *futile) refused(limit, need string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.limit != limit || f.need != need {
		f.limit, f.need, f.count, f.since = limit, need, 0, time.Now()
	}
	f.count++
}

func (f *futile) passed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit = ""
}

// Futile says why an agent asks in vain: it repeats a request for which the
// budget has no more, and nothing else. It is empty as long as there is hope.
func (g *Gateway) Futile() string {
	f := &g.futile
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.limit == "" || f.count < futileRefusals || time.Since(f.since) < futileTime {
		return ""
	}
	return fmt.Sprintf("%d requests in a row did not fit into the budget (%s); the answer to each says what is left", f.count, f.limit)
}
