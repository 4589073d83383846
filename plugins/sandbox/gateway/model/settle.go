package model

import (
	"fmt"
	"net/http"

	"github.com/mleflow/mleflow/plugins/sandbox/gateway/dialect"
)

// reserve takes an amount from the budgets of the attempt and of the run, and
// writes it down.
func (x *exchange) reserve(a Amount) error {
	ctx := x.r.Context()
	if s := x.pool.acquire(ctx, a); s != nil {
		return x.short(s, "")
	}
	if x.Run != nil {
		if s := x.Run.acquire(ctx, a); s != nil {
			x.pool.cancel(a)
			return x.short(s, "run_")
		}
	}
	id, err := x.gateway.ledger.reserve(x.Name, a)
	if err != nil {
		x.pool.cancel(a)
		if x.Run != nil {
			x.Run.cancel(a)
		}
		x.event.Failed = err.Error()
		return &dialect.Refusal{Reason: dialect.Unreachable, Text: "The model gateway cannot write its budget down."}
	}
	x.id, x.held = id, &a
	return nil
}

// short is the refusal of what a budget has no space for.
func (x *exchange) short(s *shortage, prefix string) error {
	x.limit = prefix + s.limit
	text := map[string]string{
		"cost": "money", "tokens": "tokens", "requests": "requests", "per_minute": "requests per minute", "concurrent": "requests at once",
	}[s.limit]
	whose := "The budget of this attempt"
	if prefix != "" {
		whose = "The budget that all attempts of this run share"
	}
	if s.reason == dialect.OverBudget {
		text = fmt.Sprintf("%s has not enough left of %s for what this request may take at most. GET /%s/budget tells what is left.", whose, text, x.Name)
	} else {
		text = fmt.Sprintf("%s allows no more %s at the moment. Retry later.", whose, text)
	}
	return &dialect.Refusal{Reason: s.reason, Text: text, RetryAfter: s.retry}
}

// spent is what an exchange is charged with: what was reported; the whole
// reservation if the provider may charge and did not report; nothing for its
// failures; a request for the client's mistakes.
func (x *exchange) spent(usage *dialect.Usage) Amount {
	switch status := x.event.Status; {
	case x.held == nil:
		return Amount{}
	case x.event.Replayed: // what was charged then
		return *x.held
	case x.event.Refused == dialect.NoRecording:
		return Amount{}
	case usage != nil:
		return Amount{x.price.Cost(*usage), plus(usage.Input, usage.Output), 1}
	case status >= http.StatusBadRequest && x.event.Refused == "":
		if status == http.StatusTooManyRequests || status >= http.StatusInternalServerError {
			return Amount{}
		}
		return Amount{Requests: 1}
	}
	return *x.held
}

// settle ends the reservation, if there is one: once.
func (x *exchange) settle(spent Amount, usage *dialect.Usage) {
	held := x.held
	if x.held = nil; held == nil {
		return
	}
	defer x.gateway.tell()
	e := entry{
		Kind: settled, ID: x.id, Amount: &spent, Reported: usage != nil, Usage: usage,
		FirstByte: x.event.FirstByte, Waited: x.waited.Seconds(),
	}
	x.event.Reported, x.event.Usage = usage != nil, usage
	x.event.Cost, x.event.Tokens = int64(spent.Cost), spent.Tokens
	if usage != nil {
		x.event.ToolCost = int64(min(spent.Cost, x.price.ToolCost(usage.ToolCalls)))
		x.event.UnpricedCalls = x.price.unpriced(usage.ToolCalls)
	}
	if x.event.Replayed {
		// It costs the run nothing, but the attempt what it did then: the budget
		// is as it was in the recording.
		e.Kind, e.ID, e.Model = replayed, 0, x.Name
		if x.charged {
			spent, e.Usage = Amount{}, nil
		}
		x.gateway.ledger.note(e)
		x.pool.charge(spent)
		return
	}
	x.gateway.ledger.note(e)
	x.pool.settle(*held, spent)
	if x.Run != nil {
		x.Run.settle(*held, spent)
		x.Run.saw(x.share, spent)
	}
}
