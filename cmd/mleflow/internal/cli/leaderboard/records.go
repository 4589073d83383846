package leaderboard

import (
	"context"
	"fmt"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
)

// RecordsOf returns the attempts of a run, a bundle, a file of reports or a folder of
// them.
func RecordsOf(ctx context.Context, a *app.App, arg string) ([]*results.Attempt, error) {
	if !app.IsFolder(arg) && !app.NamesFile(arg) {
		past, err := a.FindRun([]string{arg})
		if err != nil {
			return nil, err
		}
		records, left, err := runRecords(ctx, a, past)
		TellLeft(a, left)
		return records, err
	}
	catalog, err := a.Catalog()
	if err != nil {
		return nil, err
	}
	if found, err := isBundle(arg); err != nil {
		return nil, app.Wrong(fmt.Errorf("read results: %w", err))
	} else if !found {
		return fileRecords(arg, catalog)
	}
	return bundleRecords(ctx, a, arg, catalog)
}

// isBundle reports whether a path is that of a bundle.
func isBundle(path string) (bool, error) {
	if app.IsFolder(path) {
		return false, nil
	}
	return bundle.Begins(path)
}

func fileRecords(path string, catalog *competitions.Catalog) ([]*results.Attempt, error) {
	files, err := board.ReportFiles([]string{path})
	if err != nil {
		return nil, app.Wrong(err)
	}
	var records []*results.Attempt
	for _, file := range files {
		list, err := attempts.FromFile(file, catalog)
		if err != nil {
			return nil, app.Wrong(err)
		}
		records = append(records, list...)
	}
	attempts.Sort(records)
	return records, nil
}

func bundleRecords(ctx context.Context, a *app.App, path string, catalog *competitions.Catalog) ([]*results.Attempt, error) {
	work, stop := a.MeterWork("reading " + path)
	defer stop()
	b, err := bundle.Open(ctx, path, work)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	x, err := b.Examine(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("check bundle %s: %w", path, err)
	}
	records, left, err := attempts.FromBundle(ctx, b, x, catalog, "claimed")
	TellLeft(a, left)
	return records, err
}

func runRecords(ctx context.Context, a *app.App, past *history.Past) (records []*results.Attempt, left []attempts.Left, err error) {
	if err := a.UseRun(past); err != nil {
		return nil, nil, err
	}
	catalog, err := a.Catalog()
	if err != nil {
		return nil, nil, err
	}
	err = a.WithResults(past, func(c app.ResultCache) error {
		run, err := TidyRun(past, c, catalog)
		if err != nil {
			return err
		}
		records, left, err = attempts.Collect(ctx, run)
		return err
	})
	return records, left, err
}

// TellLeft tells of the steps that have no row.
func TellLeft(a *app.App, left []attempts.Left) {
	for _, l := range left {
		fmt.Fprintf(a.Stderr, "%s %s: %s\n", a.ErrStyle().Warn("Left out:"), view.Text(l.Address), l.Why)
	}
}
