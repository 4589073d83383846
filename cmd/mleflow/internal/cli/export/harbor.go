package export

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dataset"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/harbor"
	"github.com/mleflow/mleflow/competitions/reward"
)

type harborOptions struct {
	data  app.DataFlags
	set   app.SetFlags
	tasks harbor.Writer
	task  string
}

func newExportHarbor(a *app.App) *cobra.Command {
	var o harborOptions
	cmd := a.Command("harbor [ID]... -o DIR", "Write prepared competitions as Harbor tasks", app.Takes(0, -1),
		func(cmd *cobra.Command, args []string) error {
			if o.tasks.Dir == "" {
				return app.Usagef("name the folder for the tasks with -o DIR")
			}
			if (len(args) > 0) == o.set.Given() {
				return app.Usagef("name competitions, or choose them by --split SET or --list FILE")
			}
			if cmd.Flags().Changed("seed") && o.tasks.Micro == 0 || o.tasks.Micro < 0 {
				return app.Usagef("--micro N takes how many test ids to draw, and --seed draws others; without --micro the task has all")
			}
			if o.task != string(competitions.TaskOwn) && o.task != string(competitions.TaskReference) {
				return app.Usagef("--task %s: it is own or reference", o.task)
			}
			return exportHarbor(cmd.Context(), a, o, args)
		}, &a.Network, &o.set)
	cmd.Flags().StringVar(&o.data.Dir, "data-dir", "", "`DIR` with the competitions' data (default: data below the cache folder)")
	cmd.Flags().StringVarP(&o.tasks.Dir, "output", "o", "", "write the tasks below `DIR`")
	cmd.Flags().StringVar(&o.tasks.Image, "image", "python:3.12.11-slim-bookworm", "build the agent's environment from `IMAGE`")
	cmd.Flags().StringVar(&o.tasks.Images, "images", "", "name a task's images `PREFIX`/<task>-agent and PREFIX/<task>-verifier, for harnesses that do not build them")
	cmd.Flags().StringVar(&o.tasks.Reward, "reward", "", reward.Usage)
	cmd.Flags().StringVar(&o.task, "task", string(competitions.TaskOwn), "`TEXT` of the instruction: own, or the reference's by pin, which needs --adopt, --mirror or the network")
	cmd.Flags().BoolVar(&o.data.Rehearsal, "rehearsal", false, "write tasks with the synthetic data of rehearsals, in DIR/rehearsal of --data-dir")
	cmd.Flags().IntVar(&o.tasks.Micro, "micro", 0, "draw the rows and files of `N` test ids, and as large a part of the training data")
	cmd.Flags().Uint64Var(&o.tasks.Seed, "seed", 0, "draw the small split by seed `N`")
	return cmd
}

func exportHarbor(ctx context.Context, a *app.App, o harborOptions, ids []string) (err error) {
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	if o.set.Given() {
		ids, err = o.set.Ids(catalog)
	}
	if err != nil {
		return app.Wrong(err)
	}
	layout, err := o.data.Layout(a)
	if err != nil {
		return err
	}
	work, stop := a.MeterWork("export")
	defer stop()
	o.tasks.Data, o.tasks.Grader, o.tasks.Work = layout.Dir, app.NewGrader(a.Programs(), ""), work
	defer func() { err = errors.Join(err, o.tasks.Discard()) }()
	if o.task == string(competitions.TaskReference) {
		texts := app.NewDescriber(a)
		defer func() { err = errors.Join(err, texts.Close()) }()
		o.tasks.Describe = texts.Text
	}
	var written []harbor.Task
	for _, id := range ids {
		def, err := catalog.Get(id)
		if err != nil {
			return app.Wrong(err)
		}
		if _, err := os.Stat(layout.Prepared(id)); o.data.Rehearsal && (err != nil || !competitions.IsRehearsal(layout.Competition(id))) {
			if _, err := a.PrepareShipped(ctx, dataset.Job{Def: def.Rehearsed(), Layout: layout}); err != nil {
				return err
			}
		}
		w, err := o.tasks.Stage(ctx, def)
		if mistake := (harbor.Mistake{}); errors.As(err, &mistake) {
			err = app.Wrong(err)
		}
		if err != nil {
			return err
		}
		written = append(written, w)
	}
	if err := o.tasks.Commit(); err != nil {
		return err
	}
	stop()
	return a.Show(map[string]any{"tasks": written}, func() {
		for _, w := range written {
			fmt.Fprintf(a.Stdout, "%s\n", w.Path)
			if !w.Solution {
				fmt.Fprintf(a.Stderr, "%s has no solution: no file of its data is a submission that earns the whole reward.\n", w.Competition)
			}
		}
	})
}
