package grading

import (
	"cmp"
	"fmt"
)

// The sources of a Usage.
const (
	// FromGateway: the model gateway measured it.
	FromGateway = "gateway"
	// FromAgent: the agent says so, and nobody checks it.
	FromAgent = "agent"
	// FromClaim: an imported trajectory says so.
	FromClaim = "claimed"
)

// Usage is an attempt's use of models. Every field is optional; fields that
// are not known are ignored.
type Usage struct {
	// Source is FromGateway, FromAgent or FromClaim.
	Source string `json:"source,omitempty"`
	// Model names the models, as in the column of the reference's table.
	Model string `json:"model,omitempty"`
	// Requests, and the tokens of all of them. Tokens read from a cache are
	// among the input tokens.
	Requests          *float64 `json:"requests,omitempty"`
	InputTokens       *float64 `json:"input_tokens,omitempty"`
	CachedInputTokens *float64 `json:"cached_input_tokens,omitempty"`
	OutputTokens      *float64 `json:"output_tokens,omitempty"`
	// CostUSD is the cost in US dollars.
	CostUSD *float64 `json:"cost_usd,omitempty"`
	// EstimatedUSD is the part of it that no reported usage settles; nil if there is none.
	EstimatedUSD *float64 `json:"estimated_cost_usd,omitempty"`
	// ListUSD is the cost by mleflow's price list, whatever the pipeline's own prices are.
	ListUSD *float64 `json:"list_cost_usd,omitempty"`
}

// The most that one attempt can plausibly have used.
const (
	mostTokens = 1e15
	mostUSD    = 1e9
)

// Check refuses amounts that no attempt can have used: negative, not finite or absurd ones.
func (u *Usage) Check() error {
	for _, amount := range []struct {
		name string
		n    *float64
		most float64
	}{
		{"requests", u.Requests, mostTokens}, {"input_tokens", u.InputTokens, mostTokens}, {"cached_input_tokens", u.CachedInputTokens, mostTokens},
		{"output_tokens", u.OutputTokens, mostTokens}, {"cost_usd", u.CostUSD, mostUSD}, {"estimated_cost_usd", u.EstimatedUSD, mostUSD}, {"list_cost_usd", u.ListUSD, mostUSD},
	} {
		if amount.n != nil && !(*amount.n >= 0 && *amount.n <= amount.most) {
			return fmt.Errorf("%v is no amount of %s: it is from 0 to %v", *amount.n, amount.name, amount.most)
		}
	}
	if u.CachedInputTokens != nil && u.InputTokens != nil && *u.CachedInputTokens > *u.InputTokens {
		return fmt.Errorf("%v of %v input tokens cannot be from a cache", *u.CachedInputTokens, *u.InputTokens)
	}
	return nil
}

// Add adds tokens and costs. A source is kept only if all have the same.
func (u *Usage) Add(o *Usage) {
	if u.CostUSD == nil {
		u.Source = o.Source
	} else if u.Source != o.Source {
		u.Source = ""
	}
	add := func(sum **float64, more *float64) {
		if more != nil {
			total := *more
			if *sum != nil {
				total += **sum
			}
			*sum = &total
		}
	}
	add(&u.InputTokens, o.InputTokens)
	add(&u.OutputTokens, o.OutputTokens)
	add(&u.ListUSD, cmp.Or(o.ListUSD, o.CostUSD))
	add(&u.EstimatedUSD, o.EstimatedUSD)
	add(&u.CostUSD, o.CostUSD)
}

// Tokens returns the number of input and output tokens, or nil if it is unknown.
func (u *Usage) Tokens() *float64 {
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
