package competition

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
)

type gradeOptions struct {
	data       app.DataFlags
	submission string
	runGroup   []string
	skipFailed bool
	outputDir  string
}

// NewGrade returns the command grade.
func NewGrade(a *app.App) *cobra.Command {
	var o gradeOptions
	cmd := &cobra.Command{
		Use:   "grade (--submission FILE.jsonl --output-dir DIR | --run-group DIR)",
		Short: "Grade a list of submissions or run groups",
		Args:  app.Takes(0, 0),
		RunE: a.Action(func(cmd *cobra.Command, _ []string) error {
			return runGrade(cmd.Context(), a, o)
		}),
	}
	cmd.Flags().StringVar(&o.submission, "submission", "", "`FILE` with the list")
	cmd.Flags().StringArrayVar(&o.runGroup, "run-group", nil, "run group in `DIR`, or all run groups in it; repeatable")
	cmd.Flags().BoolVar(&o.skipFailed, "skip-failed", false, "of run groups: leave out runs that failed around the agent")
	cmd.Flags().StringVar(&o.outputDir, "output-dir", "", "`DIR` to write the report to (default: the run group)")
	o.data.Register(cmd)
	o.data.RegisterVersion(cmd, "grade as `VERSION` of the competitions that have it, such as v2, with the data of prepare --version (default: that of the data)")
	return cmd
}

func (o gradeOptions) check() error {
	switch {
	case o.submission == "" && len(o.runGroup) == 0:
		return app.Usagef("mleflow grade needs --submission FILE or --run-group DIR")
	case o.submission != "" && len(o.runGroup) > 0:
		return app.Usagef("choose --submission or --run-group, not both")
	case o.submission != "" && o.outputDir == "":
		return app.Usagef("mleflow grade needs --output-dir DIR")
	case o.submission != "" && o.skipFailed:
		return app.Usagef("--skip-failed is for run groups")
	}
	return nil
}

func runGrade(ctx context.Context, a *app.App, o gradeOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	app.SpareMemory()
	catalog, err := a.Catalog()
	if err != nil {
		return err
	}
	layout, err := o.data.Layout(a)
	if err != nil {
		return err
	}
	batch := grading.Batch{Catalog: catalog, Grader: a.Grader(), DataDir: layout.Dir, Version: o.data.Version, Created: time.Now()}
	if err := o.data.CheckVersion(a); err != nil {
		return err
	}
	if len(o.runGroup) > 0 {
		return gradeRunGroups(ctx, a.Terminal, o, batch)
	}
	f, err := os.Open(o.submission)
	if err != nil {
		return app.Usagef("read list of submissions: %w", err)
	}
	defer f.Close()
	entries, failures, err := grading.ReadEntries(f)
	if err != nil {
		return fmt.Errorf("read list of submissions: %w", err)
	}
	batch.Done = tellGraded(a.Terminal, len(entries))
	summary, err := batch.GradeAll(ctx, entries, failures)
	if err != nil {
		return err
	}
	path, err := writeReport(summary, o.outputDir, batch.Created)
	if err != nil {
		return err
	}
	err = a.Show(summary, func() { showTotals(a.Terminal, summary, path) })
	showFailures(a.Terminal, summary, "line")
	if err == nil && len(summary.Failures) > 0 {
		err = app.ErrSilent
	}
	return err
}

// tellGraded tells of each of n submissions once it is graded.
func tellGraded(t *app.Terminal, n int) func(grading.Report) {
	done := 0
	return func(r grading.Report) {
		done++
		fmt.Fprintf(t.Stderr, "%d/%d %s: %s\n", done, n, r.CompetitionID, verdictText(r))
	}
}

// writeReport writes the report file and returns its path.
func writeReport(s grading.Summary, dir string, created time.Time) (string, error) {
	return grading.WriteFile(dir, created, func(w io.Writer) error { return app.WriteJSON(w, s) })
}

func showTotals(t *app.Terminal, s grading.Summary, path string) {
	fmt.Fprintf(t.Stdout, "%s graded: %d valid, %d medals (%d gold, %d silver, %d bronze), %d above the median\n%s\n",
		view.Plural(s.Runs, "submission"), s.Valid, s.Medals, s.Gold, s.Silver, s.Bronze, s.AboveMedian, path)
}

// showFailures reports what was not graded, by its position in a list.
func showFailures(t *app.Terminal, s grading.Summary, position string) {
	for _, bad := range s.Failures {
		fmt.Fprintf(t.Stderr, "%s %s %d: %s\n", t.ErrStyle().Bad("Not graded:"), position, bad.Line, view.OneLine(bad.Reason))
	}
}

// verdictText says in a few words what became of a submission.
func verdictText(r grading.Report) string {
	switch {
	case r.Outcome != outcome.Scored:
		return string(r.Outcome) + ": " + view.OneLine(r.Reason)
	case r.GoldMedal:
		return view.Score(float64(*r.Score)) + ", gold medal"
	case r.SilverMedal:
		return view.Score(float64(*r.Score)) + ", silver medal"
	case r.BronzeMedal:
		return view.Score(float64(*r.Score)) + ", bronze medal"
	case r.AboveMedian:
		return view.Score(float64(*r.Score)) + ", above the median"
	}
	return view.Score(float64(*r.Score)) + ", no medal"
}
