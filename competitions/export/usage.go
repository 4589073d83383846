package export

import (
	"encoding/json"
	"fmt"
	"math"
)

// UsageFile is where an agent may leave what it used, below its logs.
const UsageFile = "usage.json"

// MaxUsageBytes is the largest usage file that is read.
const MaxUsageBytes = 64 << 10

// Usage is what an agent says of its use of models. Nobody checks it. Every
// field is optional; fields that are not known are ignored.
type Usage struct {
	// Model names the models, as in the column of the reference's table.
	Model string `json:"model,omitempty"`
	// Requests, and the tokens of all of them. Tokens read from a cache are
	// among the input tokens.
	Requests          *float64 `json:"requests,omitempty"`
	InputTokens       *float64 `json:"input_tokens,omitempty"`
	CachedInputTokens *float64 `json:"cached_input_tokens,omitempty"`
	OutputTokens      *float64 `json:"output_tokens,omitempty"`
	// CostUSD is what it cost in US dollars.
	CostUSD *float64 `json:"cost_usd,omitempty"`
}

// ReadUsage reads a usage file. Numbers are finite and not negative; the name
// of the model has at most 200 bytes.
func ReadUsage(data []byte) (*Usage, error) {
	var u *Usage
	if err := json.Unmarshal(data, &u); err != nil {
		return nil, fmt.Errorf("read %s: %w", UsageFile, err)
	}
	if u == nil {
		return nil, fmt.Errorf("read %s: it is not an object", UsageFile)
	}
	if len(u.Model) > 200 {
		return nil, fmt.Errorf("read %s: the name of the model has %d bytes", UsageFile, len(u.Model))
	}
	for _, n := range []*float64{u.Requests, u.InputTokens, u.CachedInputTokens, u.OutputTokens, u.CostUSD} {
		if n != nil && (*n < 0 || math.IsInf(*n, 0)) {
			return nil, fmt.Errorf("read %s: %v is no amount", UsageFile, *n)
		}
	}
	return u, nil
}
