package gateway

import (
	"cmp"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// reserve takes an amount from the budgets of the attempt and the run and
// records it.
func (x *exchange) reserve(a Amount) error {
	ctx := x.r.Context()
	pools := x.pools()
	for i, p := range pools {
		if s := p.acquire(ctx, a); s != nil {
			cancel(pools[:i], a)
			return x.short(s, limitPrefixes[i], a)
		}
	}
	x.gateway.futile.passed()
	id, err := x.gateway.ledger.reserve(x.Name, a)
	if err != nil {
		cancel(pools, a)
		x.event.Failed = err.Error()
		return &dialect.Refusal{Reason: dialect.Unreachable, Text: "The model gateway cannot write its budget down."}
	}
	x.id, x.reserved, x.held = id, a, &a
	return nil
}

// short is the refusal of a request that exceeds a budget.
func (x *exchange) short(s *shortage, prefix string, a Amount) error {
	x.limit = prefix + s.limit
	text := map[string]string{"cost": "money", "per_minute": "requests per minute", "concurrent": "requests at once"}[s.limit]
	text = cmp.Or(text, s.limit)
	whose := "The budget of this attempt"
	if prefix != "" {
		whose = "The budget that all attempts of this run share"
	}
	if s.reason == dialect.OverBudget {
		need, left := a.of(s.limit), s.left.of(s.limit)
		text = fmt.Sprintf("%s has not enough left of %s for what this request may take at most: it needs up to %s, and %s is left. ", whose, text, need, left)
		if s.limit != "requests" && !x.asked.Free {
			text += fmt.Sprintf("Its output counts with %d tokens: a lower max_output_tokens (max_tokens, max_completion_tokens, maxOutputTokens) needs less. ", x.output)
		}
		text += fmt.Sprintf("GET /%s/budget tells what is left.", x.Name)
		if x.gateway.ledger.summary(x.Name).Requests == 0 {
			need = "" // nothing was ever accepted: all requests count as one
		}
		x.gateway.futile.refused(x.Name+": "+x.limit, need)
	} else {
		text = fmt.Sprintf("%s allows no more %s at the moment. Retry later.", whose, text)
	}
	return &dialect.Refusal{Reason: s.reason, Text: text, RetryAfter: s.retry}
}

// spent returns the charge for an exchange: the reported usage, nothing for the
// provider's failures, one request for the client's mistakes, and otherwise an
// estimate with the usage that it assumes. whole reports that the response
// arrived completely.
func (x *exchange) spent(usage *dialect.Usage, whole bool) (Amount, *dialect.Usage) {
	status := x.event.Status
	if x.meter != nil && status < http.StatusBadRequest && forNothing(x.meter) {
		status = x.meter.Progress().Status
	}
	switch {
	case x.held == nil:
		return Amount{}, nil
	case x.event.Replayed: // the recorded charge
		return *x.held, x.recorded
	case x.event.Refused == dialect.NoRecording:
		return Amount{}, nil
	case usage != nil:
		return x.cost(*usage), nil
	case status >= http.StatusBadRequest && x.event.Refused == "":
		if status == http.StatusTooManyRequests || status >= http.StatusInternalServerError {
			return Amount{}, nil
		}
		return Amount{Requests: 1}, nil
	case x.asked.Free || x.asked.Unmetered:
		return *x.held, nil
	}
	return x.estimate(whole)
}

// cost returns the cost of a usage.
func (x *exchange) cost(u dialect.Usage) Amount {
	return Amount{x.price.Cost(u), plus(u.Input, u.Output), 1}
}

// estimate returns the charge for a response without a credible final usage. If
// the provider ended it, by an error or after reporting some usage, or if its
// client left, the model wrote no more than the bytes that arrived, each at most
// one token. Otherwise it may have gone on, and the whole reservation is
// charged. Reported usage always counts.
func (x *exchange) estimate(whole bool) (Amount, *dialect.Usage) {
	all := &dialect.Usage{Input: max(0, x.held.Tokens-x.output), Output: min(x.output, x.held.Tokens)}
	if x.meter == nil {
		return *x.held, all
	}
	u, _ := x.meter.Usage()
	p, reported := x.meter.Progress(), x.cost(u)
	ended := x.meter.Failed() != "" || whole && p.Reported || x.event.Gone && p.Begun
	if !ended || len(x.asked.Tools) > 0 || x.asked.Hidden && !p.Reported {
		all.Input, all.Output = max(all.Input, u.Input), max(all.Output, u.Output)
		return x.held.most(reported), all
	}
	u.Input = cmp.Or(u.Input, x.asked.InputTokens)
	u.Output = max(u.Output, p.Text)
	return x.cost(u).least(*x.held).most(reported), &u
}

// overrun takes the use of a response beyond its reservation from the budgets.
// It fails if they do not cover it. The gateway does not rely on the provider
// to obey the limit of a request.
func (x *exchange) overrun() error {
	if x.held == nil || x.event.Replayed {
		return nil
	}
	u, _ := x.meter.Usage()
	u.Output = max(u.Output, leastTokens(x.meter))
	used := x.cost(u)
	more := used.most(*x.held).minus(*x.held)
	if more == (Amount{}) || x.meter.Done() {
		return nil
	}
	*x.held = x.held.plus(more)
	fits := true
	for _, p := range x.pools() {
		fits = p.extend(more) && fits
	}
	if fits {
		return nil
	}
	return fmt.Errorf("the response was cut: it has used %d tokens (%s USD), more than its request allows, and the budget has no more", used.Tokens, used.Cost)
}

// settle ends the reservation, if there is one, exactly once. Without a reported
// usage, the charge follows from an estimate.
func (x *exchange) settle(spent Amount, usage, estimate *dialect.Usage) {
	held := x.held
	if x.held = nil; held == nil {
		return
	}
	defer x.gateway.tell()
	reported := usage != nil
	x.event.Reported, x.event.Estimated = reported, !reported && estimate != nil
	usage = cmp.Or(usage, estimate)
	e := entry{
		Kind: settled, ID: x.id, Amount: &spent, Reported: reported, Usage: usage,
		FirstByte: x.event.FirstByte, Waited: x.waited.Seconds(),
	}
	x.event.Usage = usage
	x.event.Cost, x.event.Tokens = int64(spent.Cost), spent.Tokens
	x.event.Exceeded = !x.event.Replayed && spent.exceeds(x.reserved)
	if usage != nil {
		x.event.ToolCost = int64(min(spent.Cost, x.price.ToolCost(usage.ToolCalls.Of)))
		x.event.UnpricedCalls = x.price.unpriced(usage.ToolCalls)
		x.event.ListCost = ListCost(x.event)
		e.List = (*Dollars)(x.event.ListCost)
	}
	if x.event.Replayed {
		// A replay costs the run nothing. It costs the attempt as much as the
		// recorded exchange did, so the budget develops as in the recording.
		e.Kind, e.ID, e.Model = replayed, 0, x.Name
		if x.charged {
			spent, e.Usage = Amount{}, nil
		}
		x.gateway.ledger.note(e)
		x.pool.charge(spent)
		return
	}
	x.gateway.ledger.note(e)
	for _, p := range x.pools() {
		p.settle(*held, spent, x.share)
	}
}

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
