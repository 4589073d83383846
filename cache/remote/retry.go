package remote

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// patience says how long a failing store is tolerated.
type patience struct {
	// attempts is the number of attempts of an operation.
	attempts int
	// base is the wait after the first failure. It doubles up to most. Each wait
	// is drawn at random between half of that and all of it, so that clients do
	// not retry in step.
	base, most time.Duration
	// stall is how long an attempt may take without receiving a byte.
	stall time.Duration
	// strikes is the number of consecutive failed operations after which no request is
	// sent for the duration of pause.
	strikes int
	pause   time.Duration
}

// defaultPatience waits up to three seconds for one operation, which is enough
// for a lost connection or a throttled request, and little for a run that could
// also continue without the remote. A store that is down costs it three such
// operations, and then one every half minute.
var defaultPatience = patience{
	attempts: 5, base: 200 * time.Millisecond, most: 8 * time.Second,
	stall: 2 * time.Minute, strikes: 3, pause: 30 * time.Second,
}

// wait returns how long to wait after attempt n, counted from 0.
func (p patience) wait(n int) time.Duration {
	d := p.most
	if n < 20 {
		d = min(p.most, p.base<<n)
	}
	return d/2 + rand.N(d/2+1)
}

// breaker stops requests to a store that is down.
type breaker struct {
	mu      sync.Mutex
	strikes int
	until   time.Time
	// fatal is the reason why no more requests are sent; fatalWrite is the same for
	// writes.
	fatal, fatalWrite error
}

// open returns the error that prevents requests now, or nil.
func (b *breaker) open(writing bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.fatal != nil:
		return b.fatal
	case writing && b.fatalWrite != nil:
		return b.fatalWrite
	case time.Now().Before(b.until):
		return fmt.Errorf("%w: it failed several times just now", errUnavailable)
	}
	return nil
}

// note records the result of an operation.
func (b *breaker) note(p patience, err error, writing bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case errors.Is(err, errCredentials) && writing:
		b.fatalWrite = err
	case errors.Is(err, errCredentials), errors.Is(err, errFormat):
		b.fatal = err
	case !errors.Is(err, errUnavailable):
		b.strikes = 0
	default:
		if b.strikes++; b.strikes >= p.strikes {
			b.until, b.strikes = time.Now().Add(p.pause), 0
		}
	}
}

// watchdog ends a context when nothing has been received for a while.
type watchdog struct {
	t     *time.Timer
	limit time.Duration
	stop  context.CancelCauseFunc
}

func watch(ctx context.Context, limit time.Duration) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{limit: limit, stop: cancel}
	w.t = time.AfterFunc(limit, func() { cancel(fmt.Errorf("no data received for %s", limit)) })
	return ctx, w
}

// heard restarts the timer.
func (w *watchdog) heard() { w.t.Reset(w.limit) }

func (w *watchdog) end() {
	w.t.Stop()
	w.stop(nil)
}
