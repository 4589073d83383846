package competition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dataset"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/kit"
	"github.com/mleflow/mleflow/competitions/pins"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
	"github.com/mleflow/mleflow/steps/holdout"
)

type testOptions struct {
	folder       folderFlag
	data         app.DataFlags
	against, raw string
}

func newCompetitionTest(a *app.App) *cobra.Command {
	var o testOptions
	cmd := a.Command("test [ID]...", "Test competitions' graders with submissions whose outcome is known", app.Takes(0, -1),
		func(cmd *cobra.Command, args []string) error {
			if o.against != "" && o.against != "python" {
				return app.Usagef("--against compares with python, not with %q", o.against)
			}
			defs, err := definitions(a.Library, o.folder, args)
			if err != nil {
				return err
			}
			return testCompetitions(cmd.Context(), a, o, defs, len(args) > 0)
		}, &o.folder, &o.data)
	cmd.Flags().StringVar(&o.against, "against", "", "compare the blocks prepare and grade with the `PYTHON` that they replace: python")
	cmd.Flags().StringVar(&o.raw, "raw", "", "with --against, take the unpacked download from `DIR`")
	return cmd
}

// TestJSON is what competition test prints with --json.
type TestJSON struct {
	Checks []CheckJSON `json:"checks"`
	// Agents are the files that agents get of each competition that was named.
	Agents []AgentFilesJSON `json:"agents,omitempty"`
}

// AgentFilesJSON are the files that agents get of a competition.
type AgentFilesJSON struct {
	Competition string          `json:"competition"`
	Files       []kit.AgentFile `json:"files"`
}

// CheckJSON is one check in competition test --json.
type CheckJSON struct {
	Competition string `json:"competition"`
	kit.Check
}

func testCompetitions(ctx context.Context, a *app.App, o testOptions, defs []*competitions.Definition, named bool) error {
	layout, err := o.data.Layout(a)
	if err != nil {
		return err
	}
	tested := TestJSON{Checks: []CheckJSON{}}
	for _, def := range defs {
		test := testOne
		if o.against != "" {
			test = testAgainst
		}
		found, files, err := test(ctx, a, o, def, layout)
		if errors.Is(err, errNoData) && !named {
			continue
		}
		if err != nil {
			return fmt.Errorf("test %s: %w", def.ID, err)
		}
		for _, c := range found {
			tested.Checks = append(tested.Checks, CheckJSON{def.ID, c})
		}
		if named && files != nil {
			tested.Agents = append(tested.Agents, AgentFilesJSON{def.ID, files})
		}
	}
	return showChecked(a.Terminal, tested)
}

// errNoData says that a competition cannot be tested for want of data.
var errNoData = errors.New("nothing is prepared")

func testOne(ctx context.Context, a *app.App, o testOptions, def *competitions.Definition, layout dataset.Layout) (_ []kit.Check, _ []kit.AgentFile, err error) {
	values, err := o.data.Values(def)
	if err != nil {
		return nil, nil, err
	}
	if def, err = def.In(layout.Dir); err != nil {
		return nil, nil, err
	}
	prepared := layout.Prepared(def.ID)
	if _, missing := os.Stat(prepared); missing != nil {
		dir, mkErr := os.MkdirTemp("", "mleflow-test-*")
		if mkErr != nil {
			return nil, nil, fmt.Errorf("make folder: %w", mkErr)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		if !def.HasData() {
			return nil, nil, fmt.Errorf("%w; see mleflow prepare -c %s", errNoData, def.ID)
		}
		if prepared, err = a.PrepareShipped(ctx, dataset.Job{Def: def, Layout: dataset.Layout{Dir: dir}, Params: values}); err != nil {
			return nil, nil, err
		}
	}
	files, err := kit.AgentFiles(prepared)
	if err != nil {
		return nil, nil, err
	}
	checks, err := kit.Test(ctx, def, kit.TestOptions{Prepared: prepared, Params: values, Metrics: metric.All(), Executor: a.Programs(), Packages: a.Packages})
	return checks, files, err
}

// testAgainst compares the blocks of a definition with its Python on the same raw data.
func testAgainst(ctx context.Context, a *app.App, o testOptions, def *competitions.Definition, layout dataset.Layout) (_ []kit.Check, _ []kit.AgentFile, err error) {
	prepares := !def.Prepare.IsZero() && def.Python.Prepare != ""
	if def.Python.Package == "" || !prepares && (def.Grade.IsZero() || def.Python.Grade == "") {
		return nil, nil, app.Usagef("%s has no block that replaces its Python: add a block prepare or grade beside the block python", def.ID)
	}
	raw := cmp.Or(o.raw, layout.Raw(def.ID))
	if !app.IsFolder(raw) && !def.HasData() {
		return nil, nil, app.Usagef("there is no folder %s: name the raw data with --raw, or keep them with mleflow prepare -c %s --keep-raw", raw, def.ID)
	}
	dir, err := os.MkdirTemp("", "mleflow-test-*")
	if err != nil {
		return nil, nil, fmt.Errorf("make folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	prepare := func(def *competitions.Definition, to string) (string, error) {
		job := dataset.Job{Def: def, Layout: dataset.Layout{Dir: filepath.Join(dir, to)}, SkipVerification: true, Machine: a.ProgramMachine()}
		if !app.IsFolder(raw) {
			return a.PrepareShipped(ctx, job)
		}
		job.Raw = raw
		done, err := dataset.Prepare(ctx, job)
		return done.Path, err
	}
	t := kit.TestOptions{Metrics: metric.All(), Executor: a.Programs(), Packages: a.Packages}
	if t.Prepared, err = prepare(def.AsPython(), "python"); err != nil {
		return nil, nil, err
	}
	ours := ""
	if prepares {
		if ours, err = prepare(def, "blocks"); err != nil {
			return nil, nil, err
		}
	}
	checks, err := kit.Against(ctx, def, ours, t)
	return checks, nil, err
}

func showChecked(t *app.Terminal, tested TestJSON) error {
	counts := map[kit.Verdict]int{}
	for _, c := range tested.Checks {
		counts[c.Verdict]++
	}
	err := t.Show(tested, func() {
		for _, of := range tested.Agents {
			writeAgentFiles(t, of)
		}
		style := t.OutStyle()
		paint := map[kit.Verdict]func(string) string{kit.Passed: style.Good, kit.Failed: style.Bad, kit.Odd: style.Warn, kit.Skipped: style.Dim}
		for _, c := range tested.Checks {
			fmt.Fprintf(t.Stdout, "%s %s: %s: %s\n", paint[c.Verdict](fmt.Sprintf("%-7s", c.Verdict)), c.Competition, c.Name, view.OneLine(c.Detail))
		}
		fmt.Fprintf(t.Stdout, "%d passed, %d failed, %d odd, %d skipped.\n", counts[kit.Passed], counts[kit.Failed], counts[kit.Odd], counts[kit.Skipped])
	})
	return app.Failing(err, counts[kit.Failed] > 0)
}

// rowWidth is the number of characters of a row that are shown.
const rowWidth = 100

func writeAgentFiles(t *app.Terminal, of AgentFilesJSON) {
	fmt.Fprintf(t.Stdout, "What agents get of %s:\n", of.Competition)
	for _, f := range of.Files {
		size := view.Bytes(f.Bytes)
		switch {
		case f.Files > 0:
			size = view.Plural(f.Files, "file") + ", " + size
		case f.Columns != nil:
			size = view.Plural(f.Rows, "row") + ", " + view.Plural(len(f.Columns), "column") + ", " + size
		}
		fmt.Fprintf(t.Stdout, "  %s: %s\n", view.OneLine(f.Path), size)
		lines := slices.Clone(f.Head)
		if f.Columns != nil {
			lines = slices.Insert(lines, 0, strings.Join(f.Columns, ","))
		}
		if len(f.Tail) > 0 {
			lines = append(append(lines, "…"), f.Tail...)
		}
		for _, line := range lines {
			fmt.Fprintf(t.Stdout, "    %s\n", view.Cut(view.OneLine(line), rowWidth))
		}
	}
}

// folderFlag is --dir: a folder of competitions instead of all others.
type folderFlag struct{ dir string }

// Register adds the flag.
func (f *folderFlag) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "dir", "", "take competitions from `DIR` alone, not the shipped ones")
}

// definitions loads the named competitions. Without a name it loads those of
// --dir, else those of one's own if there are any, else those that ship.
func definitions(l *app.Library, f folderFlag, ids []string) ([]*competitions.Definition, error) {
	var catalog *competitions.Catalog
	var err error
	if f.dir == "" {
		catalog, err = l.Catalog()
	} else {
		catalog, err = f.catalog(ids)
	}
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		ids = catalog.Own()
	}
	if len(ids) == 0 {
		ids = catalog.IDs()
	}
	defs, err := catalog.List(competitions.Filter{IDs: ids})
	return defs, app.Wrong(err)
}

// catalog loads the named competitions of --dir, or all: what is wrong with
// others of the folder does not matter then.
func (f folderFlag) catalog(ids []string) (*competitions.Catalog, error) {
	if len(ids) == 0 {
		catalog, err := competitions.LoadFolder(competitions.Folder{Path: f.dir, From: "--dir"})
		return catalog, app.Shown(err)
	}
	catalog := &competitions.Catalog{}
	for _, id := range ids {
		dir := filepath.Join(f.dir, id)
		if _, err := os.Stat(filepath.Join(dir, competitions.FileName)); err != nil {
			return nil, app.Usagef("there is no %s", filepath.Join(dir, competitions.FileName))
		}
		var err error
		if catalog, err = catalog.With(competitions.Folder{Path: dir, From: "--dir"}); err != nil {
			return nil, app.Shown(err)
		}
	}
	return catalog, nil
}

func newCompetitionLint(a *app.App) *cobra.Command {
	var folder folderFlag
	var data app.DataFlags
	var heldOut bool
	cmd := a.Command("lint [ID]...", "Find mistakes in competitions", app.Takes(0, -1), func(cmd *cobra.Command, args []string) error {
		defs, err := definitions(a.Library, folder, args)
		if err != nil {
			return err
		}
		if heldOut && data.Dir == "" {
			return app.Usagef("--held-out splits prepared data; name their folder with --data-dir")
		}
		return lint(cmd.Context(), a, defs, data, heldOut)
	}, &folder)
	cmd.Long = lintHelp()
	cmd.Flags().StringVar(&data.Dir, "data-dir", "", "check the data prepared below `DIR` as well")
	cmd.Flags().BoolVar(&heldOut, "held-out", false, "hold out rows of these data, as for a validation score, and check what an agent would get")
	return cmd
}

func lintHelp() string {
	text := "Look for mistakes in competitions, by default all. The exit status is 1 with\nerrors. The rules:\n\n"
	for _, r := range kit.Rules() {
		text += fmt.Sprintf("  %-22s %s\n", r.Name, r.Doc)
	}
	return text
}

// FindingJSON is one finding in competition lint --json.
type FindingJSON struct {
	Competition string `json:"competition"`
	kit.Finding
	Range *diag.JSONRange `json:"range,omitempty"`
}

func lint(ctx context.Context, a *app.App, defs []*competitions.Definition, data app.DataFlags, heldOut bool) error {
	found := []FindingJSON{}
	failed := false
	for _, def := range defs {
		findings, err := lintOne(ctx, a, def, data, heldOut)
		if err != nil {
			return err
		}
		failed = failed || kit.HasErrors(findings)
		for _, f := range findings {
			found = append(found, FindingJSON{def.ID, f, rangeJSON(f)})
		}
	}
	err := a.Show(map[string]any{"findings": found}, func() { writeFindings(a.Terminal, found, len(defs)) })
	return app.Failing(err, failed)
}

func lintOne(ctx context.Context, a *app.App, def *competitions.Definition, data app.DataFlags, heldOut bool) ([]kit.Finding, error) {
	found := kit.Lint(def, metric.All())
	if data.Dir == "" {
		return found, nil
	}
	layout, err := data.Layout(a)
	if err != nil {
		return nil, err
	}
	prepared := layout.Prepared(def.ID)
	if _, err := os.Stat(prepared); err != nil {
		return found, nil
	}
	if def, err = def.In(layout.Dir); err != nil {
		return nil, err
	}
	more, err := kit.LintPrepared(def, metric.All(), os.DirFS(prepared))
	if err != nil {
		return nil, fmt.Errorf("lint %s: %w", prepared, err)
	}
	found = append(found, more...)
	if !heldOut {
		return found, nil
	}
	if more, err = lintHeldOut(ctx, a, def, filepath.Join(prepared, "public")); err != nil {
		return nil, fmt.Errorf("lint the held-out data of %s: %w", def.ID, err)
	}
	return append(found, more...), nil
}

// lintHeldOut splits public files, by way of the cache.
func lintHeldOut(ctx context.Context, a *app.App, def *competitions.Definition, public string) (found []kit.Finding, err error) {
	err = a.WithBackend(func(b *app.Backend) error {
		ref, err := tree.Import(ctx, b.Cache, public, tree.ImportOptions{Skip: pins.Beside(def)})
		if err != nil {
			return err
		}
		work, err := b.Cache.TempDir("lint")
		if err != nil {
			return err
		}
		defer func() { _ = tree.Remove(work) }()
		env := &step.Env{Store: b.Cache, WorkDir: work, Log: io.Discard, Progress: func(step.Progress) {}}
		found, err = holdout.Lint(ctx, env, def, ref)
		return err
	})
	return found, err
}

func rangeJSON(f kit.Finding) *diag.JSONRange {
	if f.Range == nil {
		return nil
	}
	return diag.ToJSON(diag.List{diag.Error(*f.Range, "", "")})[0].Range
}

func writeFindings(t *app.Terminal, found []FindingJSON, n int) {
	style := t.OutStyle()
	for _, f := range found {
		mark := style.Warn(string(f.Severity))
		switch {
		case f.Excuse != "":
			mark = style.Dim("known")
		case f.Severity == kit.Error:
			mark = style.Bad(string(f.Severity))
		}
		at := f.Competition
		if f.Range != nil {
			at = fmt.Sprintf("%s:%d", f.Range.Filename, f.Range.Start.Line)
		}
		message := f.Message + view.After("; ", f.Excuse)
		fmt.Fprintf(t.Stdout, "%s: %s: %s (%s)\n", at, mark, view.OneLine(message), f.Rule)
	}
	fmt.Fprintf(t.Stdout, "Checked %s: %s.\n", view.Plural(n, "competition"), view.Plural(len(found), "finding"))
}
