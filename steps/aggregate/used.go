package aggregate

// Used is what the runs at a competition used, as means over the runs for which
// it is known.
type Used struct {
	WallSeconds *float64 `json:"wall_seconds,omitempty"`
	Validations *float64 `json:"validations,omitempty"`
	// Tokens (input and output) and CostUSD are what the agent reports.
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
	if e.Attempt == nil || e.Attempt.Usage == nil {
		return nil
	}
	u := e.Attempt.Usage
	switch {
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
