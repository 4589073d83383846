package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/tidy"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/results"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/engine/ledger"
)

// WithRuns replaces runs among paths by folders with their grading reports,
// which last until the returned function is called. A file of that name comes
// before a run.
// Attempts in which one of the rules found something are left out.
func WithRuns(ctx context.Context, a *app.App, paths []string, rules RuleFlags) ([]string, func(), error) {
	out := slices.Clone(paths)
	var made []string
	done := func() {
		for _, dir := range made {
			os.RemoveAll(dir)
		}
	}
	for i, path := range paths {
		dir, err := runFolder(ctx, a, path, rules)
		if dir != "" {
			made, out[i] = append(made, dir), dir
		}
		if err != nil {
			done()
			return nil, nil, err
		}
	}
	return out, done, nil
}

// ReadRuns reads the reports of runs and files.
func ReadRuns(ctx context.Context, a *app.App, paths ...string) (board.File, error) {
	paths, done, err := WithRuns(ctx, a, paths, RuleFlags{})
	if err != nil {
		return board.File{}, err
	}
	defer done()
	if paths, err = board.ReportFiles(paths); err != nil {
		return board.File{}, err
	}
	return board.ReadPaths(paths)
}

// runFolder writes the reports of a run to a folder; "" if path is one of a file.
func runFolder(ctx context.Context, a *app.App, path string, rules RuleFlags) (dir string, err error) {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) || filepath.Base(path) != path || filepath.Ext(path) != "" {
		if len(rules.Exclude) > 0 {
			return "", fmt.Errorf("--exclude-rule: %s is a file, which does not say what rules found; name a run", path)
		}
		return "", nil
	}
	past, err := a.FindRun([]string{path})
	if err != nil {
		return "", fmt.Errorf("there is no file %s, and no such run: %w", path, err)
	}
	if err := a.UseRun(past); err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "mleflow-reports-"); err != nil {
		return "", err
	}
	return dir, a.WithResults(past, func(c app.ResultCache) error {
		return writeReports(ctx, a, c, past, tidy.ReportFolder{Dir: dir, Exclude: rules.Exclude})
	})
}

// writeReports tells how many attempts are left out, and how many not graded yet.
func writeReports(ctx context.Context, a *app.App, c app.ResultCache, past *ledger.Past, to tidy.ReportFolder) error {
	sum, err := past.Summary()
	if err != nil {
		return err
	}
	run, err := TidyRun(past, c, nil)
	if err != nil {
		return err
	}
	n, err := to.Write(ctx, run, &results.Source{Store: c, Index: c, Run: sum})
	for _, e := range n.Excluded {
		tellExcluded(a, e.Address, e.Rules)
	}
	switch {
	case err != nil:
		return err
	case n.Missing == n.Found && n.Found > 0:
		return fmt.Errorf("run %s has graded none of its %d attempts yet", sum.ID, n.Found)
	case n.Missing > 0:
		fmt.Fprintf(a.Stderr, "%s run %s has graded %d of %d attempts so far.\n", a.ErrStyle().Warn("Partial:"), sum.ID, n.Found-n.Missing, n.Found)
	}
	tellUnchecked(a, n.Unchecked)
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
