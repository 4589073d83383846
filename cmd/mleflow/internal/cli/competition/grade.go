package competition

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/competitions/reward"
	"github.com/mleflow/mleflow/competitions/rungroup"
)

type gradeOptions struct {
	data                  app.DataFlags
	submission, outputDir string
	runGroup              []string
	skipFailed            bool
}

// NewGrade returns the command grade.
func NewGrade(a *app.App) *cobra.Command {
	var o gradeOptions
	cmd := a.Command("grade (--submission FILE.jsonl --output-dir DIR | --run-group DIR)",
		"Grade a list of submissions or run groups", app.Takes(0, 0),
		func(cmd *cobra.Command, _ []string) error { return runGrade(cmd.Context(), a, o) }, &o.data)
	cmd.Flags().StringVar(&o.submission, "submission", "", "`FILE` with the list")
	cmd.Flags().StringArrayVar(&o.runGroup, "run-group", nil, "run group in `DIR`, or all run groups in it; repeatable")
	cmd.Flags().BoolVar(&o.skipFailed, "skip-failed", false, "of run groups: leave out runs that failed around the agent")
	cmd.Flags().StringVar(&o.outputDir, "output-dir", "", "`DIR` to write the report to (default: the run group)")
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
	catalog, errCatalog := a.Catalog()
	layout, errLayout := o.data.Layout(a)
	if err := cmp.Or(errCatalog, errLayout, o.data.CheckVersion(a)); err != nil {
		return err
	}
	batch := grading.Batch{Catalog: catalog, Grader: a.Grader(), DataDir: layout.Dir, Version: o.data.Version, Created: time.Now()}
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
	return app.Failing(err, len(summary.Failures) > 0)
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
	if r.Outcome != outcome.Scored {
		return string(r.Outcome) + ": " + view.OneLine(r.Reason)
	}
	award := "no medal"
	if best := r.Best(); best != "none" {
		award = best + " medal"
	} else if r.AboveMedian {
		award = "above the median"
	}
	return view.Score(float64(*r.Score)) + ", " + award
}

// GradedGroup is a run group that was graded.
type GradedGroup struct {
	Name   string `json:"run_group"`
	Report string `json:"report"`
	// Outcomes counts the runs by how they ended.
	Outcomes map[outcome.End]int `json:"outcomes"`
	grading.Summary
}

// groupToGrade is a run group and the folder that its report goes to.
type groupToGrade struct {
	*rungroup.Group
	to string
}

// runGroups opens the run groups that the flags name.
func (o gradeOptions) runGroups() ([]groupToGrade, error) {
	var dirs []string
	for _, dir := range o.runGroup {
		found, err := rungroup.Find(dir)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, found...)
	}
	groups := make([]groupToGrade, len(dirs))
	taken := map[string]string{}
	for i, dir := range dirs {
		group, err := rungroup.Open(dir)
		if err != nil {
			return nil, err
		}
		to := dir
		if o.outputDir != "" {
			to = o.outputDir
			if len(dirs) > 1 {
				to = filepath.Join(to, filepath.Base(filepath.Clean(dir)))
			}
		}
		if other, ok := taken[to]; ok {
			return nil, fmt.Errorf("the reports of %s and %s would both go to %s; grade them one by one", other, dir, to)
		}
		taken[to] = dir
		groups[i] = groupToGrade{group, to}
		if err := groups[i].checkUngraded(); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// checkUngraded refuses a second report of the same runs: it would count as further
// seeds.
func (g groupToGrade) checkUngraded() error {
	old, err := g.Graded(g.to)
	if err == nil && old != "" {
		err = app.Usagef("%s is already graded; move %s away, or write elsewhere with --output-dir", g.Dir, old)
	}
	return err
}

// gradeRunGroups grades groups one after the other, the runs of each at once.
func gradeRunGroups(ctx context.Context, t *app.Terminal, o gradeOptions, batch grading.Batch) error {
	groups, err := o.runGroups()
	if err != nil {
		return app.Wrong(err)
	}
	var done []GradedGroup
	failed := false
	for _, group := range groups {
		graded, left, err := gradeRunGroup(ctx, t, o, batch, group)
		if err != nil {
			return err
		}
		failed = failed || len(graded.Failures) > left
		done = append(done, graded)
	}
	return app.Failing(t.Show(map[string]any{"run_groups": done}, func() {}), failed) // people were shown each group
}

// gradeRunGroup grades one group and returns how many of its runs were left
// out as asked.
func gradeRunGroup(ctx context.Context, t *app.Terminal, o gradeOptions, batch grading.Batch, group groupToGrade) (GradedGroup, int, error) {
	out := GradedGroup{Name: group.Name, Outcomes: map[outcome.End]int{}}
	warnRunGroup(t, o, group.Group)
	var entries []grading.Entry
	var left []grading.Failure
	for i, e := range group.Entries() {
		run := group.Runs[i]
		out.Outcomes[run.Outcome]++
		if o.skipFailed && run.Outcome == outcome.MachineFailed {
			left = append(left, grading.Failure{Line: e.Line, CompetitionID: e.CompetitionID, Reason: run.ID + ": " + run.Note})
			continue
		}
		entries = append(entries, e)
	}
	batch.Created = time.Now()
	batch.Done = tellGraded(t, len(entries))
	var err error
	if out.Summary, err = batch.GradeAll(ctx, entries, left); err != nil {
		return out, 0, err
	}
	if err := group.checkUngraded(); err != nil { // another process may have done it meanwhile
		return out, 0, err
	}
	if out.Report, err = writeReport(out.Summary, group.to, batch.Created); err != nil {
		return out, 0, err
	}
	if !t.JSON {
		fmt.Fprintf(t.Stdout, "%s: %s\n", view.Text(group.Name), outcomesText(out.Outcomes))
		showTotals(t, out.Summary, out.Report)
	}
	showFailures(t, out.Summary, "run")
	return out, len(left), nil
}

// warnRunGroup tells what of a group counts otherwise than it looks.
func warnRunGroup(t *app.Terminal, o gradeOptions, group *rungroup.Group) {
	failed := 0
	for _, run := range group.Runs {
		if run.Outcome == outcome.MachineFailed {
			failed++
		}
		if run.Refused != "" {
			t.Note("Note:", "%s: %s; it counts as no submission", run.ID, run.Refused)
		}
	}
	if failed > 0 && !o.skipFailed {
		t.Note("Note:", "%s: %s failed through no fault of the agent, and count as no submission, as in the reference; --skip-failed leaves them out",
			group.Name, view.Plural(failed, "run"))
	}
	if len(group.Unlisted) > 0 {
		t.Note("Note:", "%s: %s not named by the metadata, and not graded: %s", group.Name, view.Plural(len(group.Unlisted), "folder"), strings.Join(group.Unlisted, ", "))
	}
}

// outcomesText counts the ways in which runs ended.
func outcomesText(counts map[outcome.End]int) string {
	var parts view.Parts
	for _, o := range outcome.Ends() {
		parts.Count(counts[o], o.Text())
	}
	return parts.Join(", ")
}

type gradeSampleOptions struct {
	data              app.DataFlags
	reward, rewardDir string
	answers           string
}

// NewGradeSample returns the command grade-sample.
func NewGradeSample(a *app.App) *cobra.Command {
	var o gradeSampleOptions
	cmd := a.Command("grade-sample SUBMISSION.csv ID", "Grade one submission", app.Takes(2, 2),
		func(cmd *cobra.Command, args []string) error {
			return runGradeSample(cmd.Context(), a, o, args[0], args[1])
		}, &o.data)
	o.data.RegisterVersion(cmd, "grade as `VERSION`: v1, one with errata such as v2, or a masked one such as v1m, with the data of prepare --version (default: that of the data)")
	cmd.Flags().StringVar(&o.reward, "reward", "", reward.Usage)
	cmd.Flags().StringVar(&o.rewardDir, "reward-dir", "", "write reward.json and reward.txt to `DIR`, for training harnesses")
	cmd.Flags().StringVar(&o.answers, "answers", "", "compare with the answers in `FILE` instead of the prepared ones")
	return cmd
}

func runGradeSample(ctx context.Context, a *app.App, o gradeSampleOptions, path, id string) error {
	app.SpareMemory()
	def, errDef := a.Definition(id)
	layout, err := o.data.Layout(a)
	if err := cmp.Or(errDef, err); err != nil {
		return err
	}
	if def, layout.Dir, err = def.Place(layout.Dir, o.data.Version); err != nil {
		return app.Wrong(err)
	}
	values, err := o.data.Values(def, def)
	if err != nil {
		return err
	}
	if o.reward, err = reward.Check(o.reward, def); err != nil {
		return app.Wrong(err)
	}
	q := grading.Request{Submission: path, Answers: grading.AnswersPath(layout.Dir, def), Params: values, Created: time.Now()}
	if o.answers != "" {
		q.Answers = o.answers
	}
	report, err := a.Grader().Grade(ctx, def, q)
	if err != nil {
		return err
	}
	if o.rewardDir != "" {
		scale, err := reward.Measure(def, func(name string) (grading.Report, error) {
			q.Submission = filepath.Join(layout.Prepared(id), filepath.FromSlash(name))
			return a.Grader().Grade(ctx, def, q)
		})
		if err != nil {
			return err
		}
		if err := scale.Write(o.rewardDir, o.reward, report); err != nil {
			return err
		}
	}
	if err := showReport(a.Terminal, report, def.Medals); err != nil {
		return err
	}
	if hint := grading.Hint(report, path); hint != "" {
		fmt.Fprintf(a.Stderr, "Hint: %s.\n", hint)
	}
	if report.Outcome != outcome.Scored {
		return fmt.Errorf("%w: %w", app.ErrSilent, app.ErrInvalidSubmission)
	}
	return nil
}

func showReport(t *app.Terminal, r grading.Report, medals competitions.Medals) error {
	return t.Show(r, func() {
		fmt.Fprintf(t.Stdout, "%s: %s\n", r.CompetitionID, verdictText(r))
		if r.Rank != nil {
			fmt.Fprintf(t.Stdout, "place %s human teams\n", results.Place(*r.Rank, r.Teams))
		}
		better := competitions.Direction(r.LowerIsBetter)
		published := func(c grading.Cutoff) string { return medals.Published(float64(c)) }
		switch {
		case conditions.Rehearsed(r.Conditions):
			fmt.Fprintf(t.Stdout, "no medals: the data are those of a rehearsal (%s is better)\n", better)
		case r.Unranked():
			fmt.Fprintf(t.Stdout, "no medals: the competition has no leaderboard (%s is better)\n", better)
		default:
			fmt.Fprintf(t.Stdout, "gold %s, silver %s, bronze %s, median %s (%s is better)\n", published(r.Gold), published(r.Silver), published(r.Bronze), published(r.Median), better)
		}
		if r.NonFinite {
			fmt.Fprintln(t.Stdout, t.OutStyle().Warn("The score is not finite; check the submission before trusting a medal."))
		}
	})
}
