package runs

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
)

// NewRuns returns the command runs.
func NewRuns(a *app.App) *cobra.Command {
	var limit int
	var about AboutFlags
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the runs in this cache, newest first",
		Args:  app.Takes(0, 0),
		RunE: a.Action(func(*cobra.Command, []string) error {
			l, err := a.OpenHistory()
			if err != nil {
				return err
			}
			entries, err := l.List()
			if err != nil {
				return err
			}
			if entries, err = about.chosen(entries); err != nil {
				return err
			}
			if limit > 0 && len(entries) > limit {
				entries = entries[:limit]
			}
			if len(entries) == 0 && !a.JSON && (about.name != "" || len(about.tags) > 0) {
				fmt.Fprintln(a.Stdout, "No such runs.")
				return nil
			}
			return showRuns(a.Store, entries)
		}),
	}
	cmd.AddCommand(newRunsCleanup(a), newRunsPause(a), newRunsContinue(a), newRunsName(a), newRunsTag(a), newRunsNote(a))
	about.Register(cmd.Flags(), "list only runs called `NAME`", "list only runs tagged `KEY=VALUE`; repeatable")
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "list at most `N` runs (0: all)")
	return cmd
}

// runResults is what a list of runs says of the results of one.
type runResults struct {
	// finished says how many attempts finished, isolation how all were isolated,
	// medals how many graded submissions have one; empty if there are none.
	finished, isolation, medals string
	untrusted                   bool
}

// resultsOf reads the results of a run.
func resultsOf(s *app.Store, id string) (r runResults) {
	past, err := s.FindRun([]string{id})
	if err != nil {
		return r
	}
	sum, err := past.Summary()
	if err != nil {
		return r
	}
	if attempts := app.AttemptsOf(sum); attempts.Any() {
		r.isolation, r.untrusted = attempts.Shown(), attempts.Untrusted()
	}
	outcomes := view.OutcomesOf(sum)
	r.finished, r.medals = outcomes.Finished(), medalsOf(sum)
	return r
}

// medalsOf counts the submissions with a medal among those that can win one that counts.
func medalsOf(sum *history.Summary) string {
	graded, medals := 0, 0
	for _, s := range sum.Steps {
		medal, ok := s.Outputs["medal"]
		a := results.Attempt{Graded: ok && s.Kind == conditions.GradeKind}
		if a.Report.Conditions = s.Conditions; a.WithoutMedals() == "" {
			graded, medals = graded+1, medals+board.Count(medal != `"none"`)
		}
	}
	if graded == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", medals, graded)
}

// RunEntry is a run in the form of runs --json.
type RunEntry struct {
	history.Entry
	// Untrusted says that an attempt was not isolated; see conditions.Untrusted.
	Untrusted bool `json:"untrusted"`
	// Called is the run's name or, without one, its two words.
	Called string `json:"called"`
}

func showRuns(s *app.Store, entries []history.Entry) error {
	if s.JSON {
		list := make([]RunEntry, len(entries))
		for i, e := range entries {
			list[i] = RunEntry{e, resultsOf(s, e.ID).untrusted, e.Called(e.ID)}
		}
		return app.WriteJSON(s.Stdout, map[string]any{"runs": list})
	}
	if len(entries) == 0 {
		fmt.Fprintln(s.Stdout, "No runs yet.")
		return nil
	}
	rows := [][]string{{"Run", "Name", "State", "Pipeline", "Started", ">Took", ">Ran", ">Cached", ">Failed", ">Attempts finished", "Isolation", ">Medals", "Variables", "Tags and note"}}
	for _, e := range entries {
		row := []string{e.ID, e.Called(e.ID), string(e.State), e.PipelineName(), e.Started.Local().Format("2006-01-02 15:04:05")}
		if f := e.Finish; f != nil {
			row = append(row, view.Millis(f.DurationMillis), fmt.Sprint(f.Ran), fmt.Sprint(f.Cached), fmt.Sprint(f.Failed))
		} else {
			row = append(row, "", "", "", "")
		}
		r := resultsOf(s, e.ID)
		rows = append(rows, append(row, r.finished, r.isolation, r.medals, view.OneLine(view.GivenVariables(e.Argv)), view.OneLine(e.Said())))
	}
	if width := view.Width(s.Stdout); width > 0 && !s.Verbose {
		rows = narrowed(rows, width)
	}
	t := view.NewTable(rows[0]...)
	for _, row := range rows[1:] {
		t.Row(row...)
	}
	return t.Write(s.Stdout, s.OutStyle())
}

// lessImportant are the columns of the list of runs that are left out first.
var lessImportant = []string{">Cached", ">Ran", "Started", ">Attempts finished", ">Failed", "Variables", "Tags and note", ">Took", ">Medals", "Isolation"}

// narrowed shortens texts and leaves out columns, also empty ones, until the rows
// fit a terminal.
func narrowed(rows [][]string, width int) [][]string {
	widths := map[string]int{}
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 && utf8.RuneCountInString(cell) > 20 {
				row[i] = string([]rune(cell)[:19]) + "…"
			}
			if cell != rows[0][i] && cell != "" {
				widths[rows[0][i]] = max(widths[rows[0][i]], len(strings.TrimPrefix(rows[0][i], ">"))+2, utf8.RuneCountInString(row[i])+2)
			}
		}
	}
	total := -2
	for _, w := range widths {
		total += w
	}
	for _, name := range lessImportant {
		if total > width {
			total -= widths[name]
			delete(widths, name)
		}
	}
	out := make([][]string, len(rows))
	for n, row := range rows {
		for i, cell := range row {
			if widths[rows[0][i]] > 0 {
				out[n] = append(out[n], cell)
			}
		}
	}
	return out
}
