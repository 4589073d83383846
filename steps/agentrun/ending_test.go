package agentrun

import (
	"testing"
	"time"

	"github.com/mleflow/mleflow/competitions/export"
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
	some, none := map[string]export.ModelUse{"m": {Requests: 4, Exhausted: true}}, map[string]export.ModelUse{"m": {Exhausted: true}}
	for name, c := range map[string]struct {
		ending
		want Outcome
	}{
		"finished":                       {ending{exit: ok, submitted: true, health: up}, Finished},
		"finished after a failure":       {ending{exit: ok, submitted: true, health: died}, Finished},
		"never answered":                 {ending{exit: failed, health: never}, ProviderFailed},
		"never answered, a fallback":     {ending{exit: ok, submitted: true, health: never}, ProviderFailed},
		"died, failed":                   {ending{exit: failed, submitted: true, health: died}, ProviderFailed},
		"died, no submission":            {ending{exit: ok, health: died}, ProviderFailed},
		"died, timed out":                {ending{exit: late, health: died}, ProviderFailed},
		"died, timed out, submitted":     {ending{exit: late, submitted: true, health: died}, TimedOut},
		"never, timed out, submitted":    {ending{exit: late, submitted: true, health: never}, ProviderFailed},
		"died an hour before it failed":  {ending{exit: failed, health: diedEarly}, AgentFailed},
		"failed by itself":               {ending{exit: failed, health: up}, AgentFailed},
		"out of memory":                  {ending{exit: executor.Exit{Reason: executor.OutOfMemory}, health: never}, OutOfMemory},
		"out of disk":                    {ending{exit: executor.Exit{Reason: executor.OutOfDisk}, health: never}, OutOfDisk},
		"data changed":                   {ending{exit: failed, changed: true, health: never}, DataChanged},
		"out of budget":                  {ending{exit: failed, use: some, health: up}, OutOfBudget},
		"budget too small":               {ending{exit: failed, use: none}, BudgetTooSmall},
		"budget too small, timed out":    {ending{exit: late, use: none}, BudgetTooSmall},
		"too small for one of two":       {ending{exit: ok, use: none, health: up}, BudgetTooSmall},
		"too small for one, but it went": {ending{exit: ok, submitted: true, use: none, health: up}, Finished},
	} {
		c.at = at
		got, why := c.outcome()
		if got != c.want || (why != "") != (c.want == ProviderFailed || c.want == BudgetTooSmall) {
			t.Errorf("%s: %s, %q; want %s", name, got, why, c.want)
		}
	}
}
