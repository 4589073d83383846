package modelblock

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/gateway"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// UseOf converts the use that the gateway reports.
func UseOf(provider string, sum gateway.Summary) results.ModelUse {
	u := results.ModelUse{
		Provider: provider, Models: []string{}, Unreported: sum.Unreported,
		CostUSD: sum.Cost.String(), EstimatedUSD: amount(sum.Estimated), ToolCalls: map[string]int64{}, ToolCostUSD: "0", WaitedSeconds: sum.Waited, Exhausted: len(sum.Exhausted) > 0, ExhaustedBy: sum.Exhausted,
	}
	if sum.Requests > sum.Unlisted && (sum.ListCost > 0 || sum.Unlisted == 0) {
		u.ListUSD = amount(sum.ListCost)
	}
	for _, n := range sum.Refused {
		u.Refused += n
	}
	if q := sum.FirstByte; q != nil {
		u.FirstByteMedian, u.FirstByteNinety, u.FirstByteLongest = q.Median, q.Slow, q.Most
	}
	return u
}

func amount(d gateway.Dollars) *string { text := d.String(); return &text }

// AddExchanges adds the use in a transcript to the models by name and returns
// the providers' health. The transcript covers the last try; the cost covers
// all tries.
func AddExchanges(use map[string]results.ModelUse, r *transcript.Reader) (h Health, err error) {
	toolCost := map[string]gateway.Dollars{}
	for e, err := range r.Events() {
		if err != nil {
			return h, err
		}
		h.see(*e)
		u, ok := use[e.Model]
		if !ok || e.Refused != "" {
			continue
		}
		u.Requests++
		if e.Replayed {
			u.Replayed++
		}
		if t := e.Usage; t != nil {
			u.InputTokens, u.CachedInputTokens = u.InputTokens+t.Input, u.CachedInputTokens+t.CacheRead
			u.OutputTokens, u.ReasoningTokens = u.OutputTokens+t.Output, u.ReasoningTokens+t.Reasoning
			for _, tool := range dialect.Tools() {
				if n := t.ToolCalls.Of(tool); n > 0 {
					u.ToolCalls[string(tool)] += n
				}
			}
		}
		toolCost[e.Model] += gateway.Dollars(e.ToolCost)
		u.ToolCostUSD, u.UnpricedCalls = toolCost[e.Model].String(), u.UnpricedCalls+e.UnpricedCalls
		u.Retries += int64(len(e.Attempts))
		if e.Failed != "" || e.Status >= 400 {
			u.Failed++
		} else if e.Asked != "" && !slices.Contains(u.Models, e.Asked) {
			u.Models = append(u.Models, e.Asked)
			slices.Sort(u.Models)
		}
		if e.Diverged != "" && (u.DivergedAt == 0 || int64(e.Sequence) < u.DivergedAt) {
			u.DivergedAt = int64(e.Sequence)
		}
		use[e.Model] = u
	}
	return h, nil
}

// patience is the time that an agent must have waited for an answer: what it gives up
// earlier was not the provider's failure.
const patience = time.Minute

// Health is the state of an attempt's providers according to its exchanges so
// far.
type Health struct {
	// Answered means that a provider answered a request, even if only with an error
	// that the agent caused.
	Answered bool
	// Down describes the provider's failure of the last request, and At is its
	// time. Down is empty if the last request was answered, or refused by a
	// budget.
	Down string
	At   time.Time
	// last is the start of the request that Down describes. Exchanges may be
	// recorded in a different order.
	last time.Time
}

// see adds an exchange. Replayed exchanges and refusals by the gateway itself
// say nothing about the provider.
func (h *Health) see(e transcript.Event) {
	why := failure(e)
	answered := why == "" && e.Refused == "" && !e.Gone && e.Asked != ""
	h.Answered = h.Answered || answered && !e.Replayed
	if e.Replayed || e.Time.Before(h.last) {
		return
	}
	switch {
	case why != "":
		h.last = e.Time
		h.Down, h.At = plain.Line(fmt.Sprintf("the provider of model %q %.300s", e.Model, why)), e.Time.Add(time.Duration(e.Seconds*float64(time.Second)))
	case e.Refused == dialect.OverBudget, answered:
		h.last, h.Down = e.Time, ""
	}
}

// failure describes a provider's failure, to follow its name. It returns "" if
// the provider answered or the outcome is unknown.
func failure(e transcript.Event) string {
	last := transcript.Attempt{Status: e.Status, Failed: e.Failed}
	switch n := len(e.Attempts); {
	case e.Refused == dialect.Unreachable && !e.Gone:
		return "did not answer: " + cmp.Or(e.Failed, "no reason is known")
	case e.Refused != "" && e.Refused != dialect.Unreachable:
		return ""
	case e.Gone && (n == 0 || e.Seconds < patience.Seconds()):
		return "" // nobody knows what the answer would have been
	case e.Gone: // the provider had failed, and the gateway asked again
		last = e.Attempts[n-1]
	}
	own := last.Status == http.StatusBadRequest && slices.ContainsFunc(accounts, func(text string) bool { return strings.Contains(last.Failed, text) })
	switch {
	case own, last.Status >= http.StatusInternalServerError, slices.Contains(refusing, last.Status):
		return fmt.Sprintf("answered with status %d: %s", last.Status, cmp.Or(last.Failed, http.StatusText(last.Status), "unknown"))
	case last.Status >= http.StatusBadRequest, last.Failed == "", e.Exceeded:
		return ""
	case last.Status == 0:
		return "did not answer: " + last.Failed
	}
	if e.Cut {
		return "broke off: " + last.Failed
	}
	return "failed: " + last.Failed
}

// refusing are the statuses of a provider that refuses the key or its use.
// Other statuses below 500 are mistakes of the agent.
var refusing = []int{http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests}

// accounts are phrases in a provider's error 400 about the key (Gemini) or its
// account (Anthropic).
var accounts = []string{"API key not valid", "API key expired", "credit balance is too low"}
