package bundle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/results"
)

// Channel is a way by which an attempt received more than its competition, possibly the
// answers.
type Channel struct {
	// Text describes it with names, for people.
	Text string `json:"text"`
	// Answers reports whether a private server or a recording answered instead of a
	// provider.
	Answers bool `json:"answers,omitempty"`
}

// given reads the agent's inputs besides its data from the fields of a key: the bytes of
// environment variables by name, the names of files, and its packages.
func (a *Attempt) given(r record) {
	if packages := r.field("agent.python"); packages != "null" {
		a.Python = packages
	}
	for _, label := range []string{"agent.env", "env"} { // the second takes precedence
		var env map[string]string
		_ = json.Unmarshal([]byte(r.field(label)), &env)
		for name, value := range env {
			if a.Env == nil {
				a.Env = map[string]int{}
			}
			a.Env[name] = len(value)
		}
	}
	for _, f := range r.Fields {
		quoted, found := strings.CutPrefix(f.Label, "agent.files[")
		if name, err := strconv.Unquote(strings.TrimSuffix(quoted, "]")); found && err == nil {
			a.Files = append(a.Files, name)
		}
	}
}

// variables lists the environment with the sizes of values.
func (a *Attempt) variables() []string {
	return lists.OfMap(a.Env, func(name string, bytes int) string { return fmt.Sprintf("%s (%s)", name, view.Bytes(int64(bytes))) })
}

// commands lists the commands with their sizes. That of a built-in agent is known.
func (a *Attempt) commands() []string {
	var list []string
	for _, c := range []struct {
		name  string
		words []string
	}{{"command", a.Command}, {"resume", a.Resume}} {
		if len(c.words) > 0 && a.AgentVersion == "" {
			list = append(list, fmt.Sprintf("%s (%s)", c.name, view.Bytes(int64(len(strings.Join(c.words, " "))))))
		}
	}
	return list
}

// packages names the Python packages by their digest.
func (a *Attempt) packages() []string {
	if a.Python == "" {
		return nil
	}
	return []string{fmt.Sprintf("%.12s", a.Python)}
}

// Outside are the channels that an attempt had.
func (a *Attempt) Outside() (list []Channel) {
	for _, one := range []struct {
		what  string
		names []string
	}{{"started with", a.commands()}, {"Python packages", a.packages()}, {"environment", a.variables()}, {"secrets", a.Secrets}, {"files of the agent", a.Files}} {
		if len(one.names) > 0 {
			list = append(list, Channel{Text: one.what + ": " + strings.Join(one.names, ", ")})
		}
	}
	for i := range a.Models {
		t := &a.Models[i]
		if t.BaseURL != "" {
			list = append(list, Channel{Text: fmt.Sprintf("own model server: %s (%s)", t.BaseURL, t.Name), Answers: true})
		}
		if source := t.source(); source != live {
			list = append(list, Channel{Text: fmt.Sprintf("model %s: %s", t.Name, source), Answers: true})
		}
		if len(t.Tools) > 0 {
			list = append(list, Channel{Text: fmt.Sprintf("tools of the provider (%s): %s", t.Name, strings.Join(t.Tools, ", "))})
		}
	}
	return list
}

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
	return strings.Join(lists.OfMap(t.Prices, func(pattern string, p TokenPrice) string {
		return fmt.Sprintf("%s %s in, %s out", pattern, p.Input, p.Output)
	}), "; ")
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
