package runs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/results"
)

// NewDiff returns the command diff.
func NewDiff(a *app.App) *cobra.Command {
	return a.Command("diff RUN RUN", "Show what differs between two runs", app.Takes(2, 2),
		func(cmd *cobra.Command, args []string) error {
			var d *outputs.Difference
			err := a.WithCache(func(c *disk.Cache) (err error) {
				d, err = diffRuns(cmd.Context(), a.Store, c, args)
				return err
			})
			if err == nil {
				err = diffAgents(cmd.Context(), a, d)
			}
			if err != nil {
				return err
			}
			return a.Show(d, func() { view.Difference(a.Stdout, d, a.OutStyle(), a.Verbose) })
		})
}

func diffRuns(ctx context.Context, s *app.Store, c *disk.Cache, refs []string) (*outputs.Difference, error) {
	var sides [2]*outputs.Source
	var sources [2]map[string][]byte
	for i, ref := range refs {
		past, err := s.FindRun([]string{ref})
		if err != nil {
			return nil, err
		}
		sum, errSum := past.Summary()
		if sources[i], err = past.Sources(); cmp.Or(errSum, err) != nil {
			return nil, cmp.Or(errSum, err)
		}
		sides[i] = &outputs.Source{Store: c, Index: c, Run: sum}
	}
	return outputs.Diff(ctx, sides[0], sides[1], !maps.EqualFunc(sources[0], sources[1], bytes.Equal))
}

// diffAgents compares each agent of two runs with itself, in the order of the first.
func diffAgents(ctx context.Context, a *app.App, d *outputs.Difference) error {
	from, err := leaderboard.RecordsOf(ctx, a, d.From)
	if err != nil {
		return err
	}
	to, err := leaderboard.RecordsOf(ctx, a, d.To)
	if err != nil {
		return err
	}
	agent := func(r *results.Attempt) string { return r.Agent }
	after := lists.By(to, agent)
	for _, before := range lists.Grouped(from, agent) {
		name := before[0].Agent
		if after[name] == nil {
			continue
		}
		c, err := results.Compare(results.Side{Name: name + " of " + d.From, Attempts: before}, results.Side{Name: name + " of " + d.To, Attempts: after[name]}, "")
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
