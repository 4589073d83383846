package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/rungroup"
	"github.com/mleflow/mleflow/engine/history"
)

type exportRunGroupOptions struct{ output, agent, experiment string }

func newExportRunGroup(a *app.App) *cobra.Command {
	var o exportRunGroupOptions
	cmd := a.RunCommand("run-group [RUN] -o DIR",
		"Write a run's attempts as run groups of MLE-bench", app.Needs(app.Takes(0, 1), "output"),
		func(cmd *cobra.Command, past *history.Past, _ []string) error {
			if err := a.UseRun(past); err != nil {
				return err
			}
			return a.WithResults(past, func(c app.ResultCache) error { return exportRunGroups(cmd.Context(), a.Library, o, c, past) })
		})
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "write the run groups below `DIR`")
	cmd.Flags().StringVar(&o.agent, "agent", "", "only the attempts of the agent `NAME`")
	cmd.Flags().StringVar(&o.experiment, "experiment-id", "", "add the run groups to DIR/run_group_experiments.csv as experiment `ID`")
	return cmd
}

func exportRunGroups(ctx context.Context, l *app.Library, o exportRunGroupOptions, c app.ResultCache, past *history.Past) error {
	sum, err := past.Summary()
	if err != nil {
		return err
	}
	attempts, err := attemptsToExport(ctx, l, o, c, sum)
	if err != nil {
		return err
	}
	for _, at := range attempts {
		if o.experiment != "" && at.Agent != attempts[0].Agent {
			return app.Usagef("--experiment-id: the run has attempts of %s and %s, which would count as the seeds of one agent; export one by --agent", attempts[0].Agent, at.Agent)
		}
	}
	work, stop := l.MeterWork("export")
	defer stop()
	from := rungroup.Origin{Started: sum.Started, Ended: sum.Last, By: &rungroup.Writer{Version: sum.Version, Run: sum.ID}}
	written, err := rungroup.WriteGroups(ctx, c, o.output, from, attempts, work)
	if errors.Is(err, fs.ErrExist) {
		return app.Wrong(err)
	}
	for _, g := range written {
		if err == nil && o.experiment != "" {
			err = rungroup.AddToExperiment(o.output, o.experiment, g.RunGroup)
		}
	}
	if err != nil {
		return err
	}
	stop()
	return l.Show(map[string]any{"run_groups": written}, func() {
		for _, g := range written {
			fmt.Fprintf(l.Stdout, "%s holds %s.\n", g.Path, view.Plural(g.Runs, "run"))
		}
	})
}

// attemptsToExport returns the attempts of a run, by seed and competition, which
// is the order that the reference starts them in.
func attemptsToExport(ctx context.Context, l *app.Library, o exportRunGroupOptions, c app.ResultCache, sum *history.Summary) ([]rungroup.Attempt, error) {
	catalog, err := l.Catalog()
	if err != nil {
		return nil, err
	}
	var attempts []rungroup.Attempt
	foreign := false
	for _, s := range sum.Steps {
		switch {
		case s.Kind != conditions.AttemptKind:
			continue
		case s.Action == "":
			l.Note("Left out:", "%s: it has no result through no fault of the agent, and counts as no submission", s.Address)
			continue
		}
		rec, err := outputs.Lookup(ctx, c, s.Action)
		if err != nil {
			return nil, fmt.Errorf("export %s: its result is not available: %w", s.Address, err)
		}
		at := bundle.AttemptOf(s.Address, rec)
		switch {
		case o.agent != "" && at.Agent != o.agent:
			continue
		case at.CompetitionVersion != "v1":
			l.Note("Left out:", "%s: MLE-bench has no version %s of %s", s.Address, at.CompetitionVersion, at.Competition)
			continue
		}
		complexity := catalog.Complexity(at.Competition)
		foreign = foreign || complexity == "" || complexity == competitions.Demo
		attempts = append(attempts, rungroup.Attempt{Agent: at.Agent, Competition: at.Competition, Outputs: rec.Outputs, Record: rungroup.Record{
			ID: rungroup.RunName(at.Competition, s.Address+" "+s.Action), Success: new(true), Address: at.Address, Seed: at.Seed,
			Outcome: at.Result.Outcome, WallSeconds: new(at.Result.WallSeconds), Conditions: s.Conditions,
		}})
	}
	if len(attempts) == 0 {
		return nil, app.Usagef("run %s has no attempt of an agent to write%s", sum.ID, view.After(", of agent ", o.agent))
	}
	if foreign {
		l.Note("Note:", "some competitions are not MLE-bench's; mlebench grade stops at them")
	}
	rungroup.Sort(attempts)
	return attempts, nil
}
