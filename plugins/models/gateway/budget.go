package gateway

// left is a limit and the rest of it. A null limit means that there is none.
type left[N int64 | Dollars] struct {
	Limit     *N `json:"limit"`
	Spent     N  `json:"spent"`
	Remaining *N `json:"remaining"`
}

func leftOf[N int64 | Dollars](limit, spent, held N) left[N] {
	l := left[N]{Spent: spent}
	if limit > 0 {
		rest := max(0, limit-spent-held)
		l.Limit, l.Remaining = &limit, &rest
	}
	return l
}

// budget is the state of a budget as the agent sees it. Amounts held by
// requests in progress are not part of the rest.
type budget struct {
	Cost       left[Dollars] `json:"cost_usd"`
	Tokens     left[int64]   `json:"tokens"`
	Requests   left[int64]   `json:"requests"`
	PerMinute  int           `json:"per_minute,omitempty"`
	Concurrent int           `json:"concurrent,omitempty"`
}

func (p *Pool) budget() budget {
	spent, held := p.Spent()
	return budget{
		Cost:       leftOf(p.limits.Cost, spent.Cost, held.Cost),
		Tokens:     leftOf(p.limits.Tokens, spent.Tokens, held.Tokens),
		Requests:   leftOf(p.limits.Requests, spent.Requests, held.Requests),
		PerMinute:  p.limits.PerMinute,
		Concurrent: p.limits.Concurrent,
	}
}

// budgetOf is the reply to GET /NAME/budget. It shows only the rest of the
// run's budget, so that it reveals nothing about other attempts.
type budgetOf struct {
	Model string `json:"model"`
	budget
	RunRemaining *budgetLeft `json:"run_remaining,omitempty"`
	Exhausted    []string    `json:"exhausted,omitempty"`
}

type budgetLeft struct {
	Cost     *Dollars `json:"cost_usd"`
	Tokens   *int64   `json:"tokens"`
	Requests *int64   `json:"requests"`
}

func (b *block) budget() budgetOf {
	out := budgetOf{Model: b.Name, budget: b.pool.budget(), Exhausted: b.summary().Exhausted}
	if b.Run != nil {
		run := b.Run.budget()
		out.RunRemaining = &budgetLeft{run.Cost.Remaining, run.Tokens.Remaining, run.Requests.Remaining}
	}
	return out
}

func (g *Gateway) budgets() map[string][]budgetOf {
	all := []budgetOf{}
	for _, name := range g.names {
		all = append(all, g.blocks[name].budget())
	}
	return map[string][]budgetOf{"models": all}
}
