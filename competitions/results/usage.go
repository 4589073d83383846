package results

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/step"
)

// UsageFile is the path below its logs where an agent may record its usage.
const UsageFile = "usage.json"

// MaxUsageBytes is the largest usage file that is read.
const MaxUsageBytes = 64 << 10

// Usage is an attempt's use of models.
type Usage = grading.Usage

// ErrUsage is the error of a usage file that says nothing, which is the agent's doing.
var ErrUsage = errors.New("ignored")

// Claimed is what an agent says of its usage below its logs; nil if it says nothing. A file
// that is too large or in another form is ErrUsage.
func Claimed(ctx context.Context, store cache.Store, logs cache.Ref) (*Usage, error) {
	if logs.Kind != cache.Tree {
		return nil, nil
	}
	e, err := tree.Find(ctx, store, logs, UsageFile)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && e.IsDir():
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("find %s: %w", UsageFile, err)
	case e.Size > MaxUsageBytes:
		return nil, fmt.Errorf("%w: %s has %d bytes, which is too many", ErrUsage, UsageFile, e.Size)
	}
	data, err := cache.Get(ctx, store, e.ID, MaxUsageBytes)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", UsageFile, err)
	}
	u, err := ReadUsage(data)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrUsage, err)
	}
	return u, err
}

// ReadUsage reads a usage file. See Usage.Check for its numbers; the
// name of the model has at most 200 bytes.
func ReadUsage(data []byte) (*Usage, error) {
	var u *Usage
	if err := json.Unmarshal(data, &u); err != nil {
		return nil, fmt.Errorf("read %s: %w", UsageFile, err)
	}
	if u == nil {
		return nil, fmt.Errorf("read %s: it is not an object", UsageFile)
	}
	u.Source = grading.FromAgent
	if len(u.Model) > 200 {
		return nil, fmt.Errorf("read %s: the name of the model has %d bytes", UsageFile, len(u.Model))
	}
	if err := u.Check(); err != nil {
		return nil, fmt.Errorf("read %s: %w", UsageFile, err)
	}
	return u, nil
}

// ModelUse is an attempt's use of one model block, as the model gateway measured
// it. Tokens and cost are the provider's figures; for a response that reports
// none they are estimates.
type ModelUse struct {
	Provider string `json:"provider" cty:"provider"`
	// Models are the models that answered, sorted.
	Models []string `json:"models" cty:"models"`
	// Requests is how many the gateway let through; Replayed how many of them a
	// recording answered, Failed how many of them ended in an error or were cut.
	// Refused is how many it refused, Retries how often it asked again.
	Requests int64 `json:"requests" cty:"requests"`
	Replayed int64 `json:"replayed" cty:"replayed"`
	Refused  int64 `json:"refused" cty:"refused"`
	Failed   int64 `json:"failed" cty:"failed"`
	Retries  int64 `json:"retries" cty:"retries"`
	// Unreported is the number of responses without reported usage, whose charges are
	// estimates.
	Unreported int64 `json:"unreported" cty:"unreported"`
	// CachedInputTokens are among InputTokens, ReasoningTokens among OutputTokens.
	InputTokens       int64 `json:"input_tokens" cty:"input_tokens"`
	CachedInputTokens int64 `json:"cached_input_tokens" cty:"cached_input_tokens"`
	OutputTokens      int64 `json:"output_tokens" cty:"output_tokens"`
	ReasoningTokens   int64 `json:"reasoning_tokens" cty:"reasoning_tokens"`
	// CostUSD is an exact decimal number, and so are the other costs. EstimatedUSD is the
	// part of it that no reported usage settles. ListUSD is the cost by mleflow's price
	// list, whatever the pipeline's own prices are, of the models that the list knows.
	// It is nil if it knows none. Older records have neither.
	CostUSD      string  `json:"cost_usd" cty:"cost_usd"`
	EstimatedUSD *string `json:"estimated_cost_usd,omitempty" cty:"estimated_cost_usd"`
	ListUSD      *string `json:"list_cost_usd,omitempty" cty:"list_cost_usd"`
	// ToolCalls are the calls of the provider's own tools, ToolCostUSD their part of
	// CostUSD. UnpricedCalls are those whose price is not known; they are not in
	// CostUSD.
	ToolCalls     map[string]int64 `json:"tool_calls" cty:"tool_calls"`
	ToolCostUSD   string           `json:"tool_cost_usd" cty:"tool_cost_usd"`
	UnpricedCalls int64            `json:"unpriced_tool_calls" cty:"unpriced_tool_calls"`
	// WaitedSeconds is the time that the agent waited because of the provider's errors
	// and pauses. FirstByte are the times to the first byte of a response.
	WaitedSeconds    float64 `json:"waited_seconds" cty:"waited_seconds"`
	FirstByteMedian  float64 `json:"first_byte_median_seconds" cty:"first_byte_median_seconds"`
	FirstByteNinety  float64 `json:"first_byte_p90_seconds" cty:"first_byte_p90_seconds"`
	FirstByteLongest float64 `json:"first_byte_max_seconds" cty:"first_byte_max_seconds"`
	// Exhausted reports whether a request was refused because a budget was exhausted.
	Exhausted bool `json:"exhausted" cty:"exhausted"`
	// ExhaustedBy lists the exhausted limits: cost, tokens, requests, and those of the
	// run as run_cost. Older records have none.
	ExhaustedBy []string `json:"exhausted_by,omitempty" cty:"exhausted_by"`
	// DivergedAt is the first exchange that a replay had no recording for; 0 if
	// there was none.
	DivergedAt int64 `json:"diverged_at" cty:"diverged_at"`
}

// Charges writes the cost with what it rests on, as in "0 USD by own prices, 18.4 USD
// by mleflow's list, of which 0.5 USD estimated".
func (u ModelUse) Charges() string {
	text := cmp.Or(u.CostUSD, "0") + " USD"
	if u.ListUSD != nil && *u.ListUSD != u.CostUSD {
		text += " by own prices, " + *u.ListUSD + " USD by mleflow's list"
	}
	if u.EstimatedUSD != nil && *u.EstimatedUSD != "0" {
		text += ", of which " + *u.EstimatedUSD + " USD estimated"
	}
	return text + u.ToolCharges()
}

// ToolCharges gives the part of the cost that tool calls are and the calls without
// a known price, as the rest of a sentence; "" without calls.
func (u ModelUse) ToolCharges() string {
	parts := lists.OfMap(u.ToolCalls, func(name string, n int64) string { return fmt.Sprintf("%d %s", n, name) })
	if len(parts) == 0 {
		return ""
	}
	text := fmt.Sprintf(", of which %s for calls of tools (%s)", u.ToolCostUSD, strings.Join(parts, ", "))
	if u.UnpricedCalls > 0 {
		text += fmt.Sprintf(", besides %d calls without a known price", u.UnpricedCalls)
	}
	return text
}

// ModelUseType is the type of a ModelUse in the language.
var ModelUseType = step.TypeOf[ModelUse]()

// Measured is the use of all model blocks of an attempt together; nil if it has
// none.
func Measured(by map[string]ModelUse) *Usage {
	if len(by) == 0 {
		return nil
	}
	var requests, input, cached, output int64
	var models []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		u := by[name]
		requests, input, cached, output = requests+u.Requests, input+u.InputTokens, cached+u.CachedInputTokens, output+u.OutputTokens
		models = append(models, u.Models...)
	}
	slices.Sort(models)
	number := func(n int64) *float64 { f := max(0, float64(n)); return &f }
	u := &Usage{
		Source: grading.FromGateway, Model: strings.Join(slices.Compact(models), " "),
		Requests: number(requests), InputTokens: number(input), CachedInputTokens: number(cached), OutputTokens: number(output),
		CostUSD: cmp.Or(sumOf(by, func(u ModelUse) *string { return &u.CostUSD }), new(float64)), EstimatedUSD: sumOf(by, func(u ModelUse) *string { return u.EstimatedUSD }),
		ListUSD: sumOf(by, func(u ModelUse) *string { return u.ListUSD }),
	}
	if u.EstimatedUSD != nil && *u.EstimatedUSD == 0 {
		u.EstimatedUSD = nil
	}
	return u
}

// Paid is what the models cost together in US dollars, 0 without any.
func Paid(by map[string]ModelUse) *float64 {
	if u := Measured(by); u != nil {
		return u.CostUSD
	}
	return new(float64)
}

// sumOf adds up exact amounts; nil if none is known.
func sumOf(by map[string]ModelUse, of func(ModelUse) *string) *float64 {
	sum, known := new(big.Rat), false
	for _, u := range by {
		if text := of(u); text != nil {
			if c, ok := new(big.Rat).SetString(*text); ok && c.Sign() >= 0 {
				sum.Add(sum, c)
				known = true
			}
		}
	}
	if !known {
		return nil
	}
	f, _ := sum.Float64()
	return &f
}
