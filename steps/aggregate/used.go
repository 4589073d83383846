package aggregate

import (
	"strconv"

	"github.com/mleflow/mleflow/competitions/export"
)

// Used is what the runs at a competition used, as means over the runs for which
// it is known.
type Used struct {
	WallSeconds *float64 `json:"wall_seconds,omitempty"`
	Validations *float64 `json:"validations,omitempty"`
	// Tokens (input and output) and CostUSD are what the model gateway measured
	// or, of agents that use none, what the agent says.
	Tokens  *float64 `json:"tokens,omitempty"`
	CostUSD *float64 `json:"cost_usd,omitempty"`
}

// newUsed returns nil when nothing is known.
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
	return tokensOf(e.Attempt.Usage)
}

// tokensOf are the input and output tokens; nil if they are not known.
func tokensOf(u *export.Usage) *float64 {
	switch {
	case u == nil:
		return nil
	case u.InputTokens == nil:
		return u.OutputTokens
	case u.OutputTokens == nil:
		return u.InputTokens
	}
	sum := *u.InputTokens + *u.OutputTokens
	return &sum
}

func (e Entry) costUSD() *float64 {
	if e.Attempt == nil || e.Attempt.Usage == nil {
		return nil
	}
	return e.Attempt.Usage.CostUSD
}

// TokensText and CostText show what an attempt used of models, "-" where that
// is not known.
func TokensText(u *export.Usage) string { return usedText(tokensOf(u), tokensText) }

// CostText is in US dollars.
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

// costText has two decimals, or four below a cent.
func costText(usd float64) string {
	decimals := 2
	if usd > 0 && usd < 0.01 {
		decimals = 4
	}
	return strconv.FormatFloat(usd, 'f', decimals, 64)
}
