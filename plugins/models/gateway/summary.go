package gateway

import (
	"maps"
	"slices"
	"time"

	"github.com/mleflow/mleflow/plugins/models/dialect"
)

// Summary is an attempt's use of one model block. It covers earlier openings of
// the gateway. Only the cost of an agent that was restarted from scratch is
// included; see Options.Again.
type Summary struct {
	Model string `json:"model"`
	// Requests counts the forwarded and replayed requests, Replayed only the
	// replayed ones. Refused counts the others by reason.
	Requests int64                    `json:"requests"`
	Replayed int64                    `json:"replayed,omitempty"`
	Refused  map[dialect.Reason]int64 `json:"refused,omitempty"`
	// Usage is the usage that providers reported, or that was assumed where they
	// reported none. Tokens and Cost are the charges. Unreported counts the
	// charges by assumption, and Estimated is their part of Cost.
	Usage      dialect.Usage `json:"usage"`
	Tokens     int64         `json:"tokens"`
	Cost       Dollars       `json:"cost_usd"`
	Unreported int64         `json:"unreported,omitempty"`
	Estimated  Dollars       `json:"estimated_cost_usd,omitempty"`
	// ListCost is the cost by mleflow's price list, without the Unlisted
	// responses, whose models the list does not know.
	ListCost Dollars `json:"list_cost_usd,omitempty"`
	Unlisted int64   `json:"unlisted,omitempty"`
	// ReplayedCost is the part of Cost that was not paid again: replayed
	// answers are charged at their recorded cost.
	ReplayedCost Dollars `json:"replayed_cost_usd,omitempty"`
	// Exceeded counts responses that used more than their reservations, because
	// the provider ignored the request's limit or a price is wrong.
	Exceeded int64 `json:"exceeded,omitempty"`
	// Waited is the time that requests waited because of failing providers and
	// pauses before retries. Concurrent waits add up; see Gateway.Paused.
	Waited    float64    `json:"waited_seconds"`
	FirstByte *Quantiles `json:"first_byte_seconds,omitempty"`
	// Exhausted are the limits that refused a request permanently or that a
	// response exceeded: "cost", "tokens", "requests". Limits of the run have
	// the prefix "run_".
	Exhausted []string `json:"exhausted,omitempty"`
}

// Quantiles are observed values of a set of times in seconds.
type Quantiles struct {
	Median float64 `json:"p50"`
	Slow   float64 `json:"p90"`
	Most   float64 `json:"max"`
}

// tally accumulates a Summary, without what follows from the other fields.
type tally struct {
	Summary
	exhausted map[string]bool
	// spent includes replayed answers, live does not.
	spent, live Amount
	// excess is the largest ratio of used to reserved amounts, in thousandths,
	// or 0 if no response exceeded its reservation.
	excess     int64
	firstBytes []float64
	// starts are the times of the requests of the last minute, oldest first.
	starts []time.Time
}

func newTally(model string) *tally {
	return &tally{Summary: Summary{Model: model, Refused: map[dialect.Reason]int64{}}, exhausted: map[string]bool{}}
}

// begin forgets everything about an earlier agent except its payments.
func (t *tally) begin() {
	fresh := newTally(t.Model)
	fresh.spent, fresh.live, fresh.Unreported, fresh.starts, fresh.excess = t.live, t.live, t.Unreported, t.starts, t.excess
	*t = *fresh
}

// permille returns used as thousandths of reserved, rounded up.
func permille(used, reserved int64) int64 {
	if reserved <= 0 {
		return 0
	}
	return plus(times(used, 1000), reserved-1) / reserved
}

// started records the time at which a request was sent.
func (t *tally) started(at time.Time) { t.starts = append(lastMinute(t.starts, at), at) }

// lastMinute drops times that are at least a minute before now.
func lastMinute(starts []time.Time, now time.Time) []time.Time {
	for len(starts) > 0 && now.Sub(starts[0]) >= time.Minute {
		starts = starts[1:]
	}
	return starts
}

// maxTimes bounds the number of times from which quantiles are computed.
const maxTimes = 1 << 20

func (t *tally) settle(e entry, held Amount) {
	t.Requests++
	t.spent = t.spent.plus(*e.Amount)
	if e.Kind == settled {
		t.live = t.live.plus(*e.Amount)
	}
	t.Waited += e.Waited
	if e.FirstByte > 0 && len(t.firstBytes) < maxTimes {
		t.firstBytes = append(t.firstBytes, e.FirstByte)
	}
	if e.exceeds(held) {
		t.Exceeded++
	}
	// A request does not bound the cost of its tool calls.
	if e.exceeds(held) && (e.Usage == nil || e.Usage.ToolCalls == dialect.ToolCalls{}) {
		t.excess = max(t.excess, permille(int64(e.Cost), int64(held.Cost)), permille(e.Tokens, held.Tokens))
	}
	if !e.Reported && e.Tokens > 0 {
		t.Unreported++
		t.Estimated = plus(t.Estimated, e.Cost)
	}
	if e.List != nil {
		t.ListCost = plus(t.ListCost, *e.List)
	} else if e.Tokens > 0 {
		t.Unlisted++
	}
	if e.Usage != nil {
		t.Usage = addUsage(t.Usage, *e.Usage)
	}
}

func (t *tally) refuse(e entry) {
	t.Refused[e.Reason]++
	if e.Reason == dialect.OverBudget {
		t.exhausted[e.Limit] = true
	}
}

func addUsage(a, b dialect.Usage) dialect.Usage {
	return dialect.Usage{
		Input: a.Input + b.Input, Audio: a.Audio + b.Audio, CacheRead: a.CacheRead + b.CacheRead, CacheWrite: a.CacheWrite + b.CacheWrite,
		CacheWriteHour: a.CacheWriteHour + b.CacheWriteHour, Output: a.Output + b.Output, Reasoning: a.Reasoning + b.Reasoning,
		ToolCalls: a.ToolCalls.Plus(b.ToolCalls),
	}
}

func (t *tally) summary() Summary {
	s := t.Summary
	s.Tokens, s.Cost, s.ReplayedCost, s.Exhausted = t.spent.Tokens, t.spent.Cost, t.spent.Cost-t.live.Cost, slices.Sorted(maps.Keys(t.exhausted))
	if s.Refused = nil; len(t.Refused) > 0 {
		s.Refused = maps.Clone(t.Refused)
	}
	if n := len(t.firstBytes); n > 0 {
		sorted := slices.Sorted(slices.Values(t.firstBytes))
		s.FirstByte = &Quantiles{Median: sorted[(n-1)/2], Slow: sorted[(n*9+9)/10-1], Most: sorted[n-1]}
	}
	return s
}
