package gateway

import (
	"fmt"
	"sync"
	"time"
)

// An attempt is hopeless after this many refusals of the same request by an
// exhausted budget, over this time, without any successful request between
// them.
const (
	futileRefusals = 20
	futileTime     = time.Minute
)

// futile counts consecutive refusals of the same request.
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

// Futile explains why an agent's requests are hopeless: it only repeats a
// request that exceeds the rest of the budget. It returns "" while there is
// hope.
func (g *Gateway) Futile() string {
	f := &g.futile
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.limit == "" || f.count < futileRefusals || time.Since(f.since) < futileTime {
		return ""
	}
	return fmt.Sprintf("%d requests in a row did not fit into the budget (%s); the answer to each says what is left", f.count, f.limit)
}
