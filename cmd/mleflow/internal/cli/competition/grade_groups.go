package competition

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/competitions/outcome"
	"github.com/mleflow/mleflow/competitions/rungroup"
)

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
	err = t.Show(map[string]any{"run_groups": done}, func() {}) // people were shown each group
	if err == nil && failed {
		err = app.ErrSilent
	}
	return err
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
	warn := func(format string, args ...any) {
		fmt.Fprintf(t.Stderr, "%s %s\n", t.ErrStyle().Warn("Note:"), view.Text(fmt.Sprintf(format, args...)))
	}
	failed := 0
	for _, run := range group.Runs {
		if run.Outcome == outcome.MachineFailed {
			failed++
		}
		if run.Refused != "" {
			warn("%s: %s; it counts as no submission", run.ID, run.Refused)
		}
	}
	if failed > 0 && !o.skipFailed {
		warn("%s: %s failed through no fault of the agent, and count as no submission, as in the reference; --skip-failed leaves them out",
			group.Name, view.Plural(failed, "run"))
	}
	if len(group.Unlisted) > 0 {
		warn("%s: %s not named by the metadata, and not graded: %s", group.Name, view.Plural(len(group.Unlisted), "folder"), strings.Join(group.Unlisted, ", "))
	}
}

// outcomesText counts the ways in which runs ended.
func outcomesText(counts map[outcome.End]int) string {
	var parts []string
	for _, o := range outcome.Ends() {
		if n := counts[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o.Text()))
		}
	}
	return strings.Join(parts, ", ")
}
