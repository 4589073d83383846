package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine/event"
)

// Display is the event view of one apply, chosen by where it is shown.
type Display struct {
	app   *App
	State *view.State
	Live  *view.Live
	lines *view.JSON
	plain *view.Plain
	// broken means that the view panicked. The run goes on without.
	broken bool
}

// NewDisplayOn returns a view on w: live if it is a terminal, else lines; or,
// if lines is set, JSON on the standard output. It shows grades, if there are any.
func NewDisplayOn(a *App, w io.Writer, lines bool, grades *view.Grades) *Display {
	d := &Display{app: a, State: view.NewState()}
	terminal, isFile := w.(*os.File)
	switch {
	case lines:
		d.lines = view.NewJSON(a.Stdout)
	case isFile && view.IsTerminal(terminal) && a.Env("TERM") != "dumb":
		shown := view.NewState()
		shown.Grades = grades
		d.Live = view.NewLive(shown, terminal, a.ErrStyle())
		a.setScreen(d.Live)
	default:
		if grades != nil {
			d.State.Grades = &view.Grades{Read: grades.Read}
		}
		d.plain = view.NewPlainOf(d.State, w, a.ErrStyle(), a.Verbose)
	}
	return d
}

// Emit implements event.Sink. The engine calls it for one event at a time.
func (d *Display) Emit(e event.Event) {
	if d.broken {
		return
	}
	if err := crash.Do(func() error { d.emit(e); return nil }); err != nil {
		d.broken = true
		fmt.Fprintf(d.app.Stderr, "%s the run goes on without showing more: %v\n", d.app.ErrStyle().Warn("Warning:"), err)
	}
}

func (d *Display) emit(e event.Event) {
	if d.plain != nil {
		d.plain.Emit(e)
		return
	}
	d.State.Apply(e)
	if d.lines != nil {
		d.lines.Emit(e)
	} else {
		d.Live.Emit(e)
	}
}

// Close ends the live view, if there is one.
func (d *Display) Close() {
	if d.Live != nil {
		d.app.setScreen(nil)
		d.Live.Close()
	}
}

// Conclude prints the summary and the outputs: the result of the command. c is the cache
// of this machine.
func (d *Display) Conclude(ctx context.Context, c *disk.Cache, full bool) error {
	if d.lines != nil {
		if err := d.lines.Err(); err != nil {
			return fmt.Errorf("write events: %w", errors.Join(err))
		}
		return nil
	}
	d.State.Outcomes.Explain(len(d.State.Outcomes.Problems), d.app.Tail)
	view.Summary(d.app.Stdout, d.State, d.app.OutStyle())
	run := d.State.Start.Run
	if run == "" || d.State.End == nil {
		return nil
	}
	past, err := d.app.FindRun([]string{run})
	if err != nil {
		return err
	}
	if len(d.State.Outputs) > 0 {
		sum, err := past.Summary(conditions.AggregateKind, conditions.AttemptKind)
		if err != nil {
			return err
		}
		if err := d.app.DrawBoards(ctx, c, past, sum, full); err != nil {
			return err
		}
		d.State.Outputs = sum.Outputs
	}
	view.Outputs(d.app.Stdout, run, d.State.Outputs, d.app.OutStyle())
	if d.State.End.Ran == 0 {
		return nil
	}
	return d.app.next(past)
}
