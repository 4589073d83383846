package runs

import (
	"bytes"
	"context"
	"maps"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/engine/history"
)

// NewDiff returns the command diff.
func NewDiff(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "diff RUN RUN",
		Short: "Show what differs between two runs",
		Args:  app.Takes(2, 2),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			var d *outputs.Difference
			err := a.WithCache(func(c *disk.Cache) (err error) {
				d, err = diffRuns(cmd.Context(), a.Store, c, args)
				return err
			})
			if err == nil {
				err = diffAgents(cmd.Context(), a, d)
			}
			switch {
			case err != nil:
				return err
			case a.JSON:
				return app.WriteJSON(a.Stdout, d)
			}
			return view.Difference(a.Stdout, d, a.OutStyle(), a.Verbose)
		}),
	}
}

func diffRuns(ctx context.Context, s *app.Store, c *disk.Cache, refs []string) (*outputs.Difference, error) {
	var sides [2]*outputs.Source
	var sources [2]map[string][]byte
	for i, ref := range refs {
		past, err := s.FindRun([]string{ref})
		if err != nil {
			return nil, err
		}
		var sum *history.Summary
		if sum, err = past.Summary(); err != nil {
			return nil, err
		}
		if sources[i], err = past.Sources(); err != nil {
			return nil, err
		}
		sides[i] = &outputs.Source{Store: c, Index: c, Run: sum}
	}
	return outputs.Diff(ctx, sides[0], sides[1], !maps.EqualFunc(sources[0], sources[1], bytes.Equal))
}
