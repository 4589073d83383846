package modelblock

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/gateway"
)

// The values of on_miss.
const (
	MissFails = "fail"
	MissLive  = "live"
)

// Of converts a model block into the gateway's model. The error joins one
// WrongArg per mistake.
func Of(m step.Model) (gateway.Model, error) {
	r := modelReader{m: m, out: gateway.Model{
		Name: m.Name, Provider: m.Provider, BaseURL: m.BaseURL, Models: m.Models, Grants: dialect.Grants{}, Prices: map[string]gateway.Price{},
	}}
	r.provider()
	r.key()
	r.endpoint()
	r.models()
	r.tools()
	r.out.Budget = r.limits("budget", m.Budget)
	r.limits("run_budget", m.RunBudget)
	if m.RunBudget.ToolCalls > 0 {
		r.fail("run_budget.tool_calls_per_request", "tool_calls_per_request belongs to the block budget: it concerns each request")
	}
	for _, pattern := range slices.Sorted(maps.Keys(m.Prices)) {
		r.out.Prices[pattern] = r.price(pattern, m.Prices[pattern])
	}
	r.retry()
	r.priced()
	return r.out, errors.Join(r.wrong...)
}

// modelReader reads the arguments of a model block.
type modelReader struct {
	m     step.Model
	out   gateway.Model
	wrong []error
}

func (r *modelReader) fail(arg, format string, args ...any) {
	r.wrong = append(r.wrong, step.WrongArg(arg, fmt.Errorf(format, args...)))
}

func (r *modelReader) provider() {
	var names []string
	for _, d := range dialect.All() {
		names = append(names, d.Name())
	}
	if !slices.Contains(names, r.m.Provider) {
		r.fail("provider", "provider = %q is not one of %s.%s For a server that speaks OpenAI's protocol, write \"openai\" and its base_url", r.m.Provider, strings.Join(names, ", "), diag.DidYouMean(r.m.Provider, names))
	}
}

// Live reports whether requests may go to the provider.
func Live(m step.Model) bool { return len(m.Replay) == 0 || m.OnMiss == MissLive }

func (r *modelReader) key() {
	switch m := r.m; {
	case m.OnMiss != "" && m.OnMiss != MissFails && m.OnMiss != MissLive:
		r.fail("on_miss", "on_miss = %q is not %q or %q", m.OnMiss, MissFails, MissLive)
	case m.OnMiss != "" && len(m.Replay) == 0:
		r.fail("on_miss", "on_miss is for a model with replay; remove it, or add replay")
	case Live(m) && m.Key.Ref == "" && m.BaseURL == "":
		r.fail("key", "the model %q has no key; write key = \"env:NAME\", or replay a recording", m.Name)
	case !Live(m) && m.Key.Ref != "":
		r.fail("key", "the model %q replays a recording, which needs no key; remove key, or write on_miss = %q", m.Name, MissLive)
	}
}

func (r *modelReader) endpoint() {
	if r.m.BaseURL == "" {
		return
	}
	if err := gateway.CheckBaseURL(r.m.BaseURL); err != nil {
		r.fail("base_url", "base_url: %w", err)
	}
}

func (r *modelReader) models() {
	if len(r.m.Models) == 0 {
		r.fail("models", "models is empty, so the agent could ask for none; list names such as \"gpt-5.5\" or patterns such as \"gpt-5*\"")
	}
	for _, name := range r.m.Models {
		if name == "" || strings.ContainsAny(name, " \t\r\n") {
			r.fail("models", "%q is not the name of a model", name)
		}
	}
}

func (r *modelReader) tools() {
	var names []string
	for _, a := range dialect.Abilities() {
		names = append(names, string(a.Ability))
	}
	for _, name := range r.m.Tools {
		if !slices.Contains(names, name) {
			r.fail("tools", "there is no ability %q.%s They are %s", name, diag.DidYouMean(name, names), strings.Join(names, ", "))
			continue
		}
		r.out.Grants[dialect.Ability(name)] = true
	}
}

// money parses an amount. It returns nil if there is none or it is wrong.
func (r *modelReader) money(arg, text string) *gateway.Dollars {
	if text == "" {
		return nil
	}
	d, err := gateway.ParseDollars(text)
	if err == nil && !strings.HasSuffix(text, "USD") {
		err = fmt.Errorf("%q has no unit; write \"%s USD\"", text, text)
	}
	if err != nil {
		r.fail(arg, "%s: %w", arg[strings.LastIndex(arg, ".")+1:], err)
		return nil
	}
	return &d
}

func (r *modelReader) limits(block string, b step.ModelBudget) gateway.Limits {
	l := gateway.Limits{Tokens: b.Tokens, Requests: b.Requests, PerMinute: b.PerMinute, Concurrent: b.Concurrent, ToolCalls: b.ToolCalls}
	if cost := r.money(block+".cost", b.Cost); cost != nil {
		if l.Cost = *cost; l.Cost == 0 {
			r.fail(block+".cost", "cost = %q allows nothing; leave it out for no limit", b.Cost)
		}
	}
	return l
}

func (r *modelReader) price(pattern string, p step.ModelPrice) gateway.Price {
	of := func(name, text string) *gateway.Dollars { return r.money("price."+pattern+"."+name, text) }
	free := gateway.Dollars(0)
	return gateway.Price{
		Rates: gateway.Rates{
			Input: *cmp.Or(of("input", p.Input), &free), Output: *cmp.Or(of("output", p.Output), &free), InputAudio: of("input_audio", p.InputAudio),
			CacheRead: of("cache_read", p.CacheRead), CacheWrite: of("cache_write", p.CacheWrite), CacheWriteHour: of("cache_write_hour", p.CacheWriteHour),
		},
		MaxOutput: p.MaxOutput, MaxInput: p.MaxInput,
		ToolCalls: r.toolPrices("price."+pattern+".tool_calls", p.ToolCalls), ToolRequests: r.toolPrices("price."+pattern+".tool_requests", p.ToolRequests),
	}
}

// toolPrices parses the prices of calls of the provider-side tools.
func (r *modelReader) toolPrices(arg string, texts map[string]string) map[dialect.Tool]gateway.Dollars {
	var prices map[dialect.Tool]gateway.Dollars
	var names []string
	for _, t := range dialect.Tools() {
		names = append(names, string(t))
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !slices.Contains(names, name) {
			r.fail(arg, "there is no tool %q that is charged by the call.%s They are %s", name, diag.DidYouMean(name, names), strings.Join(names, ", "))
			continue
		}
		if d := r.money(arg, texts[name]); d != nil {
			if prices == nil {
				prices = map[dialect.Tool]gateway.Dollars{}
			}
			prices[dialect.Tool(name)] = *d
		}
	}
	return prices
}

func (r *modelReader) retry() {
	r.out.Retry.Attempts = r.m.Retry.Attempts
	if r.m.Retry.Longest == "" {
		return
	}
	d, err := time.ParseDuration(r.m.Retry.Longest)
	if err != nil || d <= 0 {
		r.fail("retry.longest", "longest = %q is not a duration, such as \"60s\"", r.m.Retry.Longest)
	}
	r.out.Retry.Longest = d
}
