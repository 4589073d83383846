package agentrun

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/sandbox/gateway/dialect"
	"github.com/mleflow/mleflow/plugins/sandbox/gateway/model"
)

// The values of on_miss.
const (
	missFails = "fail"
	missLive  = "live"
)

// checkModel is the Kind.CheckModel of agent-run.
func checkModel(m step.Model) error {
	_, err := modelOf(m)
	return err
}

// fingerprintPrices adds the prices of the models that are named, and the whole
// table where a pattern may stand for any.
func (a *attempt) fingerprintPrices(h *digest.Hasher) error {
	for i, m := range a.args.Agent.Models {
		one, err := modelOf(m)
		if err != nil {
			return err
		}
		for _, name := range m.Models {
			label := fmt.Sprintf("agent.models[%d].price of %s", i, name)
			price, known := model.PriceOf(&one, name)
			if strings.Contains(name, "*") || !known {
				h.String(label, "table "+model.TableDigest())
				continue
			}
			text, err := json.Marshal(price)
			if err != nil {
				return err
			}
			h.String(label, string(text))
		}
	}
	return nil
}

// checkModels checks the model blocks of the agent, and that nothing else sets
// the variables that lead to the gateway.
func (a *attempt) checkModels() error {
	var blocks []model.Block
	seen := map[string]string{}
	for _, m := range a.args.Agent.Models {
		if err := checkModel(m); err != nil {
			return fmt.Errorf("model %q: %w", m.Name, err)
		}
		name := modelName(m.Name, "URL")
		if seen[name] != "" {
			return fmt.Errorf("the models %q and %q have the same variable %s; rename one", seen[name], m.Name, name)
		}
		seen[name] = m.Name
		blocks = append(blocks, model.Block{Model: model.Model{Name: m.Name}, Dialect: dialect.Named(m.Provider)})
	}
	if blocks == nil {
		return nil
	}
	own := modelEnv("", blocks)
	for _, env := range []map[string]string{a.args.Agent.Env, a.args.Agent.Secrets, a.args.Env} {
		for _, name := range slices.Sorted(maps.Keys(env)) {
			if _, taken := own[name]; taken {
				return fmt.Errorf("%s leads to the model gateway and is set by mleflow itself; remove it from env and secrets", name)
			}
		}
	}
	return nil
}

// modelOf makes of a model block what the gateway serves. The error joins one
// WrongArg a mistake.
func modelOf(m step.Model) (model.Model, error) {
	r := modelReader{m: m, out: model.Model{
		Name: m.Name, Provider: m.Provider, BaseURL: m.BaseURL, Models: m.Models, Grants: dialect.Grants{}, Prices: map[string]model.Price{},
	}}
	r.provider()
	r.key()
	r.endpoint()
	r.models()
	r.tools()
	r.out.Budget = r.limits("budget", m.Budget)
	r.limits("run_budget", m.RunBudget)
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
	out   model.Model
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

// live reports whether the provider may be asked.
func live(m step.Model) bool { return len(m.Replay) == 0 || m.OnMiss == missLive }

func (r *modelReader) key() {
	switch m := r.m; {
	case m.OnMiss != "" && m.OnMiss != missFails && m.OnMiss != missLive:
		r.fail("on_miss", "on_miss = %q is not %q or %q", m.OnMiss, missFails, missLive)
	case m.OnMiss != "" && len(m.Replay) == 0:
		r.fail("on_miss", "on_miss is for a model with replay; remove it, or add replay")
	case live(m) && m.Key.Ref == "" && m.BaseURL == "":
		r.fail("key", "the model %q has no key; write key = \"env:NAME\", or replay a recording", m.Name)
	case !live(m) && m.Key.Ref != "":
		r.fail("key", "the model %q replays a recording, which needs no key; remove key, or write on_miss = %q", m.Name, missLive)
	}
}

func (r *modelReader) endpoint() {
	if r.m.BaseURL == "" {
		return
	}
	if err := model.CheckBaseURL(r.m.BaseURL); err != nil {
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

// money reads an amount; nil for none, or a wrong one.
func (r *modelReader) money(arg, text string) *model.Dollars {
	if text == "" {
		return nil
	}
	d, err := model.ParseDollars(text)
	if err == nil && !strings.HasSuffix(text, "USD") {
		err = fmt.Errorf("%q has no unit; write \"%s USD\"", text, text)
	}
	if err != nil {
		r.fail(arg, "%s: %w", arg[strings.LastIndex(arg, ".")+1:], err)
		return nil
	}
	return &d
}

func (r *modelReader) limits(block string, b step.ModelBudget) model.Limits {
	l := model.Limits{Tokens: b.Tokens, Requests: b.Requests, PerMinute: b.PerMinute, Concurrent: b.Concurrent}
	if cost := r.money(block+".cost", b.Cost); cost != nil {
		if l.Cost = *cost; l.Cost == 0 {
			r.fail(block+".cost", "cost = %q allows nothing; leave it out for no limit", b.Cost)
		}
	}
	return l
}

func (r *modelReader) price(pattern string, p step.ModelPrice) model.Price {
	of := func(name, text string) *model.Dollars { return r.money("price."+pattern+"."+name, text) }
	free := model.Dollars(0)
	return model.Price{
		Rates: model.Rates{
			Input: *cmp.Or(of("input", p.Input), &free), Output: *cmp.Or(of("output", p.Output), &free), InputAudio: of("input_audio", p.InputAudio),
			CacheRead: of("cache_read", p.CacheRead), CacheWrite: of("cache_write", p.CacheWrite), CacheWriteHour: of("cache_write_hour", p.CacheWriteHour),
		},
		MaxOutput: p.MaxOutput, MaxInput: p.MaxInput,
	}
}

// priced sees that the models that are named have a price. Of those that a
// pattern allows, one without a price is refused when it is asked for.
func (r *modelReader) priced() {
	for _, name := range r.m.Models {
		if strings.Contains(name, "*") || len(r.wrong) > 0 {
			continue
		}
		if _, ok := model.PriceOf(&r.out, name); !ok {
			r.fail("models", "the price of the model %q is not known; add a block price %q { input = \"… USD\" output = \"… USD\" } with the prices per million tokens, \"0 USD\" if it costs nothing", name, name)
		}
	}
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

// Spending implements step.Spender.
func (a *attempt) Spending() (all []step.Spending) {
	for _, m := range a.args.Agent.Models {
		r := modelReader{m: m}
		own, run := r.limits("budget", m.Budget), r.limits("run_budget", m.RunBudget)
		all = append(all, step.Spending{
			Model: m.Name, Provider: m.Provider, Models: m.Models, Tools: m.Tools, Replayed: !live(m),
			Cost: int64(own.Cost), Tokens: own.Tokens, Requests: own.Requests, RunCost: int64(run.Cost),
		})
	}
	return all
}
