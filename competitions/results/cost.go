package results

import (
	"slices"

	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/grading"
)

// The sources of a cost, the surest first.
const (
	// MeasuredCost: the model gateway settled it by the provider's reports.
	MeasuredCost = "measured"
	// EstimatedCost: the gateway estimated a part, for lack of such a report.
	EstimatedCost = "estimated"
	// ClaimedCost: the agent, or an imported trajectory, says a part of it.
	ClaimedCost = "claimed"
)

// Cost is what attempts cost together, and what a medal cost.
type Cost struct {
	// USD is the sum over the attempts whose cost is known, in US dollars.
	USD float64 `json:"usd"`
	// Attempts are those attempts, Unknown those whose cost is not known.
	Attempts int `json:"attempts"`
	Unknown  int `json:"unknown"`
	Medals   int `json:"medals"`
	// PerMedal is USD for each medal; nil without a medal, or if a cost is not known.
	PerMedal *float64 `json:"usd_per_medal"`
	// Source is the least sure source of a part: measured, estimated or claimed.
	Source string `json:"source"`
}

// CostOf adds up the cost of attempts. It is nil if that of none is known.
func CostOf(list []*Attempt) *Cost {
	c, sure := &Cost{}, []string{MeasuredCost, EstimatedCost, ClaimedCost}
	least := 0
	for _, a := range list {
		c.Medals += board.Count(a.ranked() && Medal(a.Report) != "")
		u := a.Made.Usage
		if u == nil || u.CostUSD == nil {
			c.Unknown++
			continue
		}
		c.USD, c.Attempts = c.USD+*u.CostUSD, c.Attempts+1
		switch {
		case u.Source != grading.FromGateway:
			least = 2
		case u.EstimatedUSD != nil:
			least = max(least, 1)
		}
	}
	if c.Attempts == 0 {
		return nil
	}
	if c.Source = sure[least]; c.Medals > 0 && c.Unknown == 0 {
		each := c.USD / float64(c.Medals)
		c.PerMedal = &each
	}
	return c
}

// MedalChange is positive if the second of two medals is the higher one and negative if it
// is the lower one. Other names than gold, silver and bronze are no medal.
func MedalChange(was, is string) int {
	order := []string{string(grading.Bronze), string(grading.Silver), string(grading.Gold)}
	return slices.Index(order, is) - slices.Index(order, was)
}
