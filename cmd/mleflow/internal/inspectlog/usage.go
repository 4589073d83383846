package inspectlog

import (
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/atif"
)

// Usage is the use of a model. InputTokens excludes tokens of a cache.
type Usage struct {
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	TotalTokens  int64   `json:"total_tokens"`
	CacheWrite   int64   `json:"input_tokens_cache_write"`
	CacheRead    int64   `json:"input_tokens_cache_read"`
	Reasoning    int64   `json:"reasoning_tokens"`
	Cost         float64 `json:"total_cost"`
	nanodollars  int64
}

func (u *Usage) add(o *Usage) {
	u.InputTokens, u.OutputTokens, u.TotalTokens = u.InputTokens+o.InputTokens, u.OutputTokens+o.OutputTokens, u.TotalTokens+o.TotalTokens
	u.CacheWrite, u.CacheRead, u.Reasoning = u.CacheWrite+o.CacheWrite, u.CacheRead+o.CacheRead, u.Reasoning+o.Reasoning
	u.charge(o.nanodollars)
}

func (u *Usage) charge(nanodollars int64) {
	u.nanodollars += nanodollars
	u.Cost = float64(u.nanodollars) / 1e9
}

// Measured returns the use of each model by a transcript, including exchanges
// outside conversations.
func Measured(r *transcript.Reader) (map[string]*Usage, error) {
	by := map[string]*Usage{}
	for e, err := range r.Events() {
		if err != nil {
			return nil, err
		}
		one := &Usage{}
		if u := e.Usage; u != nil {
			*one = Usage{
				InputTokens: u.Input - u.CacheRead - u.CacheWrite, OutputTokens: u.Output, TotalTokens: u.Input + u.Output,
				CacheWrite: u.CacheWrite, CacheRead: u.CacheRead, Reasoning: u.Reasoning,
			}
		}
		one.charge(e.Cost)
		if e.Usage != nil || e.Cost > 0 {
			merge(by, modelName(e.Provider, e.Asked), one)
		}
	}
	return by, nil
}

// claimed returns an attempt's use of models where there is no transcript.
func claimed(u *grading.Usage) map[string]*Usage {
	by := map[string]*Usage{}
	if u == nil {
		return by
	}
	number := func(f *float64) int64 {
		if f == nil {
			return 0
		}
		return int64(*f)
	}
	in, cached, out := number(u.InputTokens), number(u.CachedInputTokens), number(u.OutputTokens)
	one := &Usage{InputTokens: max(0, in-cached), OutputTokens: out, TotalTokens: in + out, CacheRead: cached}
	if u.CostUSD != nil {
		one.charge(int64(*u.CostUSD * 1e9))
	}
	by[modelName("", u.Model)] = one
	return by
}

// used converts the metrics of a step.
func used(m *atif.Metrics) *Usage {
	if m == nil {
		return nil
	}
	writes, _ := m.Extra["cache_write_tokens"].(int64)
	reasoning, _ := m.Extra["reasoning_tokens"].(int64)
	return &Usage{
		InputTokens: m.PromptTokens - m.CachedTokens - writes, OutputTokens: m.CompletionTokens, TotalTokens: m.PromptTokens + m.CompletionTokens,
		CacheWrite: writes, CacheRead: m.CachedTokens, Reasoning: reasoning, Cost: m.CostUSD,
	}
}

func merge(into map[string]*Usage, model string, u *Usage) {
	if into[model] == nil {
		into[model] = &Usage{}
	}
	into[model].add(u)
}

// modelName is Inspect's form of a model's name, with its provider.
func modelName(provider, model string) string {
	switch {
	case model == "":
		return "unknown"
	case provider == "":
		return model
	}
	return provider + "/" + model
}
