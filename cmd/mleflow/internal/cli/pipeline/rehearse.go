package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/rehearse"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
)

type rehearseOptions struct {
	apply   applyOptions
	timeout time.Duration
}

// NewRehearse returns the command rehearse.
func NewRehearse(a *app.App) *cobra.Command {
	var o rehearseOptions
	cmd := &cobra.Command{
		Use:   "rehearse [FILE.hcl]",
		Short: "Try a pipeline on tiny synthetic data and say what the real run would meet",
		Args:  app.OneFile,
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			policy, err := o.apply.on.CheckInterrupt()
			if err != nil {
				return err
			}
			a.Interrupts.Follow(policy)
			return a.WithProgram(cmd.Context(), args, o.apply.in, &o.apply.on, func(b *app.Backend, p *engine.Program) error {
				return runRehearsal(cmd.Context(), a, o, b, p)
			})
		}),
	}
	o.apply.keepGoing, o.apply.rehearsal = true, true
	o.apply.in.Register(cmd)
	o.apply.sel.Register(cmd)
	o.apply.on.Register(cmd)
	o.apply.on.RegisterInterrupt(cmd)
	a.Network.Register(cmd)
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "limit each attempt of the rehearsal to `TIME`, by -var timeout; the report counts with the pipeline's own limit")
	return cmd
}

// runRehearsal plans the real run, applies the rehearsal and reports both.
func runRehearsal(ctx context.Context, a *app.App, o rehearseOptions, b *app.Backend, real *engine.Program) error {
	in, err := o.inputs(real.Pipeline)
	if err != nil {
		return err
	}
	planOptions, err := o.apply.sel.Options(real)
	if err != nil {
		return err
	}
	planned, diags := b.Engine.Plan(ctx, real, planOptions)
	if err := a.Settle(diags, real); err != nil {
		return err
	}
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	p, err := a.Load(b.Engine, real.Pipeline.Path, in)
	if err != nil {
		return err
	}
	res, display, err := execute(ctx, a, o.apply, b, p)
	if err != nil {
		return err
	}
	if res.RunID == "" || ctx.Err() != nil {
		return display.Conclude(ctx, b.Cache, false)
	}
	past, err := a.FindRun([]string{res.RunID})
	if err != nil {
		return err
	}
	run, err := leaderboard.TidyRun(past, b.Cache, catalog)
	if err != nil {
		return err
	}
	report, err := rehearse.New(ctx, rehearse.Request{Run: run, Attempts: rehearse.Attempts(p), Real: rehearse.NewReal(rehearse.Attempts(real), planned, catalog)})
	if err != nil {
		return err
	}
	if a.JSON {
		err = app.WriteJSON(a.Stdout, report)
	} else {
		err = report.Write(a.Stdout, a.OutStyle())
	}
	if err == nil && report.Ready < report.Attempts {
		err = fmt.Errorf("%w: not ready", app.ErrSilent)
	}
	return err
}

// inputs returns the values of variables for the rehearsal.
func (o rehearseOptions) inputs(p *config.Pipeline) (in app.InputFlags, err error) {
	if p.Variables["data"] == nil {
		return in, app.Usagef("%s has no variable data, by which a rehearsal takes its data. Add variable \"data\" { default = \"real\" }, and data = var.data to its download step", p.Path)
	}
	if p.Variables["seeds"] != nil {
		in.Assignments = append(in.Assignments, config.Assignment{Text: "seeds=1", Recorded: true}) // which the command line may replace
	}
	in.Assignments = append(in.Assignments, o.apply.in.Assignments...)
	if o.timeout > 0 {
		if p.Variables["timeout"] == nil {
			return in, app.Usagef("--timeout: %s has no variable timeout for the attempts", p.Path)
		}
		in.Assignments = append(in.Assignments, config.Assignment{Text: "timeout=" + o.timeout.String(), Recorded: true})
	}
	in.Assignments = append(in.Assignments, config.Assignment{Text: "data=rehearsal", Recorded: true})
	return in, nil
}
