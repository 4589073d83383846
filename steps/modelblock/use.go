package modelblock

import (
	"slices"

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
