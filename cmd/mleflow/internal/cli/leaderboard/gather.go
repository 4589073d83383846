package leaderboard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/boards"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/competitions/grading"
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
	// declared are the benchmarks of the runs and bundles.
	declared []results.Declared
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
				if len(rules.Exclude)+len(rules.Integrity) > 0 {
					return g, fmt.Errorf("--exclude-rule and --integrity: %s is a file, which does not say what was found; name a run", path)
				}
				g.Paths = append(g.Paths, path)
				continue
			}
			var declared results.Declared
			if list, declared, err = bundleRecords(ctx, a, path); err != nil {
				return g, err
			}
			g.declared = append(g.declared, declared)
		} else if list, err = gradedBy(ctx, a, path); err != nil {
			return g, err
		} else {
			g.declared = append(g.declared, declaredBy(a, path))
		}
		g.attempts = append(g.attempts, list...)
	}
	g.attempts = WithoutFound(a, rules, tellRepeated(a, g.attempts))
	if len(rules.Integrity) > 0 && len(g.attempts) == 0 {
		return g, fmt.Errorf("--integrity: no attempt is %s", strings.Join(rules.Integrity, " or "))
	}
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
	list, _, errList := RunRecords(ctx, a, past)
	sum, err := past.Summary()
	if err := cmp.Or(errList, err); err != nil {
		return nil, err
	}
	graded := len(lists.Where(list, func(r *results.Attempt) bool { return r.Graded }))
	begun := len(lists.Where(sum.Steps, func(s history.StepSummary) bool { return s.Kind == conditions.GradeKind }))
	switch all := max(begun, view.ToGrade(sum.Start)); {
	case all == 0:
		return nil, fmt.Errorf("run %s graded nothing", sum.ID)
	case graded == 0:
		return nil, fmt.Errorf("run %s has graded none of its %d attempts yet", sum.ID, all)
	case graded < all:
		a.Note("Partial:", "run %s has graded %d of %d attempts so far.", sum.ID, graded, all)
	}
	return list, nil
}

// tellRepeated returns the rows of attempts, and tells how many attempts stood there again.
func tellRepeated(a *app.App, list []*results.Attempt) []*results.Attempt {
	rows, again := results.Rows(list), lists.By(list, (*results.Attempt).Key)
	listed := lists.By(rows, (*results.Attempt).Key)
	maps.DeleteFunc(again, func(key string, all []*results.Attempt) bool { return len(all) == len(listed[key]) })
	if len(again) > 0 {
		fmt.Fprintf(a.Stderr, "%s once.\n", view.Verb(len(again), "attempt", "is in several of the runs and counts", "are in several of the runs and count"))
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
	return board.File{Failures: g.files.Failures, Reports: append(lists.Of(list, (*results.Attempt).AsGraded), g.files.Reports...)}
}

// OwnBoard is the leaderboard of what a run has graded, and the number of reports.
func OwnBoard(ctx context.Context, a *app.App, run string) (*aggregate.Board, int, error) {
	g, err := Gather(ctx, a, []string{run}, RuleFlags{})
	if err != nil {
		return nil, 0, err
	}
	reports := g.File(a.Terminal, "").Reports
	b, err := a.BoardOf(reports, declaredBy(a, run))
	return b, len(reports), err
}

// OfRun is the leaderboard of a run as leaderboard --json has it of several agents.
func OfRun(ctx context.Context, a *app.App, run string) (all boards.AllJSON, err error) {
	list, err := gradedBy(ctx, a, run)
	if err != nil {
		return all, app.Wrong(err)
	}
	catalog, err := a.Catalog()
	if err != nil {
		return all, err
	}
	r, file := boards.Result{Catalog: catalog}, Gathered{attempts: results.Rows(list)}.File(a.Terminal, "")
	if r.Benchmark, err = declaredBy(a, run).Only(catalog); err != nil {
		return all, app.Wrong(err)
	}
	if r.Splits, err = (leaderboardOptions{}).splits(catalog, Gathered{}, file.Reports); err != nil {
		return all, err
	}
	if err := r.Whole(file.Reports, nil); err != nil {
		return all, app.Wrong(err)
	}
	return r.All(), nil
}

// TidyRun reads the attempts of a run as tidy rows.
func TidyRun(past *history.Past, c app.ResultCache, catalog *competitions.Catalog) (attempts.Run, error) {
	sum, errSum := past.Summary()
	p, errPlan := past.Plan()
	chain, errChain := past.Chain()
	if err := cmp.Or(errSum, errPlan, errChain); err != nil {
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

// AttemptsOf returns the attempts of a run.
func AttemptsOf(ctx context.Context, a *app.App, past *history.Past, c app.ResultCache) ([]*results.Attempt, error) {
	catalog, err := a.CatalogOf(past)
	if err != nil {
		return nil, err
	}
	run, err := TidyRun(past, c, catalog)
	if err != nil {
		return nil, err
	}
	return Collected(ctx, run)
}

// Collected are the attempts of a run that have results.
func Collected(ctx context.Context, run attempts.Run) ([]*results.Attempt, error) {
	list, _, err := attempts.Collect(ctx, run)
	return list, err
}

// RuleFlags choose attempts by what was found in them.
type RuleFlags struct {
	Exclude []string
	// Integrity are the labels of the attempts that are taken; none are all.
	Integrity []string
}

// Register adds the flags.
func (f *RuleFlags) Register(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.Exclude, "exclude-rule", nil, "leave out attempts in which the `RULE` of a check step found something, and name them; repeatable")
	cmd.Flags().StringSliceVar(&f.Integrity, "integrity", nil, "only attempts whose integrity has a `LABEL`: "+strings.Join(grading.IntegrityWords(), ", ")+"; repeatable")
}

// Check sorts the rules and rejects those that are not known. Questions that a
// language model answers have any name.
func (f *RuleFlags) Check() error {
	for _, label := range f.Integrity {
		if words := grading.IntegrityWords(); !slices.Contains(words, label) {
			return app.Usagef("--integrity: there is no label %q; there are %s.%s", label, strings.Join(words, ", "), diag.DidYouMean(label, words))
		}
	}
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
func RuleNames() []string {
	return lists.Of(rules.All(), func(r rules.Rule) string { return r.Name })
}

// WithoutFound leaves out the records in which one of the rules found something,
// and tells which, and which were not checked.
func WithoutFound(a *app.App, f RuleFlags, records []*results.Attempt) []*results.Attempt {
	if n := len(records); len(f.Integrity) > 0 {
		records = slices.DeleteFunc(records, func(r *results.Attempt) bool { return !slices.Contains(f.Integrity, string(r.Integrity().Label)) })
		if n > len(records) {
			a.Note("Left out:", "%s with another integrity", view.Plural(n-len(records), "attempt"))
		}
	}
	if len(f.Exclude) == 0 {
		return records
	}
	unchecked := 0
	listed := slices.DeleteFunc(records, func(r *results.Attempt) bool {
		found := r.Check.Against(f.Exclude)
		if len(found) > 0 {
			a.Note("Left out:", "%s: %s found something in it", r.Address, strings.Join(found, ", "))
		} else if len(r.Check.Lacks(f.Exclude)) > 0 {
			unchecked++
		}
		return len(found) > 0
	})
	if unchecked > 0 {
		a.Note("Kept:", "%s without a check by these rules", view.Plural(unchecked, "attempt"))
	}
	return listed
}

// RecordsOf returns the attempts of a run, a bundle, a file of reports or a folder of
// them.
func RecordsOf(ctx context.Context, a *app.App, arg string) ([]*results.Attempt, error) {
	if !app.IsFolder(arg) && !app.NamesFile(arg) {
		past, err := a.FindRun([]string{arg})
		if err != nil {
			return nil, err
		}
		records, left, err := RunRecords(ctx, a, past)
		TellLeft(a, left)
		return records, err
	}
	catalog, err := a.Catalog()
	if err != nil {
		return nil, err
	}
	if found, err := isBundle(arg); err != nil {
		return nil, app.Wrong(fmt.Errorf("read results: %w", err))
	} else if !found {
		return fileRecords(arg, catalog)
	}
	records, _, err := bundleRecords(ctx, a, arg)
	return records, err
}

// isBundle reports whether a path is that of a bundle.
func isBundle(path string) (bool, error) {
	if app.IsFolder(path) {
		return false, nil
	}
	return bundle.Begins(path)
}

func fileRecords(path string, catalog *competitions.Catalog) ([]*results.Attempt, error) {
	files, err := board.ReportFiles([]string{path})
	if err != nil {
		return nil, app.Wrong(err)
	}
	var records []*results.Attempt
	for _, file := range files {
		list, err := attempts.FromFile(file, catalog)
		if err != nil {
			return nil, app.Wrong(err)
		}
		records = append(records, list...)
	}
	attempts.Sort(records)
	return records, nil
}

func bundleRecords(ctx context.Context, a *app.App, path string) (records []*results.Attempt, d results.Declared, err error) {
	catalog, err := a.Catalog()
	if err != nil {
		return nil, d, err
	}
	work, stop := a.MeterWork("reading " + path)
	defer stop()
	b, x, err := bundle.OpenExamined(ctx, path, nil, work)
	if err != nil {
		return nil, d, err
	}
	defer b.Close()
	p, err := b.Plan()
	if err != nil {
		return nil, d, err
	}
	records, left, err := attempts.FromBundle(ctx, b, x, catalog, "claimed")
	TellLeft(a, left)
	return records, results.Declared{Run: x.Run.ID, Benchmarks: p.Benchmarks}, err
}

// declaredBy are the benchmarks of a run; none without its plan.
func declaredBy(a *app.App, name string) (d results.Declared) {
	past, err := a.FindRun([]string{name})
	if err != nil {
		return d // read before
	}
	d.Run = past.Info.ID
	if p, err := past.Plan(); err == nil {
		d.Benchmarks = p.Benchmarks
	}
	return d
}

// RunRecords reads the attempts of a run from the records of the cache, and lists the steps
// that have no row.
func RunRecords(ctx context.Context, a *app.App, past *history.Past) (records []*results.Attempt, left []attempts.Left, err error) {
	catalog, err := a.CatalogOf(past)
	if err != nil {
		return nil, nil, err
	}
	err = a.WithResults(past, func(c app.ResultCache) error {
		run, err := TidyRun(past, c, catalog)
		if err != nil {
			return err
		}
		records, left, err = attempts.Collect(ctx, run)
		return err
	})
	return records, left, err
}

// TellLeft tells of the steps that have no row.
func TellLeft(a *app.App, left []attempts.Left) {
	for _, l := range left {
		a.Note("Left out:", "%s: %s", l.Address, l.Why)
	}
}
