package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/tidy"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/results"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/ledger"
)

// WithRuns replaces runs among paths by folders with their grading reports,
// which last until the returned function is called. A file of that name comes
// before a run.
// Attempts in which one of the rules found something are left out.
func WithRuns(ctx context.Context, a *app.App, paths []string, rules RuleFlags) ([]string, func(), error) {
	out := make([]string, len(paths))
	var made []string
	done := func() {
		for _, dir := range made {
			os.RemoveAll(dir)
		}
	}
	for i, path := range paths {
		out[i] = path
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || filepath.Base(path) != path || filepath.Ext(path) != "" {
			if len(rules.Exclude) > 0 {
				done()
				return nil, nil, fmt.Errorf("--exclude-rule: %s is a file, which does not say what rules found; name a run", path)
			}
			continue
		}
		past, err := a.FindRun([]string{path})
		if err != nil {
			done()
			return nil, nil, fmt.Errorf("there is no file %s, and no such run: %w", path, err)
		}
		if err := a.UseRun(past); err != nil {
			done()
			return nil, nil, err
		}
		dir, err := os.MkdirTemp("", "mleflow-reports-")
		if err != nil {
			done()
			return nil, nil, err
		}
		made, out[i] = append(made, dir), dir
		w := reportWriter{app: a, past: past, dir: dir, exclude: rules.Exclude}
		if err := a.WithResults(past, func(c app.ResultCache) error { return w.write(ctx, c) }); err != nil {
			done()
			return nil, nil, err
		}
	}
	return out, done, nil
}

// reportWriter writes the reports of a run to a folder.
type reportWriter struct {
	app     *app.App
	past    *ledger.Past
	dir     string
	exclude []string // rules
}

// write tells how many attempts are left out, and how many not graded yet.
func (w *reportWriter) write(ctx context.Context, c app.ResultCache) error {
	sum, err := w.past.Summary()
	if err != nil {
		return err
	}
	run, err := TidyRun(w.past, c, nil)
	if err != nil {
		return err
	}
	n, err := tidy.WriteReports(ctx, &results.Source{Store: c, Index: c, Run: sum}, run, w.dir, w.exclude)
	for _, e := range n.Excluded {
		tellExcluded(w.app, e.Address, e.Rules)
	}
	switch {
	case err != nil:
		return err
	case n.Missing == n.Found && n.Found > 0:
		return fmt.Errorf("run %s has graded none of its %d attempts yet", sum.ID, n.Found)
	case n.Missing > 0:
		fmt.Fprintf(w.app.Stderr, "%s run %s has graded %d of %d attempts so far.\n", w.app.ErrStyle().Warn("Partial:"), sum.ID, n.Found-n.Missing, n.Found)
	}
	tellUnchecked(w.app, n.Unchecked)
	if n.Found == 0 {
		return fmt.Errorf("run %s graded nothing", sum.ID)
	}
	return nil
}

// TidyRun reads the attempts of a run as tidy rows.
func TidyRun(past *ledger.Past, c app.ResultCache, catalog *competitions.Catalog) (tidy.Run, error) {
	sum, err := past.Summary()
	if err != nil {
		return tidy.Run{}, err
	}
	p, err := past.Plan()
	if err != nil {
		return tidy.Run{}, err
	}
	return tidy.Run{
		ID: sum.ID, Pipeline: filepath.Base(sum.Pipeline), Version: sum.Version, Started: sum.Started, About: sum.About, Steps: sum.Steps,
		Plan: p, Store: c, Index: c, Catalog: catalog, Standing: tidy.Recorded,
	}, nil
}
