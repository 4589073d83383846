package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/report"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/results"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/tidy"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// grades reads reports from the cache of this machine while a run goes on, and draws
// a leaderboard of them.
func (a *app) grades(ctx context.Context, c cache.Store) *view.Grades {
	return &view.Grades{
		Read: func(e event.StepFinished) (grading.Graded, bool) { return readGrade(ctx, c, e) },
		Draw: func(reports []grading.Graded, width int) string {
			b, err := a.boardOf(reports)
			if err != nil {
				return err.Error()
			}
			return b.Summary(aggregate.Layout{Width: width, Labels: true})
		},
	}
}

func readGrade(ctx context.Context, c cache.Store, e event.StepFinished) (g grading.Graded, ok bool) {
	_, sum, _ := strings.Cut(e.Outputs["report"], ":")
	id, err := digest.ParseContentID(sum)
	if err == nil {
		g, err = tidy.ReadReport(ctx, c, id)
	}
	return g, err == nil
}

// fetchGrades lets a view have reports that only the remote cache has, a few at once,
// until stop is called.
func fetchGrades(ctx context.Context, c cache.Store, grades *view.Grades) (stop func()) {
	const atOnce = 4
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	grades.Fetch = func(e event.StepFinished, deliver func(grading.Graded)) {
		all.Go(func() {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-ctx.Done():
				return
			}
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

func (a *app) boardOf(reports []grading.Graded) (*aggregate.Board, error) {
	catalog, err := a.catalog()
	if err != nil {
		return nil, err
	}
	return aggregate.BoardOf(reports, catalog)
}

// drawBoards draws the leaderboards among the outputs of a run from their data: as wide
// as the terminal, with labels, and with full all of their tables. Without full, one
// whose data are not on this machine stays as the run wrote it.
func (a *app) drawBoards(ctx context.Context, past *ledger.Past, sum *ledger.Summary, full bool) error {
	draw := func(c resultCache) (err error) {
		sum.Outputs, err = report.DrawBoards(ctx, c, sum, func(b *aggregate.Board, address, table string) (string, error) {
			switch title, _, _ := strings.Cut(table, "\n"); {
			case b != nil:
				return a.drawn(b, title, full), nil
			case !full:
				return table, nil
			}
			return boardText(ctx, &results.Source{Store: c, Index: c, Run: sum}, address)
		})
		return err
	}
	if full {
		return a.withResults(past, draw)
	}
	if slices.ContainsFunc(sum.Outputs, hasLines) {
		_ = a.withCache(func(c *disk.Cache) error { return draw(c) }) // what the run wrote will do
	}
	return nil
}

// hasLines reports whether an output may have a leaderboard in it.
func hasLines(o event.OutputValue) bool { return o.IsString && strings.Contains(o.Value, "\n") }

// drawn is a leaderboard for the terminal.
func (a *app) drawn(b *aggregate.Board, title string, full bool) string {
	if full {
		return b.Text(title, aggregate.Layout{Width: boardWidth(a.terminal), Labels: true})
	}
	return b.Compact(title, aggregate.Layout{Width: cmp.Or(view.Width(a.stdout), aggregate.Stored.Width), Labels: true})
}

// boardText is the leaderboard of a step with all tables, as the step kept it.
func boardText(ctx context.Context, src *results.Source, address string) (string, error) {
	rec, err := src.Record(ctx, address)
	if err != nil {
		return "", fmt.Errorf("read the leaderboard of %s: %w", address, err)
	}
	e, err := tree.Find(ctx, src.Store, rec.Outputs["files"].Ref, "board.txt")
	if err != nil {
		return "", fmt.Errorf("read the leaderboard of %s: %w", address, err)
	}
	text, err := cache.Get(ctx, src.Store, e.Ref().ID, maxReport)
	return string(text), err
}

// next says what a person may do after a run that did something.
func (a *app) next(ran *ledger.Past) error {
	lines := []string{"mleflow ui                     shows it in a browser"}
	ledgerOf, err := a.openLedger()
	if err != nil {
		return err
	}
	ids, err := ledgerOf.IDs()
	if err != nil {
		return err
	}
	if len(ids) > 1 && ids[0] == ran.Info.ID {
		if before, err := ledgerOf.Open(ids[1]); err == nil && before.Info.Pipeline == ran.Info.Pipeline {
			lines = append(lines, "mleflow diff latest~1 latest   compares it with the last run")
		}
	}
	for i, line := range lines {
		fmt.Fprintf(a.stderr, "%-5s %s\n", []string{"Next:", ""}[i], a.errStyle().Dim(line))
	}
	return nil
}
