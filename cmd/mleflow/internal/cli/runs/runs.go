package runs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/plugins/transfer/source"
)

// NewRuns returns the command runs.
func NewRuns(a *app.App) *cobra.Command {
	var limit int
	var about AboutFlags
	cmd := a.Command("runs", "List the runs in this cache, newest first", app.Takes(0, 0), func(*cobra.Command, []string) error {
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
	})
	cmd.AddCommand(newRunsCleanup(a), newRunsRemove(a), newRunsPause(a), newRunsContinue(a), newRunsDrain(a), newRunsSet(a), newRunsName(a), newRunsTag(a), newRunsNote(a))
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
	sum, err := s.Summary([]string{id})
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

// userColumn is the place of the column that says whose a run is. A list has it if there
// are other users' runs.
const userColumn = 3

// RunEntry is a run in the form of runs --json.
type RunEntry struct {
	history.Entry
	// Untrusted says that an attempt was not isolated; see conditions.Untrusted.
	Untrusted bool `json:"untrusted"`
	// Called is the run's name or, without one, its two words.
	Called string `json:"called"`
}

// RunsJSON is the output of runs in JSON.
type RunsJSON struct {
	Runs []RunEntry `json:"runs"`
}

// Listed lists runs as runs --json does.
func Listed(s *app.Store, entries []history.Entry) RunsJSON {
	return RunsJSON{lists.Of(entries, func(e history.Entry) RunEntry {
		return RunEntry{e, resultsOf(s, e.ID).untrusted, e.Called(e.ID)}
	})}
}

func showRuns(s *app.Store, entries []history.Entry) error {
	if s.JSON {
		return app.WriteJSON(s.Stdout, Listed(s, entries))
	}
	if len(entries) == 0 {
		fmt.Fprintln(s.Stdout, "No runs yet.")
		return nil
	}
	rows := [][]string{{"Run", "Name", "State", "Pipeline", "Started", ">Took", ">Ran", ">Cached", ">Failed", ">Attempts finished", "Isolation", ">Medals", "Variables", "Tags and note"}}
	team := slices.ContainsFunc(entries, history.Entry.OfOthers)
	if team {
		rows[0] = slices.Insert(rows[0], userColumn, "User")
	}
	for _, e := range entries {
		row := []string{e.ID, e.Called(e.ID), string(e.State), e.PipelineName(), e.Started.Local().Format("2006-01-02 15:04:05")}
		if f := e.Finish; f != nil {
			row = append(row, view.Millis(f.DurationMillis), fmt.Sprint(f.Ran), fmt.Sprint(f.Cached), fmt.Sprint(f.Failed))
		} else {
			row = append(row, "", "", "", "")
		}
		r := resultsOf(s, e.ID)
		row = append(row, r.finished, r.isolation, r.medals, view.OneLine(view.GivenVariables(e.Argv)), view.OneLine(e.Said()))
		if team {
			row = slices.Insert(row, userColumn, view.OneLine(e.User))
		}
		rows = append(rows, row)
	}
	if width := s.Width(); width > 0 && !s.Verbose {
		rows = narrowed(rows, width)
	}
	t := view.NewTable(rows[0]...)
	for _, row := range rows[1:] {
		t.Row(row...)
	}
	s.Table(t)
	return nil
}

// lessImportant are the columns of the list of runs that are left out first.
var lessImportant = []string{">Cached", ">Ran", "Started", ">Attempts finished", ">Failed", "User", "Variables", "Tags and note", ">Took", ">Medals", "Isolation"}

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

// AboutFlags are --name and --tag, which describe or choose runs.
type AboutFlags struct {
	name, Note string
	tags       []string
}

// Register adds the flags.
func (f *AboutFlags) Register(flags *pflag.FlagSet, name, tag string) {
	flags.StringVar(&f.name, "name", "", name)
	flags.StringArrayVar(&f.tags, "tag", nil, tag)
}

// About returns what the flags say of a run.
func (f *AboutFlags) About() (a history.About, err error) {
	a = history.About{RunName: f.name, Note: f.Note}
	if a.Tags, err = tagsOf(f.tags); err == nil {
		err = checkAbout(a)
	}
	return a, err
}

// Written are the flags as they were written.
func (f *AboutFlags) Written() (name string, tags []string, note string) {
	return f.name, f.tags, f.Note
}

// tagsOf reads tags written as KEY=VALUE.
func tagsOf(list []string) (map[string]string, error) {
	tags := map[string]string{}
	for _, t := range list {
		k, v, ok := strings.Cut(t, "=")
		if !ok {
			return nil, app.Usagef("a tag is written KEY=VALUE, not %.80q", source.RedactText(t))
		}
		tags[k] = v
	}
	return tags, nil
}

// checkAbout refuses what cannot be shown, and addresses with a password.
func checkAbout(a history.About) error {
	if err := a.Check(); err != nil {
		return app.Wrong(err)
	}
	for _, text := range append(slices.Collect(maps.Values(a.Tags)), a.Note) {
		if source.RedactText(text) != text {
			return app.Usagef("the text holds an address that may contain a credential; names, tags and notes are stored and shown")
		}
	}
	return nil
}

func newRunsName(a *app.App) *cobra.Command {
	return runsAbout(a, "name RUN NAME", "Name a run; an empty name removes it", app.Takes(2, 2), func(args []string) (func(*history.About), history.About, error) {
		return func(about *history.About) { about.RunName = args[0] }, history.About{RunName: args[0]}, nil
	})
}

func newRunsNote(a *app.App) *cobra.Command {
	return runsAbout(a, "note RUN TEXT", "Write a note on a run; an empty text removes it", app.Takes(2, 2), func(args []string) (func(*history.About), history.About, error) {
		return func(about *history.About) { about.Note = args[0] }, history.About{Note: args[0]}, nil
	})
}

func newRunsTag(a *app.App) *cobra.Command {
	return runsAbout(a, "tag RUN KEY=VALUE...", "Tag a run; KEY= removes the tag", app.Takes(2, -1), func(args []string) (func(*history.About), history.About, error) {
		tags, err := tagsOf(args)
		return func(about *history.About) {
			for k, v := range tags {
				if about.Tags[k] = v; v == "" {
					delete(about.Tags, k)
				}
			}
		}, history.About{Tags: tags}, err
	})
}

// runsAbout is a command that changes what is said of a run. read returns the
// change and what it says, which is checked.
func runsAbout(a *app.App, use, short string, args cobra.PositionalArgs, read func([]string) (func(*history.About), history.About, error)) *cobra.Command {
	return a.Command(use, short, args, func(_ *cobra.Command, args []string) error {
		change, said, err := read(args[1:])
		if err == nil {
			err = checkAbout(said)
		}
		if err != nil {
			return err
		}
		past, err := a.FindRun(args)
		if err != nil {
			return err
		}
		about, err := past.Describe(change)
		if err != nil {
			return err
		}
		return a.Show(about, func() {
			fmt.Fprintln(a.Stdout, strings.TrimRight(fmt.Sprintf("Run %s is %s. %s", past.Info.ID, about.Called(past.Info.ID), view.OneLine(about.Said())), " "))
		})
	})
}

// chosen keeps the runs that have the name and all the tags.
func (f *AboutFlags) chosen(entries []history.Entry) ([]history.Entry, error) {
	tags, err := tagsOf(f.tags)
	return slices.DeleteFunc(entries, func(e history.Entry) bool { return !e.Chosen(e.ID, f.name, tags) }), err
}
