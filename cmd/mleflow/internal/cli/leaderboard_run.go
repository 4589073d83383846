package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/results"
	"github.com/mleflow/mleflow/engine/ledger"
)

// kindGrade is the kind of steps that give reports.
const kindGrade = "grade"

// withRuns replaces runs among paths by folders with their grading reports,
// which last until the returned function is called. A file of that name comes
// before a run.
func (a *app) withRuns(ctx context.Context, paths []string) ([]string, func(), error) {
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
			continue
		}
		past, err := a.findRun([]string{path})
		if err != nil {
			done()
			return nil, nil, fmt.Errorf("there is no file %s, and no such run: %w", path, err)
		}
		if err := a.useRun(past); err != nil {
			done()
			return nil, nil, err
		}
		dir, err := os.MkdirTemp("", "mleflow-reports-")
		if err != nil {
			done()
			return nil, nil, err
		}
		made, out[i] = append(made, dir), dir
		if err := a.withResults(past, func(c resultCache) error { return runReports(ctx, c, past, dir) }); err != nil {
			done()
			return nil, nil, err
		}
	}
	return out, done, nil
}

// runReports writes the reports of a run to a folder, in the order of the run.
func runReports(ctx context.Context, c resultCache, past *ledger.Past, dir string) error {
	sum, err := past.Summary()
	if err != nil {
		return err
	}
	p, err := past.Plan()
	if err != nil {
		return err
	}
	src := &results.Source{Store: c, Index: c, Run: sum}
	found := 0
	for i := range p.Steps {
		if p.Steps[i].Kind != kindGrade {
			continue
		}
		rec, err := src.Record(ctx, p.Steps[i].Name)
		if err != nil {
			return fmt.Errorf("read the reports of run %s: %w", sum.ID, err)
		}
		to := filepath.Join(dir, fmt.Sprintf("%06d_grading_report.json", i))
		if _, err := tree.Materialise(ctx, c, rec.Outputs["report"].Ref, to, tree.Options{Mode: tree.Copy, Writable: true}); err != nil {
			return fmt.Errorf("read the reports of run %s: %w", sum.ID, err)
		}
		found++
	}
	if found == 0 {
		return fmt.Errorf("run %s graded nothing", sum.ID)
	}
	return nil
}
