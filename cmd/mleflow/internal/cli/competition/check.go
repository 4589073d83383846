package competition

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dataset"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/kit"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

type testOptions struct {
	folder folderFlag
	data   app.DataFlags
}

func newCompetitionTest(a *app.App) *cobra.Command {
	var o testOptions
	cmd := &cobra.Command{
		Use:   "test [ID]...",
		Short: "Test competitions' graders with submissions whose outcome is known",
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			defs, err := definitions(a.Library, o.folder, args)
			if err != nil {
				return err
			}
			return testCompetitions(cmd.Context(), a, o, defs, len(args) > 0)
		}),
	}
	o.folder.register(cmd)
	o.data.Register(cmd)
	return cmd
}

// CheckJSON is one check in competition test --json.
type CheckJSON struct {
	Competition string `json:"competition"`
	kit.Check
}

func testCompetitions(ctx context.Context, a *app.App, o testOptions, defs []*competitions.Definition, named bool) error {
	layout, err := o.data.Layout(a)
	if err != nil {
		return err
	}
	checks := []CheckJSON{}
	for _, def := range defs {
		found, err := testOne(ctx, a, o, def, layout)
		if errors.Is(err, errNoData) && !named {
			continue
		}
		if err != nil {
			return fmt.Errorf("test %s: %w", def.ID, err)
		}
		for _, c := range found {
			checks = append(checks, CheckJSON{def.ID, c})
		}
	}
	return showChecked(a.Terminal, checks)
}

// errNoData says that a competition cannot be tested for want of data.
var errNoData = errors.New("nothing is prepared")

func testOne(ctx context.Context, a *app.App, o testOptions, def *competitions.Definition, layout dataset.Layout) (_ []kit.Check, err error) {
	values, err := o.data.Values(def)
	if err != nil {
		return nil, err
	}
	if def, err = def.In(layout.Dir); err != nil {
		return nil, err
	}
	prepared := layout.Prepared(def.ID)
	if _, missing := os.Stat(prepared); missing != nil {
		dir, mkErr := os.MkdirTemp("", "mleflow-test-*")
		if mkErr != nil {
			return nil, fmt.Errorf("make folder: %w", mkErr)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if !def.HasData() {
			return nil, fmt.Errorf("%w; see mleflow prepare -c %s", errNoData, def.ID)
		}
		if prepared, err = a.PrepareShipped(ctx, dataset.Job{Def: def, Layout: dataset.Layout{Dir: dir}, Params: values}); err != nil {
			return nil, err
		}
	}
	return kit.Test(ctx, def, kit.TestOptions{Prepared: prepared, Params: values, Metrics: metric.All(), Executor: a.Programs(), Packages: a.Packages})
}

func showChecked(t *app.Terminal, checks []CheckJSON) error {
	counts := map[kit.Verdict]int{}
	for _, c := range checks {
		counts[c.Verdict]++
	}
	err := t.Show(map[string]any{"checks": checks}, func() {
		style := t.OutStyle()
		paint := map[kit.Verdict]func(string) string{kit.Passed: style.Good, kit.Failed: style.Bad, kit.Odd: style.Warn, kit.Skipped: style.Dim}
		for _, c := range checks {
			fmt.Fprintf(t.Stdout, "%s %s: %s: %s\n", paint[c.Verdict](fmt.Sprintf("%-7s", c.Verdict)), c.Competition, c.Name, view.OneLine(c.Detail))
		}
		fmt.Fprintf(t.Stdout, "%d passed, %d failed, %d odd, %d skipped.\n", counts[kit.Passed], counts[kit.Failed], counts[kit.Odd], counts[kit.Skipped])
	})
	if err == nil && counts[kit.Failed] > 0 {
		err = app.ErrSilent
	}
	return err
}
