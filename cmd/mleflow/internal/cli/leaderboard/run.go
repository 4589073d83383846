package leaderboard

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/attempts"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view/outputs"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/competitions/rules"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/ledger"
)

// WithRuns replaces runs among paths by folders with their grading reports,
// which last until the returned function is called. A file of that name comes
// before a run.
// Attempts in which one of the rules found something are left out.
func WithRuns(ctx context.Context, a *app.App, paths []string, rules RuleFlags) ([]string, func(), error) {
	out := slices.Clone(paths)
	var made []string
	done := func() {
		for _, dir := range made {
			os.RemoveAll(dir)
		}
	}
	for i, path := range paths {
		dir, err := runFolder(ctx, a, path, rules)
		if dir != "" {
			made, out[i] = append(made, dir), dir
		}
		if err != nil {
			done()
			return nil, nil, err
		}
	}
	return out, done, nil
}

// ReadRuns reads the reports of runs and files.
func ReadRuns(ctx context.Context, a *app.App, paths ...string) (board.File, error) {
	paths, done, err := WithRuns(ctx, a, paths, RuleFlags{})
	if err != nil {
		return board.File{}, err
	}
	defer done()
	if paths, err = board.ReportFiles(paths); err != nil {
		return board.File{}, err
	}
	return board.ReadPaths(paths)
}

// runFolder writes the reports of a run to a folder; "" if path is one of a file.
func runFolder(ctx context.Context, a *app.App, path string, rules RuleFlags) (dir string, err error) {
	if app.NamesFile(path) || isFolder(path) {
		if found, err := isBundle(path); err == nil && found {
			return bundleFolder(ctx, a, path, rules)
		}
		if len(rules.Exclude) > 0 {
			return "", fmt.Errorf("--exclude-rule: %s is a file, which does not say what rules found; name a run", path)
		}
		return "", nil
	}
	past, err := a.FindRun([]string{path})
	if err != nil {
		return "", fmt.Errorf("there is no file %s, and no such run: %w", path, err)
	}
	if err := a.UseRun(past); err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "mleflow-reports-"); err != nil {
		return "", err
	}
	return dir, a.WithResults(past, func(c app.ResultCache) error {
		return writeReports(ctx, a, c, past, attempts.ReportFolder{Dir: dir, Exclude: rules.Exclude})
	})
}

// bundleFolder writes the reports in a bundle to a folder.
func bundleFolder(ctx context.Context, a *app.App, path string, rules RuleFlags) (dir string, err error) {
	records, err := RecordsOf(ctx, a, path)
	if err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp("", "mleflow-reports-"); err != nil {
		return "", err
	}
	for i, r := range WithoutFound(a, rules, records) {
		if !r.Graded {
			continue
		}
		text, err := json.Marshal(r.AsGraded())
		if err != nil {
			return dir, err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d_grading_report.json", i)), text, 0o600); err != nil {
			return dir, err
		}
	}
	return dir, nil
}

// writeReports tells how many attempts are left out, and how many not graded yet.
func writeReports(ctx context.Context, a *app.App, c app.ResultCache, past *ledger.Past, to attempts.ReportFolder) error {
	sum, err := past.Summary()
	if err != nil {
		return err
	}
	run, err := TidyRun(past, c, nil)
	if err != nil {
		return err
	}
	n, err := to.Write(ctx, run, &outputs.Source{Store: c, Index: c, Run: sum})
	for _, e := range n.Excluded {
		tellExcluded(a, e.Address, e.Rules)
	}
	switch {
	case err != nil:
		return err
	case n.Missing == n.Found && n.Found > 0:
		return fmt.Errorf("run %s has graded none of its %d attempts yet", sum.ID, n.Found)
	case n.Missing > 0:
		fmt.Fprintf(a.Stderr, "%s run %s has graded %d of %d attempts so far.\n", a.ErrStyle().Warn("Partial:"), sum.ID, n.Found-n.Missing, n.Found)
	}
	tellUnchecked(a, n.Unchecked)
	if n.Found == 0 {
		return fmt.Errorf("run %s graded nothing", sum.ID)
	}
	return nil
}

// TidyRun reads the attempts of a run as tidy rows.
func TidyRun(past *ledger.Past, c app.ResultCache, catalog *competitions.Catalog) (attempts.Run, error) {
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
	kept := slices.DeleteFunc(records, func(r *results.Attempt) bool {
		found := r.Check.Against(f.Exclude)
		if len(found) > 0 {
			tellExcluded(a, r.Address, found)
		} else if len(r.Check.Lacks(f.Exclude)) > 0 {
			unchecked++
		}
		return len(found) > 0
	})
	tellUnchecked(a, unchecked)
	return kept
}

func tellExcluded(a *app.App, address string, found []string) {
	fmt.Fprintf(a.Stderr, "%s %s: %s found something in it\n", a.ErrStyle().Warn("Left out:"), view.Text(address), strings.Join(found, ", "))
}

func tellUnchecked(a *app.App, n int) {
	if n > 0 {
		fmt.Fprintf(a.Stderr, "%s %s without a check by these rules\n", a.ErrStyle().Warn("Kept:"), view.Plural(n, "attempt"))
	}
}
