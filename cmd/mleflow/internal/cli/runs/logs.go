package runs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/plugins/models/transcript"
	"github.com/mleflow/mleflow/plugins/models/transcript/message"
)

// NewLogs returns the command logs.
func NewLogs(a *app.App) *cobra.Command {
	var attempt int
	var raw, follow, asTranscript, full bool
	cmd := a.KeyCommand("logs RUN [KEY]", "Print what the steps of a run printed", app.Takes(1, 2),
		func(cmd *cobra.Command, past *history.Past, args []string) error {
			a.Interrupts.Outlived()
			switch {
			case full && !asTranscript:
				return app.Usagef("--full goes with --transcript")
			case asTranscript && (len(args) == 1 || follow || raw || attempt != 0):
				return app.Usagef("--transcript takes RUN and KEY, and neither -f, --raw nor --attempt")
			case asTranscript:
				return printTranscript(cmd.Context(), a, past, args[1], full)
			case len(args) == 1 && follow:
				return (&logFollower{app: a, past: past, raw: raw}).follow(cmd.Context())
			case len(args) == 1:
				return allLogs(a.Terminal, past, raw)
			}
			address, err := app.AddressIn(past, args[1])
			if err != nil {
				return err
			}
			if follow {
				return (&logFollower{app: a, past: past, only: address, attempt: attempt, raw: raw}).follow(cmd.Context())
			}
			return oneLog(a, past, address, attempt, raw)
		})
	cmd.Flags().BoolVar(&raw, "raw", false, "print the bytes as they are, control characters included")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow until the step ends")
	cmd.Flags().BoolVar(&asTranscript, "transcript", false, "print an attempt's exchanges with its models")
	cmd.Flags().BoolVar(&full, "full", false, "with --transcript: print long texts whole")
	cmd.Flags().IntVar(&attempt, "attempt", 0, "print attempt `N` (0: the last)")
	return cmd
}

// oneLog prints the log of a step, which another run has if its result was cached. Of a
// block with several instances it prints those of all.
func oneLog(a *app.App, past *history.Past, address string, attempt int, raw bool) error {
	if attempts := past.Logs(address); len(attempts) > 0 {
		return copyLog(a.Terminal, past, address, cmp.Or(attempt, attempts[len(attempts)-1]), raw)
	}
	sum, err := past.Summary()
	if err != nil {
		return err
	}
	s := sum.Step(address)
	switch {
	case s == nil:
		return blockLogs(a, past, sum, address, raw)
	case s.MadeIn == "" || s.MadeIn == past.Info.ID:
		fmt.Fprintf(a.Stderr, "%s printed nothing in run %s.\n", view.OneLine(address), past.Info.ID)
		return nil
	}
	maker, err := a.FindRun([]string{s.MadeIn})
	if err != nil {
		fmt.Fprintf(a.Stderr, "%s was executed by run %s, which is no longer here, nor is its log.\n", view.OneLine(address), view.OneLine(s.MadeIn))
		return nil
	}
	fmt.Fprintf(a.Stderr, "%s was executed by run %s, whose log this is.\n", view.OneLine(address), maker.Info.ID)
	return oneLog(a, maker, address, attempt, raw)
}

// blockLogs prints the logs of all instances of a block.
func blockLogs(a *app.App, past *history.Past, sum *history.Summary, block string, raw bool) error {
	found := false
	for _, s := range view.InOrder(sum.Steps, view.StepAddress) {
		if !strings.HasPrefix(s.Address, block+"[") {
			continue
		}
		found = true
		fmt.Fprintf(a.Stdout, "==> %s <==\n", view.OneLine(s.Address))
		if err := oneLog(a, past, s.Address, 0, raw); err != nil {
			return err
		}
	}
	if !found {
		return noSuchStep(past, block)
	}
	return nil
}

func noSuchStep(past *history.Past, address string) error {
	return app.Usagef("no step %s in run %s; mleflow show %s -v lists its steps", address, past.Info.ID, past.Info.ID)
}

func allLogs(t *app.Terminal, past *history.Past, raw bool) error {
	sum, err := past.Summary()
	if err != nil {
		return err
	}
	for _, s := range view.InOrder(sum.Steps, view.StepAddress) {
		for _, attempt := range past.Logs(s.Address) {
			fmt.Fprintf(t.Stdout, "==> %s (attempt %d) <==\n", view.OneLine(s.Address), attempt)
			if err := copyLog(t, past, s.Address, attempt, raw); err != nil {
				return err
			}
		}
	}
	return nil
}

func copyLog(t *app.Terminal, past *history.Past, address string, attempt int, raw bool) error {
	r, err := past.OpenLog(address, attempt)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := printLog(t.Stdout, r, raw); err != nil {
		return fmt.Errorf("print log of %s: %w", address, err)
	}
	return nil
}

// printLog prints a log without what would steer a terminal, wherever it goes:
// a pager or another program may pass it on. As it is it comes with --raw.
func printLog(w io.Writer, r io.Reader, raw bool) error {
	lines := &lineWriter{to: w, raw: raw}
	_, err := io.Copy(lines, r)
	return errors.Join(err, lines.flush())
}

// unfinished is how many bytes at the end of a text are the beginning of a
// character or of an escape sequence that may go on.
func unfinished(text []byte) int {
	if bytes.HasSuffix(text, []byte{'\x1b'}) {
		return 1
	}
	return plain.Unfinished(text)
}

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

// The outputs that hold transcripts: that of an attempt, and that of a check with
// its judge.
const (
	transcriptOutput = "transcript"
	judgedOutput     = "judge_transcript"
)

// WithTranscript opens the transcript of an attempt.
func WithTranscript(ctx context.Context, a *app.App, past *history.Past, named string, use func(*cache.Record, *transcript.Reader) error) error {
	return a.WithRecord(ctx, past, named, func(c app.ResultCache, rec *cache.Record) error {
		ref := cmp.Or(rec.Outputs[transcriptOutput].Ref, rec.Outputs[judgedOutput].Ref)
		if ref.Files == 0 {
			return app.Usagef("%s has no transcript: it is no attempt of an agent that uses model blocks; mleflow logs without --transcript has what it printed", view.OneLine(rec.Address))
		}
		r, err := transcript.OpenReader(tree.NewFS(ctx, c, ref))
		if err != nil {
			return err
		}
		return errors.Join(use(rec, r), r.Close())
	})
}

// printTranscript writes the conversations of an attempt.
func printTranscript(ctx context.Context, a *app.App, past *history.Past, named string, full bool) error {
	return WithTranscript(ctx, a, past, named, func(_ *cache.Record, r *transcript.Reader) error {
		if a.JSON {
			return writeTurns(json.NewEncoder(a.Stdout), r)
		}
		v := &view.Transcript{Out: a.Stdout, Style: view.StyleFor(a.Stdout, a.NoColor), Full: full}
		for t, err := range r.Turns() {
			if err != nil {
				return err
			}
			if err := v.Turn(t); err != nil {
				return err
			}
		}
		return v.End()
	})
}

// ShownTurn is an exchange in logs --transcript --json, one a line.
type ShownTurn struct {
	*transcript.Event
	Request      *struct{}         `json:"request,omitempty"`
	Response     *struct{}         `json:"response,omitempty"`
	Conversation int               `json:"conversation"`
	Said         []message.Message `json:"said"`
	Reply        message.Message   `json:"reply"`
}

func writeTurns(enc *json.Encoder, r *transcript.Reader) error {
	enc.SetEscapeHTML(false)
	for t, err := range r.Turns() {
		if err != nil {
			return err
		}
		if err := enc.Encode(ShownTurn{Event: t.Event, Conversation: t.Conversation, Said: t.Said, Reply: t.Reply}); err != nil {
			return err
		}
	}
	return nil
}
