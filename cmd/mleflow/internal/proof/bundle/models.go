package bundle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/competitions/results"
)

// Terms are the limits of one model block for an attempt, and its use. The provider's
// key is not among them.
type Terms struct {
	Name     string   `json:"name"`
	Provider string   `json:"provider"`
	BaseURL  string   `json:"base_url,omitempty"`
	Models   []string `json:"models"`
	// Prices are the pipeline's own prices, by pattern of models.
	Prices map[string]TokenPrice `json:"prices,omitempty"`
	// Tools are the granted server-side tools of the provider.
	Tools []string `json:"tools"`
	// Budget and RunBudget are as written; an empty field is no limit.
	Budget    Budget `json:"budget"`
	RunBudget Budget `json:"run_budget"`
	// Replay are the digests of the recordings that answered in place of the provider.
	// OnMiss is the treatment of a request without a recording.
	Replay []string `json:"replay,omitempty"`
	OnMiss string   `json:"on_miss,omitempty"`
	// PauseClock reports whether the time limit excluded the time spent waiting for the
	// provider.
	PauseClock bool             `json:"pause_clock,omitempty"`
	Used       results.ModelUse `json:"used"`
}

// Budget limits the use of a model block.
type Budget struct {
	Cost       string `json:"cost,omitempty"`
	Tokens     int64  `json:"tokens,omitempty"`
	Requests   int64  `json:"requests,omitempty"`
	PerMinute  int64  `json:"per_minute,omitempty"`
	Concurrent int64  `json:"concurrent,omitempty"`
	ToolCalls  int64  `json:"tool_calls_per_request,omitempty"`
}

// TokenPrice is the price of a million tokens, as written.
type TokenPrice struct {
	Input     string `json:"input"`
	Output    string `json:"output"`
	CacheRead string `json:"cache_read,omitempty"`
}

// maxModels bounds how many model blocks of an agent are read.
const maxModels = 100

// termsOf reads the model blocks from the fields of a key. Unreadable fields are empty.
func termsOf(r record, used map[string]results.ModelUse) (list []Terms) {
	n, _ := strconv.Atoi(r.field("length of agent.models"))
	for i := range min(n, maxModels) {
		prefix := fmt.Sprintf("agent.models[%d].", i)
		var t Terms
		for name, dst := range map[string]any{
			"name": &t.Name, "provider": &t.Provider, "base_url": &t.BaseURL, "models": &t.Models, "tools": &t.Tools,
			"budget": &t.Budget, "run_budget": &t.RunBudget, "on_miss": &t.OnMiss, "pause_clock": &t.PauseClock, "prices": &t.Prices,
		} {
			_ = json.Unmarshal([]byte(r.field(prefix+name)), dst)
		}
		recordings, _ := strconv.Atoi(r.field("length of " + prefix + "replay"))
		for k := range min(recordings, maxModels) {
			t.Replay = append(t.Replay, r.field(fmt.Sprintf("%sreplay[%d]", prefix, k)))
		}
		t.Models, t.Tools, t.Used = append([]string{}, t.Models...), append([]string{}, t.Tools...), used[t.Name]
		t.Used.Models = append([]string{}, t.Used.Models...)
		list = append(list, t)
	}
	return list
}

// live is the source name of a provider's answers.
const live = "live"

// source names the source of the answers.
func (t *Terms) source() string {
	switch {
	case len(t.Replay) == 0 && t.Used.Replayed == 0:
		return live
	case len(t.Replay) > 0 && t.Used.Replayed == t.Used.Requests:
		return "replayed"
	case len(t.Replay) == 0:
		return fmt.Sprintf("live; an earlier try answered %d requests", t.Used.Replayed)
	}
	return fmt.Sprintf("replayed %d of %d requests, then live", t.Used.Replayed, t.Used.Requests)
}

// prices writes the block's own prices.
func (t *Terms) prices() string {
	var list []string
	for _, pattern := range slices.Sorted(maps.Keys(t.Prices)) {
		list = append(list, fmt.Sprintf("%s %s in, %s out", pattern, t.Prices[pattern].Input, t.Prices[pattern].Output))
	}
	return strings.Join(list, "; ")
}

func (b Budget) String() string {
	var parts []string
	if b.Cost != "" {
		parts = append(parts, b.Cost)
	}
	for _, limit := range []struct {
		n    int64
		what string
	}{{b.Tokens, "tokens"}, {b.Requests, "requests"}, {b.PerMinute, "requests a minute"}, {b.Concurrent, "at once"}, {b.ToolCalls, "tool calls a request"}} {
		if limit.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", limit.n, limit.what))
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

// models returns the language models available to attempts, and their use.
func (d *Disclosure) models() Section {
	s := Section{Title: "Models", Columns: []string{
		"Attempt", "Model block", "Provider", "Models allowed", "Tools granted", "Budget", "Budget of the run", "Answers", "Clock", "Models used", "Requests", "Refused", "Own prices", "Tokens", "Cost",
	}}
	for _, a := range d.Attempts {
		for _, t := range a.Models {
			clock := "runs"
			if t.PauseClock {
				clock = "paused while the provider failed"
			}
			provider := t.Provider
			if t.BaseURL != "" {
				provider += " (" + t.BaseURL + ")"
			}
			s.Rows = append(s.Rows, []string{
				short(a.Address), t.Name, provider, strings.Join(t.Models, " "), cmp.Or(strings.Join(slices.Sorted(slices.Values(t.Tools)), " "), "none"),
				t.Budget.String(), t.RunBudget.String(), t.source(), clock, cmp.Or(strings.Join(t.Used.Models, " "), "-"),
				strconv.FormatInt(t.Used.Requests, 10), strconv.FormatInt(t.Used.Refused, 10), cmp.Or(t.prices(), "none"),
				strconv.FormatInt(t.Used.InputTokens+t.Used.OutputTokens, 10), t.Used.Charges(),
			})
		}
	}
	return s
}
