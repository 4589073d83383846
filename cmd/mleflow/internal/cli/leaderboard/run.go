package leaderboard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/competitions/rules"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/steps/aggregate"
)

// Gathered are the results in runs, bundles and files of reports.
type Gathered struct {
	// attempts are the rows of runs and bundles; files the reports of files.
	attempts []*results.Attempt
	files    board.File
	// Paths are those of the files.
	Paths []string
}

// Gather reads runs, bundles and files of reports. A file of that name comes before a run.
// Attempts in which one of the rules found something are left out.
func Gather(ctx context.Context, a *app.App, paths []string, rules RuleFlags) (g Gathered, err error) {
	for _, path := range paths {
		var list []*results.Attempt
		if app.NamesFile(path) || app.IsFolder(path) {
			found, err := isBundle(path)
			if err != nil || !found { // what cannot be opened is an error of the reader of files
				if len(rules.Exclude) > 0 {
					return g, fmt.Errorf("--exclude-rule: %s is a file, which does not say what rules found; name a run", path)
				}
				g.Paths = append(g.Paths, path)
				continue
			}
			if list, err = RecordsOf(ctx, a, path); err != nil {
				return g, err
			}
		} else if list, err = gradedBy(ctx, a, path); err != nil {
			return g, err
		}
		g.attempts = append(g.attempts, list...)
	}
	g.attempts = WithoutFound(a, rules, tellRepeated(a, g.attempts))
	files, err := board.ReportFiles(g.Paths)
	if err != nil {
		return g, err
	}
	g.files, err = board.ReadPaths(files)
	return g, err
}

// gradedBy returns the attempts of a run, and tells how many are not graded yet.
func gradedBy(ctx context.Context, a *app.App, name string) ([]*results.Attempt, error) {
	past, err := a.FindRun([]string{name})
	if err != nil {
		return nil, fmt.Errorf("there is no file %s, and no such run: %w", name, err)
	}
	list, _, err := runRecords(ctx, a, past)
	if err != nil {
		return nil, err
	}
	sum, err := past.Summary()
	if err != nil {
		return nil, err
	}
	graded, all := 0, 0
	for _, r := range list {
		graded += board.Count(r.Graded)
	}
	for _, s := range sum.Steps {
		all += board.Count(s.Kind == conditions.GradeKind)
	}
	switch all = max(all, view.ToGrade(sum.Start)); {
	case all == 0:
		return nil, fmt.Errorf("run %s graded nothing", sum.ID)
	case graded == 0:
		return nil, fmt.Errorf("run %s has graded none of its %d attempts yet", sum.ID, all)
	case graded < all:
		fmt.Fprintf(a.Stderr, "%s run %s has graded %d of %d attempts so far.\n", a.ErrStyle().Warn("Partial:"), sum.ID, graded, all)
	}
	return list, nil
}

// tellRepeated returns the rows of attempts, and tells how many attempts stood there again.
func tellRepeated(a *app.App, list []*results.Attempt) []*results.Attempt {
	rows, again := results.Rows(list), map[string]int{}
	for _, r := range list {
		again[r.Key()]++
	}
	for _, r := range rows {
		again[r.Key()]--
	}
	maps.DeleteFunc(again, func(_ string, n int) bool { return n == 0 })
	switch n := len(again); {
	case n == 1:
		fmt.Fprintln(a.Stderr, "1 attempt is in several of the runs and counts once.")
	case n > 1:
		fmt.Fprintf(a.Stderr, "%s are in several of the runs and count once.\n", view.Plural(n, "attempt"))
	}
	return rows
}

// ofRuns reports whether no file of reports is among the results.
func (g Gathered) ofRuns() bool { return len(g.Paths) == 0 }

// File returns the reports that can be on one board, at a version of the competitions if one
// is named, and tells which attempts are set aside.
func (g Gathered) File(t *app.Terminal, version string) board.File {
	list := slices.DeleteFunc(slices.Clone(g.attempts), func(r *results.Attempt) bool {
		return version != "" && cmp.Or(r.Report.CompetitionVersion, "v1") != version
	})
	if len(list) == 0 {
		list = g.attempts // an error will name the versions that there are
	}
	list, aside := results.Listed(list)
	if text := aside.String(); text != "" {
		fmt.Fprintf(t.Stderr, "%s.\n", text)
	}
	file := board.File{Failures: g.files.Failures}
	for _, r := range list {
		file.Reports = append(file.Reports, r.AsGraded())
	}
	file.Reports = append(file.Reports, g.files.Reports...)
	return file
}

// OwnBoard is the leaderboard of what a run has graded, and the number of reports.
func OwnBoard(ctx context.Context, a *app.App, run string) (*aggregate.Board, int, error) {
	g, err := Gather(ctx, a, []string{run}, RuleFlags{})
	if err != nil {
		return nil, 0, err
	}
	reports := g.File(a.Terminal, "").Reports
	b, err := a.BoardOf(reports)
	return b, len(reports), err
}

// TidyRun reads the attempts of a run as tidy rows.
func TidyRun(past *history.Past, c app.ResultCache, catalog *competitions.Catalog) (attempts.Run, error) {
	sum, err := past.Summary()
	if err != nil {
		return attempts.Run{}, err
	}
	p, err := past.Plan()
	if err != nil {
		return attempts.Run{}, err
	}
	chain, err := past.Chain()
	if err != nil {
		return attempts.Run{}, err
	}
	return attempts.Run{
		ID: sum.ID, Pipeline: filepath.Base(sum.Pipeline), Version: sum.Version, Started: sum.Started, About: sum.About, Steps: sum.Steps,
		Plan: p, Store: c, Index: c, Catalog: catalog, Standing: attempts.Recorded,
		Tried: func(attempts map[string]*cache.Record) *bundle.Chain {
			return bundle.CountTries(chain, sum.ID, attempts)
		},
	}, nil
}

// RuleFlags choose attempts by what rules found in them.
type RuleFlags struct{ Exclude []string }

// Register adds the flags.
func (f *RuleFlags) Register(flags *pflag.FlagSet) {
	flags.StringSliceVar(&f.Exclude, "exclude-rule", nil, "leave out attempts in which the `RULE` of a check step found something, and name them; repeatable")
}

// Check sorts the rules and rejects those that are not known. Questions that a
// language model answers have any name.
func (f *RuleFlags) Check() error {
	known := RuleNames()
	for _, name := range f.Exclude {
		if !slices.Contains(known, name) && !strings.HasPrefix(name, "judge/") {
			return app.Usagef("--exclude-rule: there is no rule %q; there are %s, and judge/QUESTION.%s", name, strings.Join(known, ", "), diag.DidYouMean(name, known))
		}
	}
	slices.Sort(f.Exclude)
	f.Exclude = slices.Compact(f.Exclude)
	return nil
}

// RuleNames lists the rules that can be excluded.
func RuleNames() (names []string) {
	for _, r := range rules.All() {
		names = append(names, r.Name)
	}
	return names
}

// WithoutFound leaves out the records in which one of the rules found something,
// and tells which, and which were not checked.
func WithoutFound(a *app.App, f RuleFlags, records []*results.Attempt) []*results.Attempt {
	if len(f.Exclude) == 0 {
		return records
	}
	unchecked := 0
	listed := slices.DeleteFunc(records, func(r *results.Attempt) bool {
		found := r.Check.Against(f.Exclude)
		if len(found) > 0 {
			fmt.Fprintf(a.Stderr, "%s %s: %s found something in it\n", a.ErrStyle().Warn("Left out:"), view.Text(r.Address), strings.Join(found, ", "))
		} else if len(r.Check.Lacks(f.Exclude)) > 0 {
			unchecked++
		}
		return len(found) > 0
	})
	if unchecked > 0 {
		fmt.Fprintf(a.Stderr, "%s %s without a check by these rules\n", a.ErrStyle().Warn("Kept:"), view.Plural(unchecked, "attempt"))
	}
	return listed
}
