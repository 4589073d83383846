package runs

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/results"
)

// diffAgents compares each agent of two runs with itself, in the order of the first.
func diffAgents(ctx context.Context, a *app.App, d *outputs.Difference) error {
	var of [2]map[string][]*results.Attempt
	var names []string
	for i, run := range []string{d.From, d.To} {
		list, err := leaderboard.RecordsOf(ctx, a, run)
		if err != nil {
			return err
		}
		of[i] = map[string][]*results.Attempt{}
		for _, r := range list {
			if of[i][r.Agent] = append(of[i][r.Agent], r); i == 0 && !slices.Contains(names, r.Agent) {
				names = append(names, r.Agent)
			}
		}
	}
	for _, name := range names {
		if of[1][name] == nil {
			continue
		}
		c, err := results.Compare(results.Side{Name: name + " of " + d.From, Attempts: of[0][name]}, results.Side{Name: name + " of " + d.To, Attempts: of[1][name]}, "")
		one := outputs.AgentChange{Agent: name, Class: c.Class, FromAside: c.FirstAside.String(), ToAside: c.SecondAside.String()}
		switch {
		case errors.Is(err, board.ErrNothingShared):
			one.Sentence = strings.TrimPrefix(err.Error(), board.ErrNothingShared.Error()+": ") + "."
		case err != nil:
			return err
		default:
			one.Sentence = c.Sentence()
		}
		d.Agents = append(d.Agents, one)
	}
	return nil
}
