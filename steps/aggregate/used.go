package aggregate

import (
	"strconv"

	"github.com/mleflow/mleflow/competitions/export"
)

// Used holds the resources that the runs at a competition used, each as the mean over
// the runs for which it is known.
type Used struct {
	WallSeconds *float64 `json:"wall_seconds,omitempty"`
	Validations *float64 `json:"validations,omitempty"`
	// Tokens (input and output) and CostUSD are the model gateway's measurements. For
	// agents that do not use the gateway, they are the agent's own figures.
	Tokens  *float64 `json:"tokens,omitempty"`
	CostUSD *float64 `json:"cost_usd,omitempty"`
}

// newUsed returns nil if nothing is known.
func newUsed(runs []Entry) *Used {
	mean := func(of func(Entry) *float64) *float64 {
		sum, n := 0.0, 0
		for _, e := range runs {
			if v := of(e); e.Attempt != nil && v != nil {
				sum, n = sum+*v, n+1
			}
		}
		if n == 0 {
			return nil
		}
		sum /= float64(n)
		return &sum
	}
	u := Used{
		WallSeconds: mean(Entry.wallSeconds), Validations: mean(Entry.validations), Tokens: mean(Entry.tokens), CostUSD: mean(Entry.costUSD),
	}
	if u == (Used{}) {
		return nil
	}
	return &u
}

func (e Entry) wallSeconds() *float64 {
	if e.Attempt == nil {
		return nil
	}
	return e.Attempt.WallSeconds
}

func (e Entry) validations() *float64 {
	if e.Attempt == nil || e.Attempt.Validations == nil {
		return nil
	}
	n := float64(*e.Attempt.Validations)
	return &n
}

func (e Entry) tokens() *float64 {
	if e.Attempt == nil {
		return nil
	}
	return e.Attempt.Usage.Tokens()
}

func (e Entry) costUSD() *float64 {
	if e.Attempt == nil || e.Attempt.Usage == nil {
		return nil
	}
	return e.Attempt.Usage.CostUSD
}

// TokensText returns the number of tokens that an attempt used, or "-" if it is
// unknown.
func TokensText(u *export.Usage) string { return usedText(u.Tokens(), tokensText) }

// CostText returns the cost of an attempt's models in US dollars, or "-" if it is
// unknown.
func CostText(u *export.Usage) string {
	if u == nil {
		return "-"
	}
	return usedText(u.CostUSD, costText)
}

func usedText(v *float64, show func(float64) string) string {
	if v == nil {
		return "-"
	}
	return show(*v)
}

func tokensText(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }

// costText formats an amount with two decimals, or four below a cent.
func costText(usd float64) string {
	decimals := 2
	if usd > 0 && usd < 0.01 {
		decimals = 4
	}
	return strconv.FormatFloat(usd, 'f', decimals, 64)
}
