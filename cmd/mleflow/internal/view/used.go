package view

import (
	"fmt"

	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/models/gateway"
)

// Used is the attempts' use of models. Costs are in billionths of a US dollar.
type Used struct {
	Requests int64 `json:"requests"`
	Tokens   int64 `json:"tokens"`
	Cost     int64 `json:"cost_nanodollars"`
	// ListCost is what the same use costs by mleflow's price list, where pipelines have
	// other prices. EstimatedCost is the part of Cost that no reported usage settles.
	ListCost      int64 `json:"list_cost_nanodollars,omitempty"`
	EstimatedCost int64 `json:"estimated_cost_nanodollars,omitempty"`
	// EarlierCost is the part of Cost that belongs to attempts of earlier runs.
	EarlierCost int64 `json:"earlier_cost_nanodollars,omitempty"`
}

// use adds an attempt's use.
func (o *Outcomes) use(models map[string]results.ModelUse, cached bool) {
	if len(models) == 0 {
		return
	}
	if o.Models == nil {
		o.Models = &Used{}
	}
	for _, m := range models {
		cost, err := gateway.ParseDollars(m.CostUSD)
		if err != nil {
			continue // no step's own output has it
		}
		o.Models.Requests += m.Requests
		o.Models.Tokens += m.InputTokens + m.OutputTokens
		o.Models.Cost += int64(cost)
		o.Models.ListCost += nanodollars(m.ListUSD, cost)
		o.Models.EstimatedCost += nanodollars(m.EstimatedUSD, 0)
		if cached {
			o.Models.EarlierCost += int64(cost)
		}
	}
}

// nanodollars reads an amount that may be missing.
func nanodollars(text *string, otherwise gateway.Dollars) int64 {
	if text == nil {
		return int64(otherwise)
	}
	d, _ := gateway.ParseDollars(*text) // no step's own output has another
	return int64(d)
}

// String returns the use as part of a sentence.
func (u Used) String() string {
	text := fmt.Sprintf("%s, %s, %s", Plural(int(u.Requests), "request"), Plural(int(u.Tokens), "token"), Dollars(u.Cost))
	if u.ListCost != u.Cost {
		text += fmt.Sprintf(" by own prices, %s by mleflow's list", Dollars(u.ListCost))
	}
	if u.EstimatedCost > 0 {
		text += fmt.Sprintf(", %s of it estimated", Dollars(u.EstimatedCost))
	}
	switch {
	case u.EarlierCost > 0 && u.EarlierCost == u.Cost:
		text += " in earlier runs"
	case u.EarlierCost > 0:
		text += fmt.Sprintf(", %s of it in earlier runs", Dollars(u.EarlierCost))
	}
	return text
}
