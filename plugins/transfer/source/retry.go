package source

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
)

// gate makes all parts of a download wait while the server wants a pause.
type gate struct {
	mu    sync.Mutex
	until time.Time
}

// shut closes the gate for a while.
func (g *gate) shut(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := time.Now().Add(d); until.After(g.until) {
		g.until = until
	}
}

// tellEvery is how often a gate tells that it is shut.
const tellEvery = 10 * time.Second

// pass waits until the gate is open, and tells until when.
func (g *gate) pass(ctx context.Context, tell func(until time.Time)) error {
	for {
		g.mu.Lock()
		until := g.until
		g.mu.Unlock()
		left := time.Until(until)
		if left <= 0 {
			return nil
		}
		tell(until)
		if err := progress.Sleep(ctx, min(left, tellEvery)); err != nil {
			return err
		}
	}
}

// retrier retries what may pass.
type retrier struct {
	settings
	gate gate
	logf func(format string, args ...any)
	// waiting is called while the server wants a pause.
	waiting func(until time.Time)
}

// retry calls try until it succeeds, fails permanently, or fails too often in a
// row without progress. The pauses grow exponentially and are drawn from zero
// up (full jitter), so that neither the parts of a download nor many machines
// retry at the same time.
func (r *retrier) retry(ctx context.Context, try func() (moved bool, err error)) error {
	failures, brief, wait, asked := 0, 0, r.wait, time.Duration(0)
	for {
		if err := r.gate.pass(ctx, r.waiting); err != nil {
			return err
		}
		moved, err := try()
		var temporary *TemporaryError
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !errors.As(err, &temporary):
			return err
		}
		if moved {
			failures, brief, wait, asked = 0, 0, r.wait, 0
		}
		if brief++; !temporary.brief {
			brief = 0
		}
		switch {
		case brief < r.briefTries:
		case temporary.later:
			return err
		default:
			return temporary.Err
		}
		asked += temporary.After
		if failures++; failures >= r.tries || asked > r.patience {
			return err
		}
		r.gate.shut(temporary.After)
		pause := rand.N(min(wait, longestWait) + 1) //nolint:gosec // no secret
		r.logf("%v; retrying in %v", err, (temporary.After + pause).Round(time.Millisecond))
		if err := progress.Sleep(ctx, pause); err != nil {
			return err
		}
		wait *= 2
	}
}
