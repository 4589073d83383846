package runs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/submitted"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/transfer/source"
	"github.com/mleflow/mleflow/steps/agentrun/checkpoint"
)

// PausedRun is the output of runs pause in JSON.
type PausedRun struct {
	Run   string        `json:"run"`
	State history.State `json:"state"`
}

func newRunsPause(a *app.App) *cobra.Command {
	return a.RunCommand("pause [RUN]", "Stop a run so that it can go on later", app.Takes(0, 1),
		func(cmd *cobra.Command, past *history.Past, _ []string) error {
			out, err := Pause(cmd.Context(), past)
			if err != nil {
				return err
			}
			return a.Show(out, func() {
				fmt.Fprintf(a.Stdout, "Run %s is paused; mleflow runs continue %s goes on.\n", out.Run, out.Run)
			})
		})
}

// Pause stops a run of this machine so that it can go on later.
func Pause(ctx context.Context, past *history.Past) (PausedRun, error) {
	past, err := app.OwnRun(past, "who started it can pause it")
	if err != nil {
		return PausedRun{}, err // its process number may be any of this user's
	}
	e := past.Entry()
	host, err := os.Hostname()
	switch {
	case err != nil:
		return PausedRun{}, err
	case e.State != history.Running:
		return PausedRun{}, app.Usagef("run %s is not running: %s", e.ID, e.State)
	case e.Host != host:
		return PausedRun{}, app.Usagef("run %s is on the machine %s; pause it there", e.ID, e.Host)
	}
	if err := syscall.Kill(e.PID, app.PauseSignal); err != nil {
		return PausedRun{}, fmt.Errorf("pause run %s: %w", e.ID, err)
	}
	for e.State == history.Running {
		if err := progress.Sleep(ctx, 100*time.Millisecond); err != nil {
			return PausedRun{}, err
		}
		e = past.Entry()
	}
	return PausedRun{e.ID, e.State}, nil
}

func newRunsContinue(a *app.App) *cobra.Command {
	var detach bool
	cmd := a.RunCommand("continue [RUN]", "Go on with a run that was paused or interrupted", app.Takes(0, 1),
		func(_ *cobra.Command, past *history.Past, _ []string) error {
			past, err := repeatable(past)
			if err != nil {
				return err
			}
			if past.Entry().State == history.Running {
				return app.Usagef("run %s is running", past.Info.ID)
			}
			again, err := commandOf(past.Info)
			if err != nil {
				return err
			}
			for _, flag := range []string{"--detach", "--json"} {
				if detach && (flag == "--detach" || a.JSON) && !slices.Contains(again.Args, flag) {
					again.Args = append(again.Args, flag)
				}
			}
			return repeat(a, again)
		})
	cmd.Flags().BoolVar(&detach, "detach", false, "run in the background and print the run's id when it has begun")
	return cmd
}

// repeatable returns a run whose command may be run again.
func repeatable(past *history.Past) (*history.Past, error) {
	if submitted.Holds(filepath.Dir(filepath.Dir(past.Dir())), past.Info.Pipeline) {
		return nil, app.Usagef("run %s is of a pipeline that somebody submitted, which would have your rights here: the server continues it, or its owner submits it again", past.Info.ID)
	}
	return app.OwnRun(past, fmt.Sprintf("read its pipeline %s, and if you trust that, start it yourself: %s", past.Info.Pipeline, strings.Join(past.Info.Argv, " ")))
}

// repeat runs the command of a repeatable run again.
func repeat(a *app.App, again *exec.Cmd) error {
	again.Stdin, again.Stdout, again.Stderr = a.Stdin, a.Stdout, a.Stderr
	err := again.Run()
	if again.ProcessState != nil && err != nil {
		return fmt.Errorf("%w: the run ended with status %d", app.ErrSilent, again.ProcessState.ExitCode())
	}
	return err
}

// commandOf returns the command that started a run, in the folder in which it ran.
func commandOf(e history.Info) (*exec.Cmd, error) {
	switch {
	case len(e.Argv) < 2 || e.Pipeline == "":
		return nil, app.Usagef("run %s does not say how it was started", e.ID)
	case slices.ContainsFunc(e.Argv, source.IsRedacted):
		return nil, app.Usagef("run %s had secrets on its command line, which are not kept; run its command again in its folder: %s", e.ID, strings.Join(e.Argv, " "))
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the running program: %w", err)
	}
	cmd := exec.Command(self, e.Argv[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Dir = filepath.Dir(e.Pipeline)
	for _, arg := range e.Argv[1:] {
		if dir, ok := strings.CutSuffix(e.Pipeline, string(filepath.Separator)+filepath.Clean(arg)); ok && !filepath.IsAbs(arg) {
			cmd.Dir = dir
		}
	}
	return cmd, nil
}

// NewAttempts returns the command attempts.
func NewAttempts(a *app.App) *cobra.Command {
	return app.Group(a, "attempts", "List, steer and fork attempts", newAttemptsList(a),
		newSteer(a, step.Stop, "End attempts now, and grade what they submitted"),
		newSteer(a, step.Cancel, "End attempts and keep nothing; the next apply begins them again"),
		newSteer(a, step.Requeue, "End attempts and put them back, to go on from their checkpoints"), newExtend(a), newFork(a))
}

// forkOptions are the flags of attempts fork.
type forkOptions struct {
	in          app.InputFlags
	at, timeout time.Duration
}

func newFork(a *app.App) *cobra.Command {
	var o forkOptions
	cmd := a.KeyCommand("fork RUN KEY", "Start an attempt from a checkpoint of another one", app.Needs(app.Takes(2, 2), "at"),
		func(cmd *cobra.Command, past *history.Past, args []string) error {
			past, err := repeatable(past)
			if err != nil {
				return err
			}
			address, err := app.AddressIn(past, args[1])
			if err != nil {
				return err
			}
			fork, err := o.choose(cmd.Context(), a, past, address)
			if err != nil {
				return err
			}
			more, err := o.args(address, fork)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.Stderr, "The attempt begins from the checkpoint after %v.\n", fork.At)
			again, err := commandOf(past.Info)
			if err != nil {
				return err
			}
			again.Args = append(slices.DeleteFunc(again.Args, forking), more...) // that run may be of a fork, too
			return repeat(a, again)
		}, &o.in)
	cmd.Flags().DurationVar(&o.at, "at", 0, "begin from the checkpoint nearest to `TIME` of the attempt")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "limit the attempt to `TIME` from its first beginning, by -var timeout")
	return cmd
}

// ForkOf returns KEY@TIME of apply --fork with the key of a step. Where KEY names an attempt it
// is of the latest run of the pipeline that is no fork, and TIME is near its checkpoint's.
func ForkOf(ctx context.Context, a *app.App, pipeline, text string) (string, error) {
	if _, err := checkpoint.ParseFork(text); err == nil {
		return text, nil
	}
	cut := max(0, strings.LastIndexByte(text, '@'))
	at, err := time.ParseDuration(strings.TrimPrefix(text[cut:], "@"))
	if err != nil || at < 0 || cut == 0 {
		return "", app.Usagef("--fork: %.200q is not KEY@TIME, such as AGENT/COMPETITION/SEED@6h", text)
	}
	l, err := a.OpenHistory()
	path, wrong := filepath.Abs(pipeline)
	if err := cmp.Or(err, wrong); err != nil {
		return "", err
	}
	entries, err := l.List()
	if err != nil {
		return "", err
	}
	isFork := func(arg string) bool {
		return strings.HasPrefix(arg, "-") && strings.HasPrefix(strings.TrimLeft(arg, "-"), "fork")
	}
	for _, e := range entries {
		if e.Pipeline != path || e.OfOthers() || slices.ContainsFunc(e.Argv, isFork) {
			continue
		}
		past, err := l.Open(e.ID)
		if err != nil {
			return "", err
		}
		address, err := app.AddressIn(past, text[:cut])
		if err != nil {
			return "", err
		}
		fork, err := forkOptions{at: at}.choose(ctx, a, past, address)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(a.Stderr, "The attempt begins from the checkpoint after %v of run %s.\n", fork.At, past.Info.ID)
		return fork.String(), nil
	}
	return "", app.Usagef("--fork: this cache has no run of %s in which to look for %.200q; begin from an attempt of any run with mleflow attempts fork", pipeline, text[:cut])
}

// choose finds the checkpoint from which an attempt of a run is forked.
func (o forkOptions) choose(ctx context.Context, a *app.App, past *history.Past, address string) (fork *checkpoint.Fork, err error) {
	if !slices.Contains(past.Info.Argv, "apply") {
		return nil, app.Usagef("run %s was not started by apply", past.Info.ID)
	}
	key, err := keyOf(past, address)
	if err != nil {
		return nil, err
	}
	err = a.WithResults(past, func(c app.ResultCache) error {
		fork, err = checkpoint.Place{Cache: c, Attempt: key, Address: address, Run: past.Info.ID}.Choose(ctx, o.at)
		return err
	})
	return fork, err
}

// keyOf returns the key of an attempt in a run.
func keyOf(past *history.Past, address string) (key digest.ActionID, err error) {
	sum, err := past.Summary()
	if err != nil {
		return key, err
	}
	s := sum.Step(address)
	if s == nil || s.Kind != conditions.AttemptKind {
		return key, app.Usagef("run %s has no attempt %s; mleflow show lists its steps", past.Info.ID, address)
	}
	text := s.Action
	if p, err := past.Plan(); err == nil && text == "" {
		for _, planned := range p.Steps {
			if planned.Name == address {
				text = planned.ActionID
			}
		}
	}
	if key, err = digest.ParseActionID(text); err != nil {
		return key, app.Usagef("the key of %s is not known before run %s ends", address, past.Info.ID)
	}
	return key, nil
}

// forking reports whether args made an argument.
func forking(arg string) bool {
	return strings.HasPrefix(arg, "--attempt=") || strings.HasPrefix(arg, "--fork=")
}

// args are the arguments that make a run's command that of a fork.
func (o forkOptions) args(address string, fork *checkpoint.Fork) ([]string, error) {
	more := []string{"--attempt=" + address, "--fork=" + fork.String()}
	for _, in := range o.in.Assignments {
		if in.File == "" {
			more = append(more, "--var="+in.Text)
			continue
		}
		path, err := filepath.Abs(in.File) // the command runs in the run's folder
		if err != nil {
			return nil, err
		}
		more = append(more, "--var-file="+path)
	}
	if o.timeout > 0 {
		more = append(more, "--var=timeout="+o.timeout.String())
	}
	return more, nil
}
