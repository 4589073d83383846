package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/metric"
)

type gradeOptions struct {
	data       dataFlags
	submission string
	outputDir  string
}

func newGrade(a *app) *cobra.Command {
	var o gradeOptions
	cmd := &cobra.Command{
		Use:   "grade --submission FILE.jsonl --output-dir DIR",
		Short: "Grade a list of submissions",
		Long: `Grade every submission of a list, one JSON object a line with competition_id and
submission_path, and write DIR/<time>_grading_report.json with the totals and one
report each. A bad entry is reported and stops nothing; the exit status is then 1.`,
		Args: needs(takes(0, 0), "submission", "output-dir"),
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			return runGrade(cmd.Context(), a, o)
		}),
	}
	cmd.Flags().StringVar(&o.submission, "submission", "", "`FILE` with the list (required)")
	cmd.Flags().StringVar(&o.outputDir, "output-dir", "", "`DIR` to write the report to (required)")
	o.data.register(cmd)
	return cmd
}

func runGrade(ctx context.Context, a *app, o gradeOptions) error {
	spareMemory()
	catalog, err := competitions.Shipped()
	if err != nil {
		return err
	}
	layout, err := o.data.layout(a)
	if err != nil {
		return err
	}
	f, err := os.Open(o.submission)
	if err != nil {
		return usagef("read list of submissions: %w", err)
	}
	defer f.Close()
	entries, failures, err := grading.ReadEntries(f)
	if err != nil {
		return fmt.Errorf("read list of submissions: %w", err)
	}
	created, done := time.Now(), 0
	batch := grading.Batch{Catalog: catalog, Metrics: metric.All(), DataDir: layout.Dir, Created: created, Done: func(r grading.Report) {
		done++
		fmt.Fprintf(a.stderr, "%d/%d %s: %s\n", done, len(entries), r.CompetitionID, verdictText(r))
	}}
	summary, err := batch.GradeAll(ctx, entries, failures)
	if err != nil {
		return err
	}
	return a.keepReport(summary, o.outputDir, created)
}

// keepReport writes the report file and prints the totals.
func (a *app) keepReport(s grading.Summary, dir string, created time.Time) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	path := filepath.Join(dir, grading.FileName(created))
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := errors.Join(writeJSON(f, s), f.Close()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if a.json {
		if err := writeJSON(a.stdout, s); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.stdout, "%s graded: %d valid, %d medals (%d gold, %d silver, %d bronze), %d above the median\n%s\n",
			view.Plural(s.Runs, "submission"), s.Valid, s.Medals, s.Gold, s.Silver, s.Bronze, s.AboveMedian, path)
	}
	for _, bad := range s.Failures {
		fmt.Fprintf(a.stderr, "%s line %d: %s\n", a.errStyle().Bad("Not graded:"), bad.Line, view.OneLine(bad.Reason))
	}
	if len(s.Failures) > 0 {
		return errSilent
	}
	return nil
}

// verdictText says in a few words what became of a submission.
func verdictText(r grading.Report) string {
	switch {
	case r.Outcome != grading.Scored:
		return string(r.Outcome) + ": " + view.OneLine(r.Reason)
	case r.GoldMedal:
		return fmt.Sprintf("%v, gold medal", float64(*r.Score))
	case r.SilverMedal:
		return fmt.Sprintf("%v, silver medal", float64(*r.Score))
	case r.BronzeMedal:
		return fmt.Sprintf("%v, bronze medal", float64(*r.Score))
	case r.AboveMedian:
		return fmt.Sprintf("%v, above the median", float64(*r.Score))
	}
	return fmt.Sprintf("%v, no medal", float64(*r.Score))
}
