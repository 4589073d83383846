package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
)

// WaitedJSON is the output of wait in JSON.
type WaitedJSON struct {
	Run   string        `json:"run"`
	State history.State `json:"state"`
	// Finish is the last event of a run that was not killed.
	Finish *event.RunFinished `json:"finish,omitempty"`
	// Log has what the run's process printed, if it ran in the background.
	Log string `json:"log,omitempty"`
	// Continue is the command that goes on with a run that did not end by itself.
	Continue string `json:"continue,omitempty"`
}

// NewWait returns the command wait.
func NewWait(a *app.App) *cobra.Command {
	var timeout time.Duration
	cmd := a.Command("wait RUN", "Wait until a run ends, and exit as it does", app.Takes(1, 1), func(cmd *cobra.Command, args []string) error {
		switch {
		case timeout < 0:
			return app.Usagef("--timeout: %v is negative", timeout)
		case args[0] == "":
			return app.Usagef("name the run; an apply --detach that failed printed none")
		}
		past, err := a.FindRun(args)
		if err != nil {
			return err
		}
		return wait(cmd.Context(), a, past, timeout)
	})
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "wait at most `TIME`, such as 1h (0: until the run ends)")
	return cmd
}

// wait shows the events of a run until it ends, and returns its end as the error of its apply.
func wait(ctx context.Context, a *app.App, past *history.Past, timeout time.Duration) error {
	a.Interrupts.Outlived()
	shown := a.Stderr
	if a.JSON {
		shown = io.Discard // the result is the only output
	}
	display := app.NewDisplayOn(a, shown, false, nil)
	err := follow(ctx, past, timeout, display.Emit)
	display.Close()
	if err != nil {
		if ctx.Err() != nil {
			fmt.Fprintf(a.Stderr, "To follow it again: mleflow wait %s\n", past.Info.ID)
		}
		if a.JSON && errors.Is(err, app.ErrRunning) {
			err = errors.Join(app.WriteJSON(a.Stdout, WaitedJSON{Run: past.Info.ID, State: history.Running, Log: past.DetachedLog()}), err)
		}
		return err
	}
	e := past.Entry()
	out := WaitedJSON{Run: e.ID, State: e.State, Finish: e.Finish, Log: past.DetachedLog()}
	if slices.Contains([]history.State{history.Interrupted, history.Paused, history.Cancelled}, e.State) {
		out.Continue = "mleflow runs continue " + e.ID
	}
	if a.JSON {
		err = app.WriteJSON(a.Stdout, out)
	} else {
		err = showEnd(ctx, a, display, out)
	}
	switch {
	case err != nil:
		return err
	case e.Finish == nil:
		return app.Ended(event.Cancelled, false)
	}
	if err := app.Ended(e.Finish.Status, e.Finish.Mismatch); err != nil {
		return err
	}
	return app.Failing(nil, app.FailsOnAgent(e.Argv) && display.State.Outcomes.AgentFailed())
}

// follow passes on the events of a run until it has ended.
func follow(ctx context.Context, past *history.Past, timeout time.Duration, show func(event.Event)) error {
	watch, begun := past.Watch(), time.Now()
	for {
		running := past.Running() // before the journal, which is then complete
		events, err := watch.Next()
		if err != nil {
			return err
		}
		for _, e := range events {
			show(e)
		}
		switch {
		case !running:
			return nil
		case timeout > 0 && time.Since(begun) >= timeout:
			return fmt.Errorf("run %s is %w after %v; mleflow wait %s follows it further", past.Info.ID, app.ErrRunning, timeout, past.Info.ID)
		}
		if err := progress.Sleep(ctx, followEvery); err != nil {
			return err
		}
	}
}

// showEnd says how a run ended.
func showEnd(ctx context.Context, a *app.App, display *app.Display, end WaitedJSON) error {
	if end.Finish != nil {
		if err := a.WithCache(func(c *disk.Cache) error { return display.Conclude(ctx, c, false) }); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.Stdout, "Run %s is %s.\n", end.Run, end.State)
	if end.Continue != "" {
		fmt.Fprintf(a.Stdout, "To go on with it: %s\n", end.Continue)
	}
	if end.Log != "" && end.State != history.Finished {
		fmt.Fprintf(a.Stdout, "Its output is in %s\n", view.OneLine(end.Log))
	}
	return nil
}
