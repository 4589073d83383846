package tidy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/results"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/evidence"
	"github.com/mleflow/mleflow/competitions/export"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/steps/agentrun"
)

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

// reports are being written.
type reports struct {
	run Run
	src *results.Source
	dir string
}

// WriteReports writes the reports of a run to a folder, in the order of the run, with
// what is known of the attempts that they are about. It leaves out attempts in which one
// of the rules found something.
func WriteReports(ctx context.Context, src *results.Source, run Run, dir string, rules []string) (n Reports, err error) {
	checks, _, err := Checks(ctx, run)
	if err != nil {
		return n, err
	}
	r := reports{run: run, src: src, dir: dir}
	for i := range run.Plan.Steps {
		if run.Plan.Steps[i].Kind != conditions.GradeKind {
			continue
		}
		n.Found++
		attempt := attemptOf(run.Plan, i)
		if by := checks[attempt].Against(rules); len(by) > 0 {
			n.Excluded = append(n.Excluded, Excluded{attempt, by})
			continue
		}
		if len(checks[attempt].Lacks(rules)) > 0 {
			n.Unchecked++
		}
		switch err := r.write(ctx, i, attempt, checks[attempt]); {
		case errors.Is(err, results.ErrNone):
			n.Missing++
		case err != nil:
			return n, fmt.Errorf("read the reports of run %s: %w", run.ID, err)
		}
	}
	return n, nil
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

// write writes the report of one grade.
func (r *reports) write(ctx context.Context, grade int, attempt string, check *export.Check) error {
	rec, err := r.src.Record(ctx, r.run.Plan.Steps[grade].Name)
	if err != nil {
		return err
	}
	report, err := results.Document[grading.Graded](ctx, r.src.Store, rec.Outputs["report"].Ref.ID)
	if err != nil {
		return err
	}
	if attempt != "" && report.Origin == nil {
		report.Origin = attemptOrigin(ctx, r.src, attempt)
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
	return os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("%06d_grading_report.json", grade)), text, 0o600)
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
