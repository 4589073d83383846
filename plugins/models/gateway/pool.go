package gateway

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/lists"
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

	mu sync.Mutex
	// raised is what people added to the limit of money.
	raised      Dollars
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
	more := spent.minus(p.seen[share]).most(Amount{})
	p.spent = p.spent.plus(more)
	p.seen[share] = p.seen[share].plus(more)
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
	if name := p.now().passed(p.spent.plus(a)); name != "" {
		l := Amount{p.now().Cost, p.limits.Tokens, p.limits.Requests}
		return &shortage{limit: name, reason: dialect.OverBudget, left: l.minus(p.spent).most(Amount{})}
	}
	if name := p.now().passed(p.spent.plus(p.held).plus(a)); name != "" {
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
	return p.now().passed(p.spent.plus(p.held)) == ""
}

// raise adds to the limit of money, if there is one.
func (p *Pool) raise(more Dollars) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limits.Cost == 0 {
		return false
	}
	p.raised = plus(p.raised, more)
	return true
}

// now returns the limits with what people added.
func (p *Pool) now() Limits {
	l := p.limits
	if l.Cost > 0 {
		l.Cost = plus(l.Cost, p.raised)
	}
	return l
}

// passed names the limit that the spending exceeds because a provider used more
// than its reservation, or returns "".
func (p *Pool) passed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now().passed(p.spent)
}

// settle replaces a reservation by the amount that a share spent.
func (p *Pool) settle(held, spent Amount, share string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	p.held = p.held.minus(held)
	p.spent = p.spent.plus(spent)
	p.seen[share] = p.seen[share].plus(spent)
	close(p.settled)
	p.settled = make(chan struct{})
}

// cancel releases the reservations of a request that was never sent.
func cancel(pools []*Pool, held Amount) {
	for _, p := range pools {
		p.mu.Lock()
		if n := len(p.starts); p.limits.PerMinute > 0 && n > 0 {
			p.starts = p.starts[:n-1]
		}
		p.mu.Unlock()
		p.settle(held, Amount{}, "")
	}
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

// left is a limit and the rest of it. A null limit means that there is none.
type left[N int64 | Dollars] struct {
	Limit     *N `json:"limit"`
	Spent     N  `json:"spent"`
	Remaining *N `json:"remaining"`
}

func leftOf[N int64 | Dollars](limit, spent, held N) left[N] {
	l := left[N]{Spent: spent}
	if limit > 0 {
		rest := max(0, limit-spent-held)
		l.Limit, l.Remaining = &limit, &rest
	}
	return l
}

// budget is the state of a budget as the agent sees it. Amounts held by
// requests in progress are not part of the rest.
type budget struct {
	Cost       left[Dollars] `json:"cost_usd"`
	Tokens     left[int64]   `json:"tokens"`
	Requests   left[int64]   `json:"requests"`
	PerMinute  int           `json:"per_minute,omitempty"`
	Concurrent int           `json:"concurrent,omitempty"`
}

func (p *Pool) budget() budget {
	spent, held := p.Spent()
	return budget{
		Cost:       leftOf(p.now().Cost, spent.Cost, held.Cost),
		Tokens:     leftOf(p.limits.Tokens, spent.Tokens, held.Tokens),
		Requests:   leftOf(p.limits.Requests, spent.Requests, held.Requests),
		PerMinute:  p.limits.PerMinute,
		Concurrent: p.limits.Concurrent,
	}
}

// budgetOf is the reply to GET /NAME/budget. It shows only the rest of the
// run's budget, so that it reveals nothing about other attempts.
type budgetOf struct {
	Model string `json:"model"`
	budget
	RunRemaining *budgetLeft `json:"run_remaining,omitempty"`
	Exhausted    []string    `json:"exhausted,omitempty"`
}

type budgetLeft struct {
	Cost     *Dollars `json:"cost_usd"`
	Tokens   *int64   `json:"tokens"`
	Requests *int64   `json:"requests"`
}

func (b *block) budget() budgetOf {
	out := budgetOf{Model: b.Name, budget: b.pool.budget(), Exhausted: b.summary().Exhausted}
	if b.Run != nil {
		run := b.Run.budget()
		out.RunRemaining = &budgetLeft{run.Cost.Remaining, run.Tokens.Remaining, run.Requests.Remaining}
	}
	return out
}

func (g *Gateway) budgets() map[string][]budgetOf {
	return map[string][]budgetOf{"models": lists.Of(g.names, func(name string) budgetOf { return g.blocks[name].budget() })}
}
