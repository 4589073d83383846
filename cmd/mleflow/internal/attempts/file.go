package attempts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/steps/agentrun"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// FromBundle returns the records of a bundle that was examined, with a standing.
func FromBundle(ctx context.Context, b *bundle.Bundle, x *bundle.Examined, catalog *competitions.Catalog, standing string) ([]*results.Attempt, []Left, error) {
	store, err := b.Store(nil)
	if err != nil {
		return nil, nil, err
	}
	p, err := b.Plan()
	if err != nil {
		return nil, nil, err
	}
	return Collect(ctx, Run{
		ID: x.Run.ID, Pipeline: x.Run.Pipeline, Version: x.Run.Version, Started: x.Run.Started, About: x.Run.About, Steps: x.Summary.Steps,
		Plan: p, Store: store, Index: store, Catalog: catalog, Standing: standing,
		Tried: func(map[string]*cache.Record) *bundle.Chain { return x.Chain },
	})
}

// FromFile returns the records of a file of reports or of a leaderboard, in the
// order of the file.
func FromFile(path string, catalog *competitions.Catalog) ([]*results.Attempt, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	var b aggregate.Board
	if json.Unmarshal(text, &b) == nil && len(b.Entries) > 0 {
		list := make([]*results.Attempt, len(b.Entries))
		for i, e := range b.Entries {
			list[i] = &results.Attempt{Standing: Reported}
			enter(list[i], grading.Graded{Report: e.Report, Labels: e.Labels}, catalog)
			if list[i].Agent, list[i].Seed = e.Agent, e.Seed; e.Attempt != nil {
				list[i].Made = *e.Attempt
			}
		}
		return list, nil
	}
	f, err := board.ReadPaths([]string{path})
	if err != nil {
		return nil, err
	}
	list := make([]*results.Attempt, len(f.Reports))
	for i, g := range f.Reports {
		list[i] = &results.Attempt{Standing: Reported}
		enter(list[i], g, catalog)
	}
	return list, nil
}

// Reports says which grades of a run have a report.
type Reports struct {
	Found, Missing int
	// Excluded are the attempts that were left out, Unchecked is how many were not
	// looked at by one of the rules.
	Excluded  []Excluded
	Unchecked int
}

// Excluded is an attempt in which rules found something.
type Excluded struct {
	Address string
	Rules   []string
}

// ReportFolder is a folder for the reports of a run. Attempts in which one of the rules
// Exclude found something are left out.
type ReportFolder struct {
	Dir     string
	Exclude []string
}

// Write writes the reports, in the order of the run, with what is known of the attempts
// that they are about.
func (to ReportFolder) Write(ctx context.Context, run Run, src *outputs.Source) (n Reports, err error) {
	checks, _, err := Checks(ctx, run)
	if err != nil {
		return n, err
	}
	for i := range run.Plan.Steps {
		if run.Plan.Steps[i].Kind != conditions.GradeKind {
			continue
		}
		n.Found++
		attempt := attemptOf(run.Plan, run.Plan.Steps[i])
		if by := checks[attempt].Against(to.Exclude); len(by) > 0 {
			n.Excluded = append(n.Excluded, Excluded{attempt, by})
			continue
		}
		if len(checks[attempt].Lacks(to.Exclude)) > 0 {
			n.Unchecked++
		}
		text, err := reportOf(ctx, src, run.Plan.Steps[i].Name, attempt, checks[attempt])
		if err == nil {
			err = os.WriteFile(filepath.Join(to.Dir, fmt.Sprintf("%06d_grading_report.json", i)), text, 0o600)
		}
		switch {
		case errors.Is(err, outputs.ErrNone):
			n.Missing++
		case err != nil:
			return n, fmt.Errorf("read the reports of run %s: %w", run.ID, err)
		}
	}
	return n, nil
}

// reportOf returns the report of a grade as JSON.
func reportOf(ctx context.Context, src *outputs.Source, grade, attempt string, check *results.Check) ([]byte, error) {
	rec, err := src.Record(ctx, grade)
	if err != nil {
		return nil, err
	}
	report, err := outputs.Document[grading.Graded](ctx, src.Store, rec.Outputs["report"].Ref.ID)
	if err != nil {
		return nil, err
	}
	if attempt != "" && report.Origin == nil {
		report.Origin = attemptOrigin(ctx, src, attempt)
	}
	if report.Origin != nil && check != nil {
		report.Origin.Checked, report.Origin.WarnedBy = true, check.FoundBy(evidence.Warning)
	}
	if report.Origin != nil && json.Unmarshal(rec.Outputs["curve"].JSON, &report.Origin.Curve) != nil {
		report.Origin.Curve = nil // an older report has none
	}
	return json.Marshal(report)
}

// attemptOrigin is what the record of an attempt says of it; nil if it cannot
// be read any more.
func attemptOrigin(ctx context.Context, src *outputs.Source, address string) *grading.Origin {
	rec, err := src.Record(ctx, address)
	if err != nil {
		return nil
	}
	var stats agentrun.Stats
	o := &grading.Origin{Run: address}
	if json.Unmarshal(rec.Outputs["outcome"].JSON, &o.Outcome) != nil || json.Unmarshal(rec.Outputs["stats"].JSON, &stats) != nil {
		return nil
	}
	o.WallSeconds, o.Usage = &stats.WallSeconds, results.Measured(stats.Models)
	return o
}
