package modelblock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/dialect"
	"github.com/mleflow/mleflow/plugins/models/gateway"
)

// priced checks that the named models have prices, and, if the cost is limited,
// that the granted tools that are charged per call have prices too. A model
// that only matches a pattern and has no price is refused when it is requested.
func (r *modelReader) priced() {
	limited := r.m.Budget.Cost != "" || r.m.RunBudget.Cost != ""
	for _, name := range r.m.Models {
		if strings.Contains(name, "*") || len(r.wrong) > 0 {
			continue
		}
		price, ok := gateway.PriceOf(&r.out, name)
		if !ok {
			r.fail("models", "the price of the model %q is not known; add a block price %q { input = \"… USD\" output = \"… USD\" } with the prices per million tokens, \"0 USD\" if it costs nothing", name, name)
			continue
		}
		if tools := unpriced(price, r.m.Tools); limited && Live(r.m) && len(tools) > 0 {
			r.fail("tools", "what a call of %s by %q costs is not known, so the budget of cost cannot hold; add tool_calls = { %s = \"… USD\" } with the price of a thousand calls to a block price %q, \"0 USD\" if they cost nothing", tools[0], name, tools[0], name)
		}
	}
}

// unpriced returns the granted tools that are charged per call and have no
// price.
func unpriced(p gateway.Price, granted []string) (tools []string) {
	for _, t := range dialect.Tools() {
		if slices.Contains(granted, string(t)) && !p.HasTool(t) {
			tools = append(tools, string(t))
		}
	}
	return tools
}

// apart are the abilities with charges beyond the model's tokens that no
// response reports.
var apart = []dialect.Ability{dialect.Batch, dialect.FineTuning, dialect.Audio, dialect.OtherModels, dialect.Premium, dialect.UnknownFields}

// uncounted returns the granted abilities whose charges are not counted.
func uncounted(m step.Model, out *gateway.Model) (tools []string) {
	for _, name := range m.Models {
		if price, ok := gateway.PriceOf(out, name); ok {
			tools = append(tools, unpriced(price, m.Tools)...)
		}
	}
	for _, a := range apart {
		if out.Grants[a] {
			tools = append(tools, string(a))
		}
	}
	slices.Sort(tools)
	return slices.Compact(tools)
}

// tooDear returns the lowest worst-case cost, among the named models, of a
// request without an output limit, if it exceeds one of the budgets. Otherwise
// it returns 0.
func tooDear(m step.Model, out *gateway.Model, budgets ...gateway.Dollars) (least gateway.Dollars) {
	for _, name := range m.Models {
		price, known := gateway.PriceOf(out, name)
		if !known || strings.Contains(name, "*") {
			return 0
		}
		if one := price.Most(0, price.MaxOutput); one > 0 && (least == 0 || one < least) {
			least = one
		}
	}
	if !slices.ContainsFunc(budgets, func(b gateway.Dollars) bool { return b > 0 && b < least }) {
		return 0
	}
	return least
}

// Spending returns the maximum that a step may spend on a model.
func Spending(m step.Model) step.Spending {
	r := modelReader{m: m}
	own, run := r.limits("budget", m.Budget), r.limits("run_budget", m.RunBudget)
	s := step.Spending{
		Model: m.Name, Provider: m.Provider, Models: m.Models, Tools: m.Tools, Replayed: !Live(m),
		OwnPrices: OwnPrices(m), Cost: int64(own.Cost), Tokens: own.Tokens, Requests: own.Requests, RunCost: int64(run.Cost),
	}
	if out, err := Of(m); err == nil { // otherwise the check reports it
		s.OneRequest, s.Uncounted = int64(tooDear(m, &out, own.Cost, run.Cost)), uncounted(m, &out)
	}
	return s
}

// Fingerprint adds the prices of the named models to a key. If a pattern is
// among the names, it adds the digest of the whole table. Labels begin with
// prefix.
func Fingerprint(h *digest.Hasher, prefix string, m step.Model) error {
	one, err := Of(m)
	if err != nil {
		return err
	}
	for _, name := range m.Models {
		label := fmt.Sprintf("%s.price of %s", prefix, name)
		price, known := gateway.PriceOf(&one, name)
		if strings.Contains(name, "*") || !known {
			h.String(label, "table "+gateway.TableDigest())
			continue
		}
		h.String(label, applied(m, price))
	}
	return nil
}

// applied writes the part of a price that a block's requests can meet. A provider
// may serve at another tier than was asked for, but that is its own choice.
func applied(m step.Model, p gateway.Price) string {
	if len(m.Tools) == 0 { // no tool is called
		p.ToolCalls, p.ToolRequests = nil, nil
	}
	if !slices.Contains(m.Tools, string(dialect.Premium)) {
		p.Services = nil
	}
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // it has numbers and strings
	}
	return string(text)
}

// OwnPrices names the prices of a block that are not those of mleflow's list, as in
// "gpt-5.5@0/0usd" for input and output, if they decide what its budgets allow. A
// model that the list does not know is "unlisted", and those of a pattern are "any".
func OwnPrices(m step.Model) (list []string) {
	one, err := Of(m)
	if err != nil || m.Budget.Cost == "" && m.RunBudget.Cost == "" {
		return nil
	}
	names := slices.Clone(m.Models)
	if slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "*") }) {
		names = append(names, slices.Collect(maps.Keys(m.Prices))...)
	}
	for _, name := range names {
		own, ok := gateway.OwnPrice(&one, name)
		if !ok || !strings.Contains(name, "*") && !one.Allows(name) {
			continue
		}
		own.MaxInput, own.MaxOutput = 0, 0
		text, which := applied(m, own), "any"
		if !strings.Contains(name, "*") {
			listed, as := gateway.Listed(m.Provider, name)
			listed.MaxInput, listed.MaxOutput = 0, 0
			if as != "" && text == applied(m, listed) {
				continue
			}
			which = cmp.Or(as, "unlisted")
		}
		value := which + "@" + own.Input.String() + "/" + own.Output.String() + "usd"
		if plain := (gateway.Price{Rates: gateway.Rates{Input: own.Input, Output: own.Output}}); text != applied(m, plain) {
			value += "~" + digest.Of([]byte(text)).String()[:8] // further prices
		}
		list = append(list, value)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
