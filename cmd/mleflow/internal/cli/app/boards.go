package app

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Grades reads reports from the cache of this machine while a run goes on, and draws
// a leaderboard of them.
func (a *App) Grades(ctx context.Context, c cache.Store) *view.Grades {
	return &view.Grades{
		Read: func(e event.StepFinished) (grading.Graded, bool) { return readGrade(ctx, c, e) },
		Draw: func(reports []grading.Graded, width int) string {
			b, err := a.BoardOf(reports)
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

// BoardOf makes a leaderboard of reports.
func (l *Library) BoardOf(reports []grading.Graded) (*aggregate.Board, error) {
	catalog, err := l.Catalog()
	if err != nil {
		return nil, err
	}
	return aggregate.BoardOf(reports, catalog)
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
	return b.Compact(title, aggregate.Layout{Width: cmp.Or(view.Width(t.Stdout), aggregate.Stored.Width), Labels: true})
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

// BoardWidth is how wide boards are: as the terminal, or 100 columns.
func BoardWidth(t *Terminal) int { return cmp.Or(view.Width(t.Stdout), aggregate.StoredFull.Width) }
