package runs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
)

// followEvery is how often a log is looked at that is followed.
const followEvery = 200 * time.Millisecond

// logFollower prints what steps of a run print, as they print it.
type logFollower struct {
	app  *app.App
	past *history.Past
	// only is the address that is followed, empty for all; attempt its attempt,
	// 0 for the last and those that follow.
	only    string
	attempt int
	raw     bool

	open  []*openLog
	shown *openLog
	ended bool
}

// openLog is the log of an attempt that is under way.
type openLog struct {
	address string
	attempt int
	log     *history.Follow
	lines   *lineWriter
}

// follow prints the log of a step, or of all steps, until the step or the run has
// ended.
func (f *logFollower) follow(ctx context.Context) error {
	if err := f.check(); err != nil {
		return err
	}
	watch := f.past.Watch()
	for first := true; ; first = false {
		running := f.past.Running() // before the journal, which is then complete
		events, err := watch.Next()
		if err != nil {
			return err
		}
		if first {
			events = f.lastOf(events)
		}
		for _, e := range events {
			if err := f.take(e); err != nil {
				return err
			}
		}
		if err := f.copy(f.open...); err != nil {
			return err
		}
		if f.ended || !running {
			return f.close(running)
		}
		if err := progress.Sleep(ctx, followEvery); err != nil {
			return err
		}
	}
}

// check refuses an address that is not in the run.
func (f *logFollower) check() error {
	p, err := f.past.Plan()
	if err != nil || f.only == "" {
		return err
	}
	if !slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Name == f.only }) {
		return noSuchStep(f.past, f.only)
	}
	return nil
}

// lastOf leaves out the attempts that were over when the following began.
func (f *logFollower) lastOf(events []event.Event) (kept []event.Event) {
	last := map[string]int{}
	for _, e := range events {
		if e, ok := e.(event.StepStarted); ok {
			last[e.Address] = e.Try
		}
	}
	for _, e := range events {
		if e, ok := e.(event.StepStarted); ok && e.Try != last[e.Address] && f.attempt == 0 {
			continue
		}
		kept = append(kept, e)
	}
	return kept
}

func (f *logFollower) take(e event.Event) error {
	switch e := e.(type) {
	case event.StepStarted:
		if err := f.end(e.Address); err != nil {
			return err
		}
		if f.wants(e.Address) && (f.attempt == 0 || f.attempt == e.Try) {
			f.open = append(f.open, &openLog{address: e.Address, attempt: e.Try, log: f.past.Follow(e.Address, e.Try), lines: &lineWriter{to: f.app.Stdout, raw: f.raw}})
		}
		f.ended = f.ended || f.only == e.Address && f.attempt > 0 && e.Try > f.attempt
	case event.StepFinished:
		if err := f.end(e.Address); err != nil {
			return err
		}
		if f.only == e.Address {
			f.ended = true
			if e.MadeIn != "" {
				fmt.Fprintf(f.app.Stderr, "%s was not executed in this run; its log is in another: mleflow logs %s '%s'\n", view.OneLine(e.Address), view.OneLine(e.MadeIn), view.OneLine(e.Address))
			}
		}
	}
	return nil
}

func (f *logFollower) wants(address string) bool { return f.only == "" || f.only == address }

// end passes on the rest of the log of a step that has ended.
func (f *logFollower) end(address string) error {
	i := slices.IndexFunc(f.open, func(o *openLog) bool { return o.address == address })
	if i < 0 {
		return nil
	}
	o := f.open[i]
	f.open = slices.Delete(f.open, i, i+1)
	if err := f.copy(o); err != nil {
		return err
	}
	return o.lines.flush()
}

// copy passes on what is new in logs, under a heading where another one's lines
// came before.
func (f *logFollower) copy(logs ...*openLog) error {
	for _, o := range logs {
		o.lines.before = func() {
			if f.only == "" && f.shown != o {
				fmt.Fprintf(f.app.Stdout, "==> %s (attempt %d) <==\n", view.OneLine(o.address), o.attempt)
			}
			f.shown = o
		}
		if err := o.log.Copy(o.lines); err != nil {
			return fmt.Errorf("follow log of %s: %w", o.address, err)
		}
	}
	return nil
}

// close passes on what is left when the step or the run has ended.
func (f *logFollower) close(running bool) error {
	for _, o := range slices.Clone(f.open) {
		if err := f.end(o.address); err != nil {
			return err
		}
	}
	if !f.ended && !running && f.only != "" {
		fmt.Fprintf(f.app.Stderr, "run %s has ended and %s has not.\n", f.past.Info.ID, view.OneLine(f.only))
	}
	return nil
}

// lineWriter passes on whole lines, made fit for a terminal unless they are to be
// raw. A line that does not end goes in pieces, none of which ends within a
// character.
type lineWriter struct {
	to  io.Writer
	raw bool
	// before, if set, is called before lines are passed on.
	before func()
	held   []byte
}

// longestLine is how much of a line without an end is held back.
const longestLine = 1 << 16

// Write implements io.Writer.
func (l *lineWriter) Write(p []byte) (int, error) {
	l.held = append(l.held, p...)
	end := bytes.LastIndexByte(l.held, '\n') + 1
	if end == 0 && len(l.held) > longestLine {
		end = len(l.held) - unfinished(l.held)
	}
	return len(p), l.pass(end)
}

func (l *lineWriter) flush() error { return l.pass(len(l.held)) }

func (l *lineWriter) pass(n int) error {
	if n == 0 {
		return nil
	}
	if l.before != nil {
		l.before()
	}
	var err error
	for line := range bytes.Lines(l.held[:n]) {
		if !l.raw {
			line = []byte(view.Text(string(line)))
		}
		if _, err = l.to.Write(line); err != nil {
			break
		}
	}
	l.held = slices.Clone(l.held[n:])
	return err
}
