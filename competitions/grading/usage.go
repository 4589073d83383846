package grading

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
