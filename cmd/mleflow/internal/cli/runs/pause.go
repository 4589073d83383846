package runs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// PausedRun is the output of runs pause in JSON.
type PausedRun struct {
	Run   string        `json:"run"`
	State history.State `json:"state"`
}

func newRunsPause(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "pause [RUN]",
		Short: "Stop a run so that it can go on later",
		Args:  app.Takes(0, 1),
		RunE: a.OnRun(func(cmd *cobra.Command, past *history.Past, _ []string) error {
			past, err := app.OwnRun(past, "who started it can pause it")
			if err != nil {
				return err // its process number may be any of this user's
			}
			e := past.Entry()
			host, err := os.Hostname()
			switch {
			case err != nil:
				return err
			case e.State != history.Running:
				return app.Usagef("run %s is not running: %s", e.ID, e.State)
			case e.Host != host:
				return app.Usagef("run %s is on the machine %s; pause it there", e.ID, e.Host)
			}
			if err := syscall.Kill(e.PID, app.PauseSignal); err != nil {
				return fmt.Errorf("pause run %s: %w", e.ID, err)
			}
			for e.State == history.Running {
				if err := progress.Sleep(cmd.Context(), 100*time.Millisecond); err != nil {
					return err
				}
				e = past.Entry()
			}
			if a.JSON {
				return app.WriteJSON(a.Stdout, PausedRun{e.ID, e.State})
			}
			fmt.Fprintf(a.Stdout, "Run %s is paused; mleflow runs continue %s goes on.\n", e.ID, e.ID)
			return nil
		}),
	}
}

func newRunsContinue(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "continue [RUN]",
		Short: "Go on with a run that was paused or interrupted",
		Args:  app.Takes(0, 1),
		RunE: a.OnRun(func(_ *cobra.Command, past *history.Past, _ []string) error {
			past, err := repeatable(past)
			if err != nil {
				return err
			}
			if past.Entry().State == history.Running {
				return app.Usagef("run %s is running", past.Info.ID)
			}
			return repeat(a, past)
		}),
	}
}

// repeatable returns a run whose command may be run again.
func repeatable(past *history.Past) (*history.Past, error) {
	return app.OwnRun(past, fmt.Sprintf("read its pipeline %s, and if you trust that, start it yourself: %s", past.Info.Pipeline, strings.Join(past.Info.Argv, " ")))
}

// repeat runs the command of a repeatable run again, with more arguments.
func repeat(a *app.App, past *history.Past, more ...string) error {
	again, err := commandOf(past.Info)
	if err != nil {
		return err
	}
	if len(more) > 0 {
		again.Args = append(slices.DeleteFunc(again.Args, forking), more...) // that run may be of a fork, too
	}
	again.Stdin, again.Stdout, again.Stderr = a.Stdin, a.Stdout, a.Stderr
	err = again.Run()
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
