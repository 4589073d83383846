package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/lockfile"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

type applyOptions struct {
	in            inputFlags
	sel           selectFlags
	parallelism   int
	keepGoing     bool
	requireCached bool
	locked        bool
	failOn        string
	full          bool
	on            clusterFlags
	about         aboutFlags
}

func newApply(a *app) *cobra.Command {
	var o applyOptions
	cmd := &cobra.Command{
		Use:   "apply [FILE.hcl]",
		Short: "Run what changed and print the outputs",
		Long:  "Plan the pipeline, run what is not cached, and print its outputs. Progress is\nlive on a terminal, else lines; with --json an event a line. Ctrl-C stops\ncleanly; the next apply continues. Agents in a sandbox or container can go on\nmeanwhile: SIGTERM and SIGHUP leave them running, Ctrl-C asks on a terminal and\nelse leaves them.\n\n--attempt repeats one cached attempt and its grade; nothing else runs than what it\nneeds.",
		Example: `  mleflow apply pipeline.hcl
  mleflow apply pipeline.hcl --attempt aide/demo-digits/1
  mleflow apply pipeline.hcl --retry failed`,
		Args: oneFile,
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			if o.parallelism < 0 {
				return usagef("flag -parallelism: %d is negative; 0 runs as many steps as the resources allow", o.parallelism)
			}
			if o.failOn != "" && o.failOn != failOnAgent {
				return usagef("flag -fail-on: %q is not known; it takes %q", o.failOn, failOnAgent)
			}
			policy, err := o.on.checkInterrupt()
			if err != nil {
				return err
			}
			a.interrupts.follow(policy)
			return a.withProgram(cmd.Context(), args, o.in, &o.on, func(b *backend, p *engine.Program) error {
				return runApply(cmd.Context(), a, o, b, p)
			})
		}),
	}
	o.in.register(cmd)
	o.sel.register(cmd)
	o.about.register(cmd.Flags(), "call the run `NAME`", "tag the run with `KEY=VALUE`; repeatable")
	cmd.Flags().StringVar(&o.about.note, "note", "", "write the note `TEXT` on the run")
	o.on.register(cmd)
	o.on.registerInterrupt(cmd)
	a.network.register(cmd)
	cmd.Flags().IntVar(&o.parallelism, "parallelism", 0, "run at most `N` steps at a time (0: as resources allow), besides grades, checks and aggregates")
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

func runApply(ctx context.Context, a *app, o applyOptions, b *backend, p *engine.Program) error {
	about, err := o.about.about()
	if err != nil {
		return err
	}
	planOptions, err := o.sel.options(p)
	if err != nil {
		return err
	}
	var lock *lockfile.File
	if o.locked {
		var found diag.List
		if lock, found = lockfile.Read(lockPath(p.Pipeline.Path)); found.HasErrors() {
			return checked(found, nil)
		}
	}
	binary := sync.OnceValue(binaryDigest)
	go binary() // while the pipeline is read
	b.options.Ledger.Describe(func() map[string]string { return environment(binary()) })
	grades, stopGrades := a.grades(ctx, b.cache), func() {}
	display := a.newDisplayOn(a.stderr, a.json, grades)
	if b.remote != nil && display.live != nil {
		stopGrades = fetchGrades(ctx, b.remote, grades)
	}
	res, diags := b.engine.Apply(ctx, p, engine.ApplyOptions{
		PlanOptions: planOptions, Parallelism: o.parallelism, KeepGoing: o.keepGoing,
		RequireCached: o.requireCached, Lock: lock, Sink: display, About: about, Args: redactedArgs(os.Args), Fetching: fetching(a.terminal, b),
	})
	stopGrades()
	display.close()
	if err := a.settle(diags, p); err != nil {
		return err
	}
	if err := display.conclude(ctx, o.full); err != nil {
		return err
	}
	if err := outcome(res); err != nil {
		return err
	}
	if o.failOn == failOnAgent && display.state.Outcomes.AgentFailed() {
		return fmt.Errorf("%w: agents failed", errSilent)
	}
	return nil
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
		return fmt.Errorf("%w: %w", errSilent, context.Canceled)
	case res.Mismatch():
		return fmt.Errorf("%w: %w", errSilent, step.ErrMismatch)
	case res.Status == event.Failed:
		return fmt.Errorf("%w: steps failed", errSilent)
	}
	for _, f := range res.Failures {
		return fmt.Errorf("%s: %w", f.Address, f.Err)
	}
	return nil
}

// display is the event view of one apply, chosen by where it is shown.
type display struct {
	app   *app
	state *view.State
	live  *view.Live
	lines *view.JSON
	plain *view.Plain
}

// newDisplayOn returns a view on w: live if it is a terminal, else lines; or,
// if lines is set, JSON on the standard output. It shows grades, if there are any.
func (a *app) newDisplayOn(w io.Writer, lines bool, grades *view.Grades) *display {
	d := &display{app: a, state: view.NewState()}
	shown := view.NewState()
	shown.Grades = grades
	terminal, isFile := w.(*os.File)
	switch {
	case lines:
		d.lines = view.NewJSON(a.stdout)
	case isFile && view.IsTerminal(terminal) && a.env("TERM") != "dumb":
		d.live = view.NewLive(shown, terminal, a.errStyle())
		a.setScreen(d.live)
	default:
		d.plain = view.NewPlainOf(shown, w, a.errStyle(), a.verbose)
	}
	return d
}

// Emit implements event.Sink. The engine calls it for one event at a time.
func (d *display) Emit(e event.Event) {
	d.state.Apply(e)
	switch {
	case d.lines != nil:
		d.lines.Emit(e)
	case d.live != nil:
		d.live.Emit(e)
	default:
		d.plain.Emit(e)
	}
}

// close ends the live view, if there is one.
func (d *display) close() {
	if d.live != nil {
		d.app.setScreen(nil)
		d.live.Close()
	}
}

// conclude prints the summary and the outputs: the result of the command.
func (d *display) conclude(ctx context.Context, full bool) error {
	if d.lines != nil {
		if err := d.lines.Err(); err != nil {
			return fmt.Errorf("write events: %w", errors.Join(err))
		}
		return nil
	}
	d.state.Outcomes.Explain(len(d.state.Outcomes.Problems), d.app.tail)
	view.Summary(d.app.stdout, d.state, d.app.outStyle())
	run := d.state.Start.Run
	if run == "" || d.state.Finish == nil {
		return nil
	}
	past, err := d.app.findRun([]string{run})
	if err != nil {
		return err
	}
	if len(d.state.Outputs) > 0 {
		sum, err := past.Summary()
		if err != nil {
			return err
		}
		if err := d.app.drawBoards(ctx, past, sum, full); err != nil {
			return err
		}
		d.state.Outputs = sum.Outputs
	}
	view.Outputs(d.app.stdout, run, d.state.Outputs, d.app.outStyle())
	if d.state.Finish.Ran == 0 {
		return nil
	}
	return d.app.next(past)
}
