package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/mleflow/mleflow/engine/plan"
)

// spending writes the models that steps would use, their limits, and the highest possible
// cost.
func spending(w io.Writer, p *plan.Plan, style Style) {
	var most int64
	all := p.Spending()
	unlimited, besides := "", ""
	for _, s := range all {
		fmt.Fprintf(w, "%s %s (%s: %s) for %s, %s.\n", style.Bold("Model:"), OneLine(s.Model), OneLine(s.Provider), OneLine(strings.Join(s.Models, ", ")), Plural(s.Steps, "step"), spendingLimits(s))
		if len(s.OwnPrices) > 0 && !s.Replayed {
			fmt.Fprintf(w, "%s the budget of the model %s counts with your own prices (%s), so its attempts are a class of their own, beside those at the prices of mleflow's list.\n",
				style.Warn("Prices:"), OneLine(s.Model), OneLine(strings.Join(s.OwnPrices, ", ")))
		}
		if len(s.Tools) > 0 && !s.Replayed {
			fmt.Fprintf(w, "%s the model %s may use %s of its provider.\n", style.Warn("Tools:"), OneLine(s.Model), OneLine(strings.Join(s.Tools, ", ")))
		}
		if len(s.Uncounted) > 0 && !s.Replayed {
			besides = ", besides tools"
			fmt.Fprintf(w, "%s what its provider charges for %s besides tokens is not counted.\n", style.Warn("Tools:"), OneLine(strings.Join(s.Uncounted, ", ")))
		}
		if s.OneRequest > 0 && !s.Replayed {
			fmt.Fprintf(w, "%s a request to the model %s may cost up to %s if it sets no limit of its output (max_output_tokens or the like), which is more than the budget: it would be refused.\n",
				style.Warn("Budget:"), OneLine(s.Model), Dollars(s.OneRequest))
		}
		cost, ok := s.Most()
		if !ok && unlimited == "" {
			unlimited = s.Model
		}
		most += cost
	}
	switch {
	case unlimited != "":
		fmt.Fprintf(w, "%s no limit, since the model %s has no budget of cost.\n", style.Warn("Cost:"), OneLine(unlimited))
	case len(all) > 0:
		fmt.Fprintf(w, "%s %s at most%s.\n", style.Bold("Cost:"), Dollars(most), besides)
	}
}

// spendingLimits returns the limits of a model as part of a sentence.
func spendingLimits(s plan.Spending) string {
	if s.Replayed {
		return "answered from recordings"
	}
	var parts []string
	add := func(n int64, text string) {
		if n > 0 {
			parts = append(parts, text)
		}
	}
	add(s.Cost, Dollars(s.Cost))
	add(s.Tokens, fmt.Sprintf("%d tokens", s.Tokens))
	add(s.Requests, Plural(int(s.Requests), "request"))
	text := "each without a limit"
	if len(parts) > 0 {
		text = "each at most " + strings.Join(parts, ", ")
	}
	if s.RunCost > 0 {
		text += "; " + Dollars(s.RunCost) + " for all"
	}
	return text
}
