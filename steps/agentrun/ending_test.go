package agentrun

import (
	"testing"
	"time"

	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/steps/modelblock"
)

// TestEnding: an attempt whose end the environment explains is excused, and one that
// went on, or that an agent spoilt, is not.
func TestEnding(t *testing.T) {
	at := time.Unix(1e9, 0)
	ok, failed, late := executor.Exit{Reason: executor.Exited}, executor.Exit{Reason: executor.Exited, Code: 3}, executor.Exit{Reason: executor.TimedOut}
	up := modelblock.Health{Answered: true}
	died := modelblock.Health{Answered: true, Down: "x", At: at.Add(-time.Minute)}
	diedEarly := modelblock.Health{Answered: true, Down: "x", At: at.Add(-time.Hour)}
	never := modelblock.Health{Down: "x", At: at.Add(-time.Hour)}
	some, none := map[string]results.ModelUse{"m": {Requests: 4, Exhausted: true}}, map[string]results.ModelUse{"m": {Exhausted: true}}
	for name, c := range map[string]struct {
		ending
		want outcome.End
	}{
		"finished":                       {ending{exit: ok, submitted: true, health: up}, outcome.Finished},
		"finished after a failure":       {ending{exit: ok, submitted: true, health: died}, outcome.Finished},
		"never answered":                 {ending{exit: failed, health: never}, outcome.ProviderFailed},
		"never answered, a fallback":     {ending{exit: ok, submitted: true, health: never}, outcome.ProviderFailed},
		"died, failed":                   {ending{exit: failed, submitted: true, health: died}, outcome.ProviderFailed},
		"died, no submission":            {ending{exit: ok, health: died}, outcome.ProviderFailed},
		"died, timed out":                {ending{exit: late, health: died}, outcome.ProviderFailed},
		"died, timed out, submitted":     {ending{exit: late, submitted: true, health: died}, outcome.TimedOut},
		"never, timed out, submitted":    {ending{exit: late, submitted: true, health: never}, outcome.ProviderFailed},
		"died an hour before it failed":  {ending{exit: failed, health: diedEarly}, outcome.AgentFailed},
		"failed by itself":               {ending{exit: failed, health: up}, outcome.AgentFailed},
		"out of memory":                  {ending{exit: executor.Exit{Reason: executor.OutOfMemory}, health: never}, outcome.OutOfMemory},
		"out of disk":                    {ending{exit: executor.Exit{Reason: executor.OutOfDisk}, health: never}, outcome.OutOfDisk},
		"data changed":                   {ending{exit: failed, changed: true, health: never}, outcome.DataChanged},
		"out of budget":                  {ending{exit: failed, use: some, health: up}, outcome.OutOfBudget},
		"budget too small":               {ending{exit: failed, use: none}, outcome.BudgetTooSmall},
		"budget too small, timed out":    {ending{exit: late, use: none}, outcome.BudgetTooSmall},
		"too small for one of two":       {ending{exit: ok, use: none, health: up}, outcome.BudgetTooSmall},
		"too small for one, but it went": {ending{exit: ok, submitted: true, use: none, health: up}, outcome.Finished},
	} {
		c.at = at
		got, why := c.outcome()
		if got != c.want || (why != "") != (c.want == outcome.ProviderFailed || c.want == outcome.BudgetTooSmall) {
			t.Errorf("%s: %s, %q; want %s", name, got, why, c.want)
		}
	}
}
