package leaderboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/tidy"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/results"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/ledger"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/steps/agentrun"
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
		if err := a.WithResults(past, func(c app.ResultCache) error { return runReports(ctx, a, c, past, dir, rules) }); err != nil {
			done()
			return nil, nil, err
		}
	}
	return out, done, nil
}

// runReports writes the reports of a run to a folder, in the order of the run,
// with what is known of the attempts that they are about. It tells how many
// attempts are not graded yet.
func runReports(ctx context.Context, a *app.App, c app.ResultCache, past *ledger.Past, dir string, rules RuleFlags) error {
	sum, err := past.Summary()
	if err != nil {
		return err
	}
	run, err := TidyRun(past, c, nil)
	if err != nil {
		return err
	}
	p, src := run.Plan, &results.Source{Store: c, Index: c, Run: sum}
	checks, _, err := tidy.Checks(ctx, run)
	if err != nil {
		return err
	}
	found, missing, unchecked := 0, 0, 0
	for i := range p.Steps {
		if p.Steps[i].Kind != conditions.GradeKind {
			continue
		}
		found++
		attempt := attemptOf(p, i)
		if by := checks[attempt].Against(rules.Exclude); len(by) > 0 {
			tellExcluded(a, attempt, by)
			continue
		}
		if len(checks[attempt].Lacks(rules.Exclude)) > 0 {
			unchecked++
		}
		switch err := runReport(ctx, src, p, i, dir, checks[attempt]); {
		case errors.Is(err, results.ErrNone):
			missing++
		case err != nil:
			return fmt.Errorf("read the reports of run %s: %w", sum.ID, err)
		}
	}
	if missing == found && found > 0 {
		return fmt.Errorf("run %s has graded none of its %d attempts yet", sum.ID, found)
	}
	if missing > 0 {
		fmt.Fprintf(a.Stderr, "%s run %s has graded %d of %d attempts so far.\n", a.ErrStyle().Warn("Partial:"), sum.ID, found-missing, found)
	}
	tellUnchecked(a, unchecked)
	if found == 0 {
		return fmt.Errorf("run %s graded nothing", sum.ID)
	}
	return nil
}

// attemptOf is the address of the attempt that a grade depends on; "" if there is
// none.
func attemptOf(p *plan.Plan, grade int) string {
	for _, i := range p.Steps[grade].After {
		if p.Steps[i].Kind == conditions.AttemptKind {
			return p.Steps[i].Name
		}
	}
	return ""
}

func runReport(ctx context.Context, src *results.Source, p *plan.Plan, grade int, dir string, check *export.Check) error {
	rec, err := src.Record(ctx, p.Steps[grade].Name)
	if err != nil {
		return err
	}
	report, err := results.Document[grading.Graded](ctx, src.Store, rec.Outputs["report"].Ref.ID)
	if err != nil {
		return err
	}
	if attempt := attemptOf(p, grade); attempt != "" && report.Origin == nil {
		report.Origin = attemptOrigin(ctx, src, attempt)
	}
	if report.Origin != nil && check != nil {
		report.Origin.Checked, report.Origin.WarnedBy = true, check.FoundBy(evidence.Warning)
	}
	if report.Origin != nil && json.Unmarshal(rec.Outputs["curve"].JSON, &report.Origin.Curve) != nil {
		report.Origin.Curve = nil // an older report has none
	}
	text, err := json.Marshal(report)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d_grading_report.json", grade)), text, 0o600)
}

// attemptOrigin is what the record of an attempt says of it; nil if it cannot
// be read any more.
func attemptOrigin(ctx context.Context, src *results.Source, address string) *grading.Origin {
	rec, err := src.Record(ctx, address)
	if err != nil {
		return nil
	}
	var stats agentrun.Stats
	o := &grading.Origin{Run: address}
	if json.Unmarshal(rec.Outputs["outcome"].JSON, &o.Outcome) != nil || json.Unmarshal(rec.Outputs["stats"].JSON, &stats) != nil {
		return nil
	}
	o.WallSeconds, o.Usage = &stats.WallSeconds, export.Measured(stats.Models)
	return o
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
