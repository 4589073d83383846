package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/leaf/crash"
	"github.com/mleflow/mleflow/cache/leaf/progress"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Display is the event view of one apply, chosen by where it is shown.
type Display struct {
	app   *App
	State *view.State
	Live  *view.Live
	lines *view.JSON
	// sink shows events and keeps State.
	sink event.Sink
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
		d.sink = event.Multi(event.SinkFunc(d.State.Apply), d.lines)
	case isFile && view.IsTerminal(terminal) && a.Env("TERM") != "dumb":
		shown := view.NewState()
		shown.Grades = grades
		d.Live = view.NewLive(shown, terminal, a.ErrStyle())
		d.sink = event.Multi(event.SinkFunc(d.State.Apply), d.Live)
		a.setScreen(d.Live)
	default:
		if grades != nil {
			d.State.Grades = &view.Grades{Read: grades.Read}
		}
		d.sink = view.NewPlainOf(d.State, w, a.ErrStyle(), a.Verbose)
	}
	return d
}

// Emit implements event.Sink. The engine calls it for one event at a time.
func (d *Display) Emit(e event.Event) {
	if d.broken {
		return
	}
	if err := crash.Do(func() error { d.sink.Emit(e); return nil }); err != nil {
		d.broken = true
		fmt.Fprintf(d.app.Stderr, "%s the run goes on without showing more: %v\n", d.app.ErrStyle().Warn("Warning:"), err)
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

const (
	// meterEvery is how often a meter looks, and shows on a terminal what it sees.
	meterEvery = 200 * time.Millisecond
	// meterLineEvery is how often it writes a line where there is no terminal.
	meterLineEvery = 10 * time.Second
)

// Meter shows how far a command is, until the function it returns is called: on a
// terminal in a line that is written over, elsewhere in a line now and then. The
// work only counts; read reads the counters.
func (t *Terminal) Meter(name string, read func() view.Work) (stop func()) {
	live := !t.JSON && t.Env("TERM") != "dumb" && view.IsTerminal(t.Stderr)
	var pace view.Pace
	told := time.Now()
	over := progress.Every(meterEvery, func() {
		work := read()
		work.Time = time.Now()
		text := pace.Line(name, work, view.Width(t.Stderr))
		switch {
		case live:
			fmt.Fprintf(t.Stderr, "\r\x1b[K%s", text)
		case work.Time.Sub(told) >= meterLineEvery:
			told = work.Time
			fmt.Fprintln(t.Stderr, text)
		}
	})
	return sync.OnceFunc(func() {
		over()
		if live {
			fmt.Fprint(t.Stderr, "\r\x1b[K")
		}
	})
}

// MeterWork is meter for work that counts itself.
func (t *Terminal) MeterWork(name string) (work *progress.Work, stop func()) {
	work = &progress.Work{}
	return work, t.Meter(name, func() view.Work {
		return view.Work{StepProgress: event.StepProgress{Progress: step.ProgressOf(work.Now())}}
	})
}

// Grades reads reports from the cache of this machine while a run goes on, and draws
// a leaderboard of them, by the benchmark of the pipeline.
func (a *App) Grades(ctx context.Context, c cache.Store, of results.Declared) *view.Grades {
	return &view.Grades{
		Read: func(e event.StepFinished) (grading.Graded, bool) { return readGrade(ctx, c, e) },
		Draw: func(reports []grading.Graded, width int) string {
			b, err := a.BoardOf(reports, of)
			if err != nil {
				return err.Error()
			}
			return b.Summary(aggregate.Layout{Width: width, Labels: true})
		},
	}
}

func readGrade(ctx context.Context, c cache.Store, e event.StepFinished) (grading.Graded, bool) {
	g, err := outputs.Read[grading.Graded](ctx, c, e.Outputs["report"])
	return g, err == nil
}

// FetchGrades lets a view have reports that only the remote cache has, a few at once,
// until stop is called.
func FetchGrades(ctx context.Context, c cache.Store, grades *view.Grades) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	slots := semaphore.NewWeighted(4)
	grades.Fetch = func(e event.StepFinished, deliver func(grading.Graded)) {
		all.Go(func() {
			if slots.Acquire(ctx, 1) != nil {
				return
			}
			defer slots.Release(1)
			if g, ok := readGrade(ctx, c, e); ok {
				deliver(g)
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// BoardOf makes a leaderboard of the reports of a run, by the benchmark that it declares.
func (l *Library) BoardOf(reports []grading.Graded, of results.Declared) (*aggregate.Board, error) {
	catalog, err := l.Catalog()
	if err != nil {
		return nil, err
	}
	benchmark, err := of.Only(catalog)
	if err != nil {
		return nil, err
	}
	return aggregate.BoardOf(reports, catalog, benchmark)
}

// DrawBoards draws the leaderboards among the outputs of a run from their data: as wide
// as the terminal, with labels, and with full all of their tables. Without full, one
// whose data are not on this machine stays as the run wrote it. opened is the cache of
// this machine, nil if the command did not open it.
func (a *App) DrawBoards(ctx context.Context, opened *disk.Cache, past *history.Past, sum *history.Summary, full bool) error {
	ended := sync.OnceValue(func() []*results.Attempt {
		p, err := past.Plan()
		if err != nil {
			return nil // without it the boards name no causes
		}
		j := attempts.JournalOf(p, sum)
		return j.List()
	})
	draw := func(c ResultCache) error {
		shown := slices.Clone(sum.Outputs)
		for _, made := range outputs.Boards(ctx, c, sum) {
			title, _, _ := strings.Cut(made.Table, "\n")
			text := ""
			switch {
			case made.Table == "":
				continue
			case made.Data != nil && made.Data.Compact(title, aggregate.Stored) == made.Table: // else another version drew it
				made.Data.Explain(ended())
				text = Drawn(a.Terminal, made.Data, title, full)
			case full:
				var err error
				if text, err = boardText(ctx, &outputs.Source{Store: c, Index: c, Run: sum}, made.Address); err != nil {
					return err
				}
			}
			for k := range shown {
				if shown[k].IsString && text != "" {
					shown[k].Value = strings.ReplaceAll(shown[k].Value, made.Table, text)
				}
			}
		}
		sum.Outputs = shown
		return nil
	}
	switch {
	case full:
		return a.WithResults(past, draw)
	case opened != nil:
		_ = draw(opened)
	default:
		_ = a.WithCache(func(c *disk.Cache) error { return draw(c) }) // else what the run wrote
	}
	return nil
}

// Drawn is a leaderboard for the terminal; empty without one.
func Drawn(t *Terminal, b *aggregate.Board, title string, full bool) string {
	switch {
	case b == nil:
		return ""
	case full:
		return b.Text(title, aggregate.Layout{Width: BoardWidth(t), Labels: true})
	}
	return b.Compact(title, aggregate.Layout{Width: cmp.Or(t.Width(), aggregate.Stored.Width), Labels: true})
}

// boardText is the leaderboard of a step with all tables, as the step kept it.
func boardText(ctx context.Context, src *outputs.Source, address string) (string, error) {
	var text []byte
	rec, err := src.Record(ctx, address)
	if err == nil {
		var e tree.Entry
		if e, err = tree.Find(ctx, src.Store, rec.Outputs["files"].Ref, "board.txt"); err == nil {
			text, err = cache.Get(ctx, src.Store, e.Ref().ID, maxReport)
		}
	}
	if err != nil {
		return "", fmt.Errorf("read the leaderboard of %s: %w", address, err)
	}
	return string(text), nil
}

// next says what a person may do after a run that did something.
func (s *Store) next(ran *history.Past) error {
	lines := []string{"mleflow ui                     shows it in a browser"}
	historyOf, err := s.OpenHistory()
	if err != nil {
		return err
	}
	ids, err := historyOf.IDs()
	if err != nil {
		return err
	}
	if len(ids) > 1 && ids[0] == ran.Info.ID {
		if before, err := historyOf.Open(ids[1]); err == nil && before.Info.Pipeline == ran.Info.Pipeline {
			lines = append(lines, "mleflow diff latest~1 latest   compares it with the last run")
		}
	}
	for i, line := range lines {
		fmt.Fprintf(s.Stderr, "%-5s %s\n", []string{"Next:", ""}[i], s.ErrStyle().Dim(line))
	}
	return nil
}

// maxReport is the largest report that is read.
const maxReport = 16 << 20

// Width returns the columns of standard output: those of the terminal, or those that
// COLUMNS names for a pipe or file, or 0.
func (t *Terminal) Width() int {
	columns, err := strconv.Atoi(t.Env("COLUMNS"))
	if err != nil || columns < 40 {
		columns = 0
	}
	return cmp.Or(view.Width(t.Stdout), columns)
}

// BoardWidth is how wide boards are: as the terminal, or 100 columns.
func BoardWidth(t *Terminal) int { return cmp.Or(t.Width(), aggregate.StoredFull.Width) }
