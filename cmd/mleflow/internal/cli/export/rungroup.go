package export

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
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

// exported is an attempt on its way into a run group.
type exported struct {
	bundle.Attempt
	conditions []string
	outputs    cache.Outputs
	folder     string
}

// WrittenGroup is one run group in export run-group --json.
type WrittenGroup struct {
	RunGroup string `json:"run_group"`
	Path     string `json:"path"`
	Runs     int    `json:"runs"`
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
	work, stop := l.MeterWork("export")
	defer stop()
	var files, bytes int64
	for _, at := range attempts {
		if o.experiment != "" && at.Agent != attempts[0].Agent {
			return app.Usagef("--experiment-id: the run has attempts of %s and %s, which would count as the seeds of one agent; export one by --agent", attempts[0].Agent, at.Agent)
		}
		f, b := rungroup.Content(at.outputs)
		files, bytes = files+f, bytes+b
	}
	work.Begin("", files, bytes)
	if err := os.MkdirAll(o.output, 0o777); err != nil {
		return fmt.Errorf("write run group: %w", err)
	}
	var written []WrittenGroup
	for _, same := range lists.Grouped(attempts, func(at exported) string { return at.Agent }) {
		name := rungroup.GroupName(o.output, sum.Started, same[0].Agent, sum.ID)
		g := WrittenGroup{name, filepath.Join(o.output, name), len(same)}
		if _, err := os.Lstat(g.Path); err == nil {
			return app.Usagef("%s already exists; move it away, or write elsewhere", g.Path)
		}
		group := rungroup.Export{Dir: g.Path, Metadata: rungroup.Metadata{
			RunGroup: name, CreatedAt: rungroup.Stamp(sum.Last), Mleflow: &rungroup.Writer{Version: sum.Version, Run: sum.ID},
		}}
		for _, at := range same {
			group.Metadata.Runs, group.Outputs = append(group.Metadata.Runs, at.record()), append(group.Outputs, at.outputs)
		}
		if err := group.Write(ctx, c, work); err != nil {
			return err
		}
		if o.experiment != "" {
			if err := rungroup.AddToExperiment(o.output, o.experiment, name); err != nil {
				return err
			}
		}
		written = append(written, g)
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
func attemptsToExport(ctx context.Context, l *app.Library, o exportRunGroupOptions, c app.ResultCache, sum *history.Summary) ([]exported, error) {
	catalog, err := l.Catalog()
	if err != nil {
		return nil, err
	}
	var attempts []exported
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
		at := exported{Attempt: bundle.AttemptOf(s.Address, rec), conditions: s.Conditions, outputs: rec.Outputs}
		switch {
		case o.agent != "" && at.Agent != o.agent:
			continue
		case at.CompetitionVersion != "v1":
			l.Note("Left out:", "%s: MLE-bench has no version %s of %s", s.Address, at.CompetitionVersion, at.Competition)
			continue
		}
		at.folder = rungroup.RunName(at.Competition, s.Address+" "+s.Action)
		complexity := catalog.Complexity(at.Competition)
		foreign = foreign || complexity == "" || complexity == competitions.Demo
		attempts = append(attempts, at)
	}
	if len(attempts) == 0 {
		return nil, app.Usagef("run %s has no attempt of an agent to write%s", sum.ID, view.After(", of agent ", o.agent))
	}
	if foreign {
		l.Note("Note:", "some competitions are not MLE-bench's; mlebench grade stops at them")
	}
	slices.SortStableFunc(attempts, func(x, y exported) int {
		return cmp.Or(results.CompareSeeds(x.Seed, y.Seed), cmp.Compare(x.Competition, y.Competition))
	})
	return attempts, nil
}

func (at exported) record() rungroup.Record {
	fine, seconds := true, at.Result.WallSeconds
	return rungroup.Record{
		ID: at.folder, Success: &fine, Address: at.Address, Seed: at.Seed, Outcome: at.Result.Outcome,
		WallSeconds: &seconds, Conditions: at.conditions,
	}
}
