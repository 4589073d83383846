package agentrun

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/gateway"
	"github.com/mleflow/mleflow/steps/modelblock"
)

// Conditions implements step.Conditioned.
func (a *attempt) Conditions() []string {
	set := append(conditions.Of(a.runtime.Name, a.args.isolation(a.runtime)), conditions.Task+"="+string(a.args.Task))
	add := func(key string, values ...string) {
		if len(values) == 0 {
			values = []string{conditions.NoneOf}
		}
		for _, v := range values {
			set = append(set, key+"="+v)
		}
	}
	if a.args.Agent.Venv != "" {
		add(conditions.Environment, conditions.HostVenv)
	}
	limits := a.raw.Limits
	add(conditions.Time, a.timeText())
	add(conditions.CPUs, limitText(limits.CPUs > 0, strconv.FormatFloat(limits.CPUs, 'g', -1, 64)))
	add(conditions.Memory, limitText(limits.MemoryBytes > 0, sizeText(limits.MemoryBytes)))
	add(conditions.GPUs, strconv.Itoa(limits.GPUs))
	mode := a.network()
	add(conditions.Network, mode)
	if mode == "allow" {
		add(conditions.Host, a.args.Network.Allow...)
	}
	var budgets, prices []string
	for _, m := range a.args.Agent.Models {
		budgets = append(budgets, budgetText(m.Budget, m.RunBudget))
		prices = append(prices, modelblock.OwnPrices(m)...)
	}
	add(conditions.Budget, budgets...)
	if len(prices) > 0 { // the prices of the list are the rule
		add(conditions.Prices, prices...)
	}
	add(conditions.Feedback, "verdicts")
	if f := a.durable.fork; f != nil {
		add(conditions.Forked, f.Attempt.Short()+"@"+conditions.Limit(f.At))
	}
	add(conditions.Knowledge, a.knowledge()...)
	if len(a.args.Caps) > 0 {
		add(conditions.Capability, a.args.Caps...)
	}
	return step.UnionConditions(set)
}

// network is what the agent could reach: "none", "allow" or "open", which it is wherever
// the runtime keeps it from nothing.
func (a *attempt) network() string {
	if !a.runtime.Isolates {
		return "open"
	}
	return a.networkMode()
}

// knowledge lists what the agent has besides its files and the competition.
func (a *attempt) knowledge() (list []string) {
	agent := a.args.Agent
	if agent.Image != "" || agent.Built != nil {
		list = append(list, "image")
	}
	for _, f := range agent.Files {
		if f.Local == nil {
			list = append(list, "data")
		}
	}
	if a.args.Shim {
		list = append(list, "shim")
	}
	for _, m := range agent.Models {
		list = append(list, m.Tools...)
	}
	return list
}

func limitText(limited bool, text string) string {
	if limited {
		return text
	}
	return conditions.Unlimited
}

// timeText writes the time limit.
func (a *attempt) timeText() string {
	limit := a.raw.Limits.Timeout
	text := limitText(limit > 0, conditions.Limit(limit))
	if slices.ContainsFunc(a.args.Agent.Models, func(m step.Model) bool { return m.PauseClock }) {
		text += "+waits"
	}
	return text
}

// sizeText writes a size exactly, in the largest binary unit that allows it.
func sizeText(bytes int64) string {
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if size := int64(1) << (40 - 10*i); bytes%size == 0 {
			return strconv.FormatInt(bytes/size, 10) + unit
		}
	}
	return strconv.FormatInt(bytes, 10) + "B"
}

// budgetText writes the limits of a model, as in "10usd/1000requests"; those that all
// attempts share begin with "run:".
func budgetText(own, shared step.ModelBudget) string {
	var parts []string
	for _, b := range []struct {
		prefix string
		step.ModelBudget
	}{{"", own}, {"run:", shared}} {
		if b.Cost != "" {
			cost, _ := gateway.ParseDollars(b.Cost) // checked with the arguments
			parts = append(parts, b.prefix+cost.String()+"usd")
		}
		if b.Tokens > 0 {
			parts = append(parts, fmt.Sprintf("%s%dtokens", b.prefix, b.Tokens))
		}
		if b.Requests > 0 {
			parts = append(parts, fmt.Sprintf("%s%drequests", b.prefix, b.Requests))
		}
	}
	return cmp.Or(strings.Join(parts, "/"), conditions.Unlimited)
}
