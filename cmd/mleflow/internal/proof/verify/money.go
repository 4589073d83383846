package verify

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/models/gateway"
	"github.com/mleflow/mleflow/plugins/models/transcript"
)

// Money is what the models of an attempt used, by the bundle's account, and what that
// costs by the verifier's own price list.
type Money struct {
	Tokens int64 `json:"tokens"`
	// Cost is by the prices that the attempt had. List is by the list of this version of
	// mleflow, of the models that it knows; nil if it knows none. Estimated is the part of
	// Cost that no reported usage settles.
	Cost      gateway.Dollars  `json:"cost_usd"`
	List      *gateway.Dollars `json:"list_cost_usd,omitempty"`
	Estimated gateway.Dollars  `json:"estimated_cost_usd,omitempty"`
	// Over reports whether List is beyond a budget of cost.
	Over bool `json:"beyond_budget_by_list,omitempty"`
	// OwnPrices are the prices of the pipeline that its budgets counted with.
	OwnPrices []string `json:"own_prices,omitempty"`
}

// ListUSD is List as a number.
func (m *Money) ListUSD() *float64 {
	if m.List == nil {
		return nil
	}
	usd := float64(*m.List) / float64(gateway.Dollar)
	return &usd
}

// String writes the use as part of a sentence.
func (m *Money) String() string {
	text := fmt.Sprintf("%d tokens, %s USD", m.Tokens, m.Cost)
	if m.List != nil && *m.List != m.Cost {
		text += fmt.Sprintf(" by own prices, %s USD by the list", *m.List)
	}
	if m.Estimated > 0 {
		text += fmt.Sprintf(", of which %s USD estimated", m.Estimated)
	}
	return text
}

// money adds to a row what its attempt's models used. A budget that list prices exceed is
// a finding.
func (a *verifier) money(ctx context.Context, agent int, row *Row) error {
	listed, err := a.listed(ctx, a.recorded(agent, "transcript"))
	if err != nil {
		return err
	}
	for _, d := range a.disclosed.Attempts {
		if d.Address != row.Attempt || len(d.Models) == 0 {
			continue
		}
		row.Money = &Money{OwnPrices: step.ConditionValues(a.Program.Conditions(agent), conditions.Prices)}
		for _, t := range d.Models {
			row.bill(t, listed[t.Name])
		}
	}
	return nil
}

// bill adds the use of a model block and its cost by the list.
func (r *Row) bill(t bundle.Terms, list *gateway.Dollars) {
	amount := func(text string) gateway.Dollars {
		d, _ := gateway.ParseDollars(text) // "" and what is no amount is 0
		return d
	}
	m, cost := r.Money, amount(t.Used.CostUSD)
	tokens := max(0, t.Used.InputTokens) + max(0, t.Used.OutputTokens)
	m.Tokens, m.Cost = m.Tokens+tokens, m.Cost.Plus(cost)
	if t.Used.EstimatedUSD != nil {
		m.Estimated = m.Estimated.Plus(amount(*t.Used.EstimatedUSD))
	}
	if list == nil {
		return
	}
	sum := *list
	if m.List != nil {
		sum = sum.Plus(*m.List)
	}
	m.List = &sum
	if limit := amount(t.Budget.Cost); limit > 0 && *list > limit {
		m.Over = true
		r.Flags = append(r.Flags, fmt.Sprintf("its model %s had a budget of %s, and its %d tokens cost %s USD by mleflow's price list, %s USD by the attempt's own prices",
			t.Name, t.Budget.Cost, tokens, *list, cost))
	}
}

// maxLine bounds a line of a transcript.
const maxLine = 16 << 20

// listed adds up what the exchanges of a transcript cost by the list, by model block. What
// cannot be read costs nothing.
func (a *verifier) listed(ctx context.Context, ref cache.Ref) (map[string]*gateway.Dollars, error) {
	by := map[string]*gateway.Dollars{}
	if ref.Kind != cache.Tree {
		return by, nil
	}
	e, err := tree.Find(ctx, a.store, ref, transcript.EventsFile)
	if err != nil || e.IsDir() {
		return by, ctx.Err() // the bundle left it out, or there were no exchanges
	}
	r, err := a.store.Open(ctx, e.ID)
	if err != nil {
		return by, ctx.Err()
	}
	defer r.Close()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var e transcript.Event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		if cost := gateway.ListCost(e); cost != nil {
			if by[e.Model] == nil {
				by[e.Model] = new(gateway.Dollars)
			}
			*by[e.Model] = by[e.Model].Plus(gateway.Dollars(*cost))
		}
	}
	return by, ctx.Err()
}
