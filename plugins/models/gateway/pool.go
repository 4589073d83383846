package gateway

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// Amount is an amount that a request takes from a budget, or the size of a
// budget.
type Amount struct {
	Cost     Dollars `json:"cost"`
	Tokens   int64   `json:"tokens"`
	Requests int64   `json:"requests"`
}

func (a Amount) plus(b Amount) Amount {
	return Amount{plus(a.Cost, b.Cost), plus(a.Tokens, b.Tokens), plus(a.Requests, b.Requests)}
}

func (a Amount) minus(b Amount) Amount {
	return Amount{a.Cost - b.Cost, a.Tokens - b.Tokens, a.Requests - b.Requests}
}

// most returns the maximum of each part, least the minimum.
func (a Amount) most(b Amount) Amount {
	return Amount{max(a.Cost, b.Cost), max(a.Tokens, b.Tokens), max(a.Requests, b.Requests)}
}

func (a Amount) least(b Amount) Amount {
	return Amount{min(a.Cost, b.Cost), min(a.Tokens, b.Tokens), min(a.Requests, b.Requests)}
}

// of formats the part to which a limit applies.
func (a Amount) of(limit string) string {
	switch limit {
	case "cost":
		return a.Cost.String() + " USD"
	case "tokens":
		return strconv.FormatInt(a.Tokens, 10)
	}
	return strconv.FormatInt(a.Requests, 10)
}

// exceeds reports whether the amount has more money or tokens than reserved.
func (a Amount) exceeds(reserved Amount) bool {
	return a.Cost > reserved.Cost || a.Tokens > reserved.Tokens
}

// Pool is a budget shared by concurrent requests and attempts. No reservation
// raises the sum of held and spent amounts above its limits.
type Pool struct {
	limits Limits

	mu          sync.Mutex
	spent, held Amount
	running     int
	// starts are the times of the requests of the last minute, oldest first.
	starts []time.Time
	// seen is the spending from a run's budget, by share.
	seen map[string]Amount
	// settled is closed when a request in progress ends.
	settled chan struct{}
}

// NewPool returns an unspent budget.
func NewPool(limits Limits) *Pool {
	return &Pool{limits: limits, seen: map[string]Amount{}, settled: make(chan struct{})}
}

// Spent returns the spent amount and the amount held by requests in progress.
func (p *Pool) Spent() (spent, held Amount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spent, p.held
}

// charge adds an amount that was spent outside a reservation.
func (p *Pool) charge(a Amount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent = p.spent.plus(a)
}

// restore adds the earlier spending and request times of a share, without the
// part that this pool already counted.
func (p *Pool) restore(share string, spent Amount, starts []time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, seen := p.seen[share]; !seen {
		now := time.Now()
		for _, at := range starts {
			if at.After(now) { // the clock was set back
				at = now
			}
			p.starts = append(p.starts, at)
		}
		slices.SortFunc(p.starts, time.Time.Compare)
	}
	more := spent.minus(p.seen[share])
	more = Amount{max(more.Cost, 0), max(more.Tokens, 0), max(more.Requests, 0)}
	p.spent = p.spent.plus(more)
	p.seen[share] = p.seen[share].plus(more)
}

// saw records spending of a share that was passed to settle.
func (p *Pool) saw(share string, spent Amount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[share] = p.seen[share].plus(spent)
}

// retryHeld is the number of seconds after which a client may retry a request
// that fits the budget but not beside the requests in progress. The gateway
// itself waits that long first.
const retryHeld = 2

// acquire is like reserve but waits a moment for requests in progress.
func (p *Pool) acquire(ctx context.Context, a Amount) *shortage {
	patience := time.NewTimer(retryHeld * time.Second)
	defer patience.Stop()
	for {
		short := p.reserve(a)
		if short == nil || short.settled == nil {
			return short
		}
		select {
		case <-short.settled:
		case <-patience.C:
			return short
		case <-ctx.Done():
			return short
		}
	}
}

// reserve holds an amount for one request, or returns the reason why it cannot.
// A refusal costs nothing.
func (p *Pool) reserve(a Amount) *shortage {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name := p.limits.passed(p.spent.plus(a)); name != "" {
		l := Amount{p.limits.Cost, p.limits.Tokens, p.limits.Requests}
		return &shortage{limit: name, reason: dialect.OverBudget, left: l.minus(p.spent).most(Amount{})}
	}
	if name := p.limits.passed(p.spent.plus(p.held).plus(a)); name != "" {
		return &shortage{limit: name, reason: dialect.RateLimited, retry: retryHeld, settled: p.settled}
	}
	if p.limits.Concurrent > 0 && p.running >= p.limits.Concurrent {
		return &shortage{limit: "concurrent", reason: dialect.RateLimited, retry: retryHeld, settled: p.settled}
	}
	if n := p.limits.PerMinute; n > 0 {
		now := time.Now()
		p.starts = lastMinute(p.starts, now)
		if len(p.starts) >= n {
			wait := time.Minute - now.Sub(p.starts[len(p.starts)-n])
			return &shortage{limit: "per_minute", reason: dialect.RateLimited, retry: seconds(wait)}
		}
		p.starts = append(p.starts, now)
	}
	p.running++
	p.held = p.held.plus(a)
	return nil
}

// extend holds more for a request in progress that has already used it. It
// reports whether the budget covers it.
func (p *Pool) extend(more Amount) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held = p.held.plus(more)
	return p.limits.passed(p.spent.plus(p.held)) == ""
}

// passed names the limit that the spending exceeds because a provider used more
// than its reservation, or returns "".
func (p *Pool) passed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limits.passed(p.spent)
}

// settle replaces a reservation by the spent amount.
func (p *Pool) settle(held, spent Amount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	p.held = p.held.minus(held)
	p.spent = p.spent.plus(spent)
	close(p.settled)
	p.settled = make(chan struct{})
}

// cancel releases the reservation of a request that was never sent.
func (p *Pool) cancel(held Amount) {
	p.mu.Lock()
	if n := len(p.starts); p.limits.PerMinute > 0 && n > 0 {
		p.starts = p.starts[:n-1]
	}
	p.mu.Unlock()
	p.settle(held, Amount{})
}

// passed names the limit that an amount exceeds, or returns "".
func (l Limits) passed(a Amount) string {
	switch {
	case l.Cost > 0 && a.Cost > l.Cost:
		return "cost"
	case l.Tokens > 0 && a.Tokens > l.Tokens:
		return "tokens"
	case l.Requests > 0 && a.Requests > l.Requests:
		return "requests"
	}
	return ""
}

// shortage explains why a budget cannot hold a request.
type shortage struct {
	limit  string
	reason dialect.Reason
	retry  int
	left   Amount // rest of the limited amounts
	// settled is closed when another try may succeed. It is nil if only time
	// helps.
	settled chan struct{}
}

// seconds rounds up to whole seconds.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
