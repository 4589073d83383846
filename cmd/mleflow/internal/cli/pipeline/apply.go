package pipeline

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/runs"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/lockfile"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

type applyOptions struct {
	in            app.InputFlags
	sel           app.SelectFlags
	parallelism   int
	keepGoing     bool
	requireCached bool
	locked        bool
	failOn        string
	full          bool
	// rehearsal means that only the report of the rehearsal is the command's result.
	rehearsal bool
	on        app.ClusterFlags
	about     runs.AboutFlags
	otel      otelFlags
}

// NewApply returns the command apply.
func NewApply(a *app.App) *cobra.Command {
	var o applyOptions
	cmd := &cobra.Command{
		Use:   "apply [FILE.hcl]",
		Short: "Run what changed and print the outputs",
		Args:  app.OneFile,
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			if o.parallelism < 0 {
				return app.Usagef("--parallelism: %d is negative; 0 runs as many steps as the resources allow", o.parallelism)
			}
			if o.failOn != "" && o.failOn != failOnAgent {
				return app.Usagef("--fail-on: %q is not known; it takes %q", o.failOn, failOnAgent)
			}
			policy, err := o.on.CheckInterrupt()
			if err != nil {
				return err
			}
			if a.Fork != "" && !cmd.Flags().Changed("attempt") {
				return app.Usagef("--fork needs --attempt, which says what begins there")
			}
			a.Interrupts.Follow(policy)
			return a.WithProgram(cmd.Context(), args, o.in, &o.on, func(b *app.Backend, p *engine.Program) error {
				return runApply(cmd.Context(), a, o, b, p)
			})
		}),
	}
	o.in.Register(cmd)
	o.sel.Register(cmd)
	o.about.Register(cmd.Flags(), "call the run `NAME`", "tag the run with `KEY=VALUE`; repeatable")
	cmd.Flags().StringVar(&o.about.Note, "note", "", "write the note `TEXT` on the run")
	o.otel.register(cmd.Flags())
	o.on.Register(cmd)
	o.on.RegisterInterrupt(cmd)
	a.Network.Register(cmd)
	cmd.Flags().IntVar(&o.parallelism, "parallelism", 0, "run at most `N` steps at a time (0: as resources allow), besides grades, checks and aggregates")
	cmd.Flags().StringVar(&a.Fork, "fork", "", "with --attempt, begin from a checkpoint of another attempt, `KEY@TIME`; mleflow attempts fork finds it")
	cmd.Flags().BoolVar(&o.keepGoing, "keep-going", false, "continue with all that depends on no failed step")
	cmd.Flags().BoolVar(&o.requireCached, "require-cached", false, "refuse to run anything")
	cmd.Flags().BoolVar(&o.locked, "locked", false, "exit with status 3 if anything differs from the lock file")
	cmd.Flags().BoolVar(&o.full, "full", false, "print all tables of leaderboards")
	cmd.Flags().StringVar(&o.failOn, "fail-on", "", "exit with status 1 also if `WHAT` failed; agent: an attempt did not finish, or a submission has no finite score")
	return cmd
}

// failOnAgent is the value of --fail-on that takes what agents failed at for a
// failure of the run.
const failOnAgent = "agent"

func runApply(ctx context.Context, a *app.App, o applyOptions, b *app.Backend, p *engine.Program) error {
	res, display, err := execute(ctx, a, o, b, p)
	if err != nil {
		return err
	}
	if err := display.Conclude(ctx, b.Cache, o.full); err != nil {
		return err
	}
	if err := outcome(res); err != nil {
		return err
	}
	if o.failOn == failOnAgent && display.State.Outcomes.AgentFailed() {
		return fmt.Errorf("%w: agents failed", app.ErrSilent)
	}
	return nil
}

// execute runs a pipeline and shows its progress. What it returns is nil if nothing was
// started.
func execute(ctx context.Context, a *app.App, o applyOptions, b *app.Backend, p *engine.Program) (*engine.Result, *app.Display, error) {
	about, err := o.about.About()
	if err != nil {
		return nil, nil, err
	}
	planOptions, err := selected(a, &o.sel, b, p)
	if err != nil {
		return nil, nil, err
	}
	var lock *lockfile.File
	if o.locked {
		var found diag.List
		if lock, found = lockfile.Read(lockPath(p.Pipeline.Path)); found.HasErrors() {
			return nil, nil, app.Checked(found, nil)
		}
	}
	binary := sync.OnceValue(func() string { return app.BinaryDigest(b.Options.Digests) })
	go binary() // while the pipeline is read
	b.Options.History.Describe(func() map[string]string { return app.Environment(binary()) })
	grades, stopGrades := a.Grades(ctx, b.Cache), func() {}
	display := app.NewDisplayOn(a, a.Stderr, a.JSON && !o.rehearsal, grades)
	if b.Remote != nil && display.Live != nil {
		stopGrades = app.FetchGrades(ctx, b.Remote, grades)
	}
	sink, endSpans, err := o.otel.start(ctx, a, b, display)
	if err != nil {
		return nil, nil, err
	}
	planned := sync.OnceFunc(app.FewCollections()) // a run of which nothing has to run ends before
	sink = event.Multi(sink, event.SinkFunc(func(e event.Event) {
		if _, starts := e.(event.StepStarted); starts {
			planned()
		}
	}))
	res, diags := b.Engine.Apply(ctx, p, engine.ApplyOptions{
		PlanOptions: planOptions, Parallelism: o.parallelism, KeepGoing: o.keepGoing,
		RequireCached: o.requireCached, Lock: lock, Sink: sink, About: about, Args: redactedArgs(os.Args), Fetching: app.Fetching(a.Terminal, b),
	})
	stopGrades()
	display.Close()
	endSpans()
	return res, display, a.Settle(diags, p)
}

// selected returns the options of the flags that choose steps, and starts the
// pipeline's evaluation.
func selected(a *app.App, sel *app.SelectFlags, b *app.Backend, p *engine.Program) (engine.PlanOptions, error) {
	opts, err := sel.Options(p)
	if err != nil {
		return opts, err
	}
	var diags diag.List
	opts.Rounds, diags = app.Evaluate(b.Options.Cache, p)
	return opts, a.Settle(diags, p)
}

// redactedArgs is a command line that may be kept: addresses lose what may be
// a credential.
func redactedArgs(args []string) []string {
	kept := make([]string, len(args))
	for i, arg := range args {
		kept[i] = source.RedactText(arg)
	}
	return kept
}

// outcome maps how a run ended to an error whose text was shown already.
func outcome(res *engine.Result) error {
	switch {
	case res.Status == event.Cancelled:
		return fmt.Errorf("%w: %w", app.ErrSilent, context.Canceled)
	case res.Mismatch():
		return fmt.Errorf("%w: %w", app.ErrSilent, step.ErrMismatch)
	case res.Status == event.Failed:
		return fmt.Errorf("%w: steps failed", app.ErrSilent)
	}
	for _, f := range res.Failures {
		return fmt.Errorf("%s: %w", f.Address, f.Err)
	}
	return nil
}
