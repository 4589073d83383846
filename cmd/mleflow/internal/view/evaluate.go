package view

import (
	"fmt"
	"math"

	"github.com/mleflow/mleflow/competitions/power"
	"github.com/mleflow/mleflow/engine/plan"
)

// Evaluation describes the state of an evaluation: its design, what is known so
// far, and the next round or the answer, with what weakens it.
func Evaluation(e plan.Evaluation) string {
	if len(e.Agents) != 2 {
		return "of no two agents"
	}
	first, second := OneLine(e.Agents[0]), OneLine(e.Agents[1])
	if e.Round == 0 {
		return fmt.Sprintf("%s against %s by %s, at most %s, first round %s", first, second, OneLine(e.Decide), Plural(e.Budget, "attempt"), Plural(e.Next/2, "pair"))
	}
	known := fmt.Sprintf("%s less %s by %s: %+.1f points (%g %% confidence if attempts are independent: %+.1f to %+.1f) after %s at %s; %s",
		first, second, OneLine(e.Decide), e.Estimate, percent(e.Covers), e.Low, e.High, Plural(e.Attempts, "attempt"), Plural(e.Competitions, "competition"), e.Declaration())
	if e.Next > 0 {
		return fmt.Sprintf("%s; round %d: %s", known, e.Round+1, Plural(e.Next/2, "pair"))
	}
	answer := "undecided, as the budget and the seeds allow no further round"
	switch power.Decision(e.Decision) {
	case power.FirstBetter:
		answer = first + " is better"
	case power.SecondBetter:
		answer = second + " is better"
	case power.NoDifference:
		answer = fmt.Sprintf("no difference of %g points (%g %% confidence)", e.Difference, percent(e.Confidence))
	}
	return answer + "; " + known
}

// percent is a share in percent, to a thousandth.
func percent(share float64) float64 { return math.Round(share*1e5) / 1e3 }

// unneededText counts the steps that an evaluation did not need, if any.
func unneededText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d not needed", n)
}
