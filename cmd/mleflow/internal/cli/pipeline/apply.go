package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/leaderboard"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/runs"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/telemetry"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/rehearse"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/lockfile"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/planfile"
)

type applyOptions struct {
	in                                     app.InputFlags
	sel                                    app.SelectFlags
	parallelism                            int
	failOn                                 string
	keepGoing, requireCached, locked, full bool
	detach                                 bool
	// rehearsal means that only the report of the rehearsal is the command's result.
	rehearsal bool
	// saved is the saved plan that is applied, or nil.
	saved  *planfile.File
	on     app.ClusterFlags
	about  runs.AboutFlags
	otel   otelFlags
	notify notifyFlags
	at     serverFlags
}

// NewApply returns the command apply.
func NewApply(a *app.App) *cobra.Command {
	var o applyOptions
	cmd := a.Command("apply [FILE]", "Run what changed, or a saved plan, and print the outputs", app.OneFile,
		func(cmd *cobra.Command, args []string) error {
			if o.parallelism < 0 {
				return app.Usagef("--parallelism: %d is negative; 0 runs as many steps as the resources allow", o.parallelism)
			}
			if o.failOn != "" && o.failOn != failOnAgent {
				return app.Usagef("--fail-on: %q is not known; it takes %q", o.failOn, failOnAgent)
			}
			if err := o.on.FollowInterrupt(&a.Interrupts); err != nil {
				return err
			}
			if a.Fork != "" && !cmd.Flags().Changed("attempt") {
				return app.Usagef("--fork needs --attempt, which says what begins there")
			}
			if len(args) == 1 {
				saved, err := planfile.Read(args[0])
				if err != nil {
					return app.Wrong(err)
				}
				if saved != nil {
					if args[0], err = o.usePlan(cmd, a, saved); err != nil {
						return err
					}
				}
			}
			if o.at.given() {
				return o.at.apply(cmd, a, o, args)
			}
			if o.detach && a.Log == "" {
				return detach(cmd.Context(), a)
			}
			if err := o.findFork(cmd.Context(), a, args); err != nil {
				return err
			}
			return a.WithProgram(cmd.Context(), args, o.in, &o.on, func(b *app.Backend, p *engine.Program) error {
				return runApply(cmd.Context(), a, o, b, p)
			})
		}, &o.in, &o.sel, &o.otel, &o.notify, &o.on, &a.Network, &o.at)
	o.about.Register(cmd.Flags(), "call the run `NAME`", "tag the run with `KEY=VALUE`; repeatable")
	cmd.Flags().StringVar(&o.about.Note, "note", "", "write the note `TEXT` on the run")
	o.on.RegisterInterrupt(cmd)
	cmd.Flags().IntVar(&o.parallelism, "parallelism", 0, "run at most `N` steps at a time (0: as resources allow), besides grades, checks and aggregates")
	cmd.Flags().StringVar(&a.Fork, "fork", "", "with --attempt, begin from a checkpoint of another attempt, `KEY@TIME`; mleflow attempts fork finds it")
	cmd.Flags().BoolVar(&o.keepGoing, "keep-going", false, "continue with all that depends on no failed step")
	cmd.Flags().BoolVar(&o.requireCached, "require-cached", false, "refuse to run anything")
	cmd.Flags().BoolVar(&o.locked, "locked", false, "exit with status 3 if anything differs from the lock file")
	cmd.Flags().BoolVar(&o.detach, "detach", false, "run in the background and print the run's id when it has begun, which mleflow wait follows; with --server print the submission's id, which --follow follows")
	cmd.Flags().BoolVar(&o.full, "full", false, "print all tables of leaderboards")
	cmd.Flags().StringVar(&o.failOn, "fail-on", "", "exit with status 1 also if `WHAT` failed; agent: an attempt did not finish, or a submission has no finite score")
	return cmd
}

// findFork replaces the KEY of --fork, also on the command line that the run keeps.
func (o *applyOptions) findFork(ctx context.Context, a *app.App, args []string) error {
	if a.Fork == "" {
		return nil
	}
	path, err := app.PipelineFile(args)
	if err != nil {
		return err
	}
	given := a.Fork
	a.Fork, err = runs.ForkOf(ctx, a, path, given)
	a.Args = lists.Of(a.Args, func(arg string) string {
		return view.Either(strings.HasSuffix(arg, given), strings.TrimSuffix(arg, given)+a.Fork, arg)
	})
	return err
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
	if err := b.Cache.Intact(); err != nil { // or it would make again what is not found
		return nil, nil, err
	}
	about, err := o.about.About()
	if err != nil {
		return nil, nil, err
	}
	planOptions, err := selected(a, &o.sel, b, p)
	if err != nil {
		return nil, nil, err
	}
	asPlanned, err := o.pin(a, p, &planOptions)
	if err != nil {
		return nil, nil, err
	}
	var lock *lockfile.File
	if o.locked {
		var found diag.List
		path := lockPath(p.Pipeline.Path)
		if lock, found = lockfile.Read(path); found.HasErrors() {
			return nil, nil, app.CheckedFile(found, path)
		}
	}
	binary := sync.OnceValue(func() string { return app.BinaryDigest(b.Options.Digests) })
	go binary() // while the pipeline is read
	b.Options.History.Describe(func() map[string]string { return app.Environment(binary()) })
	grades, stopGrades := a.Grades(ctx, b.Cache, results.Declared{Benchmarks: p.Benchmarks()}), func() {}
	display := app.NewDisplayOn(a, a.Stderr, a.JSON && !o.rehearsal, grades)
	if b.Remote != nil && display.Live != nil {
		stopGrades = app.FetchGrades(ctx, b.Remote, grades)
	}
	begun := detached(a)
	sink, endSpans, err := o.otel.start(ctx, a, b, display)
	if err != nil {
		return nil, nil, err
	}
	sink, endMessages, err := o.notify.start(a, p, sink)
	if err != nil {
		return nil, nil, err
	}
	planned := sync.OnceFunc(app.FewCollections()) // a run of which nothing has to run ends before
	sink = event.Multi(sink, event.SinkFunc(func(e event.Event) {
		switch e := e.(type) {
		case event.StepStarted:
			planned()
		case event.RunStarted:
			begun(e.Run)
			if a.Submitted != nil {
				if err := a.Submitted.Began(e.Run); err != nil {
					a.Warn(err.Error())
				}
			}
		}
	}))
	if o.rehearsal && planOptions.Repeats == engine.AskRepeats {
		planOptions.Repeats = engine.RunRepeats // its data are tiny, and nothing counts
	}
	opts := engine.ApplyOptions{
		PlanOptions: planOptions, Parallelism: o.parallelism, KeepGoing: o.keepGoing,
		RequireCached: o.requireCached, AskRepeats: asking(ctx, a), Planned: asPlanned, Lock: lock, Sink: sink, About: about, Args: lists.Of(a.Args, o.notify.hide), Fetching: app.Fetching(a.Terminal, b),
	}
	if o.saved != nil {
		opts.Saved = o.saved.Digest
	}
	res, diags := b.Engine.Apply(ctx, p, opts)
	stopGrades()
	display.Close()
	endSpans()
	endMessages()
	return res, display, a.Settle(diags, p)
}

// asking returns what asks, on a terminal, whether to repeat results; nil elsewhere.
func asking(ctx context.Context, a *app.App) func(*plan.Repeats) engine.Repeats {
	if !a.CanAsk() {
		return nil
	}
	return func(r *plan.Repeats) engine.Repeats {
		switch answer := a.Ask(ctx, fmt.Sprintf("This %s. Repeat them, use the results, or stop? [repeat/use/stop]", r)); {
		case strings.HasPrefix(answer, "r"):
			return engine.RunRepeats
		case strings.HasPrefix(answer, "u"):
			return engine.KeepRepeats
		}
		return engine.AskRepeats
	}
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

// outcome maps how a run ended to an error whose text was shown already.
func outcome(res *engine.Result) error {
	if err := app.Ended(res.Status, res.Mismatch()); err != nil {
		return err
	}
	for _, f := range res.Failures {
		return fmt.Errorf("%s: %w", f.Address, f.Err)
	}
	return nil
}

// otelWait is how long a run that is over waits for a collector.
const otelWait = 5 * time.Second

// otelFlags say where a run sends its spans while it goes on.
type otelFlags struct {
	collector string
	content   bool
}

// Register adds the flags.
func (o *otelFlags) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.collector, "otel", "", "send spans to the OpenTelemetry collector at `URL`, or env: as OTEL_EXPORTER_OTLP_ENDPOINT says")
	cmd.Flags().BoolVar(&o.content, "otel-content", false, "send prompts and replies, too")
}

// start returns a sink that also sends spans, and what ends it. A collector that
// is slow or down costs the run nothing but a warning and five seconds at its end.
func (o otelFlags) start(ctx context.Context, a *app.App, b *app.Backend, sink event.Sink) (event.Sink, func(), error) {
	if o.collector == "" {
		if o.content {
			return nil, nil, app.Usagef("--otel-content goes with --otel URL")
		}
		return sink, func() {}, nil
	}
	collector, err := telemetry.Address(o.collector, a.Env)
	if err != nil {
		return nil, nil, app.Usagef("--otel: %w", err)
	}
	to, err := telemetry.Open(ctx, telemetry.Options{Collector: collector, Env: a.Env, Content: o.content, Lossy: true, Version: app.ThisVersion().Version})
	if err != nil {
		return nil, nil, app.Usagef("--otel: %w", err)
	}
	live := telemetry.NewLive(to, a.FindRun, b.Options.Cache)
	return event.Multi(sink, live), func() {
		if err := live.Close(otelWait); err != nil {
			a.Warn("OpenTelemetry collector " + collector + ": " + view.OneLine(err.Error()) + "; mleflow export otel " + live.Run + " --endpoint " + collector + " sends the run's spans again")
		}
	}, nil
}

// NewDemo returns the command demo.
func NewDemo(a *app.App) *cobra.Command {
	var o applyOptions
	var out string
	var open bool
	cmd := a.Command("demo", "Run the demonstration and write its page, demo.html", app.Takes(0, 0),
		func(cmd *cobra.Command, _ []string) error {
			if err := mayWrite(out); err != nil {
				return err
			}
			err := a.WithProgram(cmd.Context(), []string{"demo.hcl"}, o.in, nil, func(b *app.Backend, p *engine.Program) error {
				return runApply(cmd.Context(), a, o, b, p)
			})
			if err != nil {
				return err
			}
			if err := runs.WriteReport(cmd.Context(), a, nil, out); err != nil || !open {
				return err
			}
			return openPage(a, out)
		}, &o.in)
	cmd.Flags().StringVarP(&out, "output", "o", "demo.html", "write the page to `FILE`")
	cmd.Flags().BoolVar(&open, "open", false, "open the page in a browser")
	return cmd
}

// mayWrite refuses a file whose folder cannot be written, before anything runs.
func mayWrite(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".mleflow-*")
	if err != nil {
		if wrong := (*fs.PathError)(nil); errors.As(err, &wrong) {
			err = wrong.Err
		}
		return app.Usagef("the page cannot be written to %s: %w; go to a folder of yours, or name a file with -o", path, err)
	}
	_ = f.Close()
	return os.Remove(f.Name())
}

// openPage shows a page in the browser of the desktop, or says where it is.
func openPage(a *app.App, path string) error {
	whole, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	} else if a.Env("DISPLAY") == "" && a.Env("WAYLAND_DISPLAY") == "" {
		opener = ""
	}
	if opener == "" || exec.Command(opener, whole).Start() != nil {
		fmt.Fprintf(a.Stderr, "There is no browser to open it here; the page is %s\n", whole)
	}
	return nil
}

type rehearseOptions struct {
	apply   applyOptions
	timeout time.Duration
}

// NewRehearse returns the command rehearse.
func NewRehearse(a *app.App) *cobra.Command {
	var o rehearseOptions
	cmd := a.Command("rehearse [FILE.hcl]", "Try a pipeline on tiny synthetic data and say what the real run would meet", app.OneFile,
		func(cmd *cobra.Command, args []string) error {
			if err := o.apply.on.FollowInterrupt(&a.Interrupts); err != nil {
				return err
			}
			return a.WithProgram(cmd.Context(), args, o.apply.in, &o.apply.on, func(b *app.Backend, p *engine.Program) error {
				return runRehearsal(cmd.Context(), a, o, b, p)
			})
		}, &o.apply.in, &o.apply.sel, &o.apply.notify, &o.apply.on, &a.Network)
	o.apply.keepGoing, o.apply.rehearsal = true, true
	o.apply.on.RegisterInterrupt(cmd)
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "limit each attempt of the rehearsal to `TIME`, by -var timeout; the report counts with the pipeline's own limit")
	return cmd
}

// runRehearsal plans the real run, applies the rehearsal and reports both.
func runRehearsal(ctx context.Context, a *app.App, o rehearseOptions, b *app.Backend, real *engine.Program) error {
	in, errInputs := o.inputs(real.Pipeline)
	planOptions, err := o.apply.sel.Options(real)
	if err := cmp.Or(errInputs, err); err != nil {
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
	err = a.Show(report, func() { report.Write(a.Stdout, a.OutStyle()) })
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
