package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/local"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/planfile"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/pipelines"
)

// savePlan writes a plan to a file for apply.
func savePlan(a *app.App, out string, sel *app.SelectFlags, p *engine.Program, pl *plan.Plan) error {
	if pl.Repeats != nil && sel.Saved().Rerun == nil {
		return app.Wrong(fmt.Errorf("not saved: it %s, although nothing that you wrote differs; plan with --rerun to repeat them, or with --rerun=false to use the results", pl.Repeats))
	}
	path, err := below(p.Pipeline.Path)
	if err != nil {
		return app.Usagef("--out: %w", err)
	}
	files, err := read(a, p)
	if err != nil {
		return err
	}
	text, err := planfile.File{Version: app.ThisVersion().Version, Pipeline: path, Variables: p.Variables, Sensitive: p.Sensitive(),
		Options: sel.Saved(), Files: files, Steps: planfile.Steps(pl)}.Encode()
	if err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	if err := app.ReplaceFile(out, text); err != nil {
		return err
	}
	if !a.JSON {
		fmt.Fprintf(a.Stdout, "Saved: mleflow apply %s runs this plan, or refuses.\n", view.OneLine(out))
	}
	return nil
}

// checkOut refuses to write a plan over something else, before anything is planned.
func checkOut(out string) error {
	info, err := os.Stat(out)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	if old, err := planfile.Read(out); err == nil && old == nil {
		return app.Usagef("--out: %s exists and is no saved plan; remove it, or choose another name", out)
	}
	return nil
}

// below is the path of the pipeline from the working directory.
func below(path string) (string, error) {
	if filepath.IsAbs(path) {
		dir, err := os.Getwd()
		if err != nil {
			return "", err
		}
		if path, err = filepath.Rel(dir, path); err != nil {
			return "", err
		}
	}
	if path = filepath.Clean(path); !filepath.IsLocal(path) {
		return "", fmt.Errorf("the pipeline %s is not below the working directory, so another checkout could not apply the plan: go to a folder above it, such as that of the repository", path)
	}
	return filepath.ToSlash(path), nil
}

// read returns the digests of what a plan rests on besides results: the pipeline's files,
// the folders of its competitions, and its lock file.
func read(a *app.App, p *engine.Program) (map[string]string, error) {
	files, err := p.Read()
	if err != nil {
		return nil, err
	}
	if lock, err := os.ReadFile(lockPath(p.Pipeline.Path)); err == nil {
		files[filepath.Base(lockPath(p.Pipeline.Path))] = digest.Of(lock).String()
	}
	dir, err := filepath.Abs(filepath.Dir(p.Pipeline.Path))
	if err != nil {
		return nil, err
	}
	for _, f := range append(a.OwnFolders(), a.Named...) {
		at, err := filepath.Abs(f.Path)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(dir, at)
		if err != nil || !filepath.IsLocal(name) {
			name = filepath.Base(at) // the same in another checkout
		}
		content, err := local.Folder(at, nil, local.NewDigests("")).Dir(".", nil)
		if err != nil {
			return nil, fmt.Errorf("read competitions: %w", err)
		}
		files[filepath.ToSlash(name)+"/"] = content.Ref.ID.String()
	}
	return files, nil
}

// usePlan makes an apply one of a saved plan, and returns the pipeline's path.
func (o *applyOptions) usePlan(cmd *cobra.Command, a *app.App, f *planfile.File) (string, error) {
	for _, name := range []string{"var-file", "target", "force", "retry", "attempt", "fork", "rerun", "server"} {
		if cmd.Flags().Changed(name) {
			return "", app.Usagef("--%s: the saved plan says what runs; plan again with other flags", name)
		}
	}
	own := app.ThisVersion().Version
	if planfile.Class(f.Version) != planfile.Class(own) {
		return "", app.Usagef("the plan was saved by mleflow %s, and this is %s, which may run something else: plan again", f.Version, own)
	}
	path := filepath.FromSlash(f.Pipeline)
	src, err := config.ReadSource(path)
	if shipped, missing := fs.ReadFile(pipelines.Shipped, path); errors.Is(err, fs.ErrNotExist) && missing == nil {
		src, err = shipped, nil
	}
	if err != nil {
		return "", app.Usagef("the plan is about %s, which cannot be read here: %w", f.Pipeline, err)
	}
	if f.Files[filepath.Base(path)] != digest.Of(src).String() {
		return "", notAsPlanned([]string{f.Pipeline + " changed"})
	}
	given, err := o.givenAgain(f)
	if err != nil {
		return "", err
	}
	o.in.Assignments = given
	o.sel.Restore(f.Options)
	o.saved = f
	return path, nil
}

// givenAgain returns the values of variables for an apply of a saved plan: those of the
// plan, and of sensitive variables those of the command line.
func (o *applyOptions) givenAgain(f *planfile.File) (all []config.Assignment, err error) {
	for name, text := range f.Variables {
		all = append(all, config.Assignment{Text: name + "=" + text, Recorded: true})
	}
	for _, g := range o.in.Assignments {
		name, _, _ := strings.Cut(g.Text, "=")
		if name = strings.TrimSpace(name); !slices.Contains(f.Sensitive, name) {
			return nil, app.Usagef("--var %s: the saved plan has the values of the variables; only those of sensitive ones are given again. Plan again with another value", name)
		}
		all = append(all, g)
	}
	return all, nil
}

// pin makes an apply of a saved plan refuse what differs from it. The function that it
// returns compares the plan of today; it is nil without a saved plan.
func (o *applyOptions) pin(a *app.App, p *engine.Program, opts *engine.PlanOptions) (func(*plan.Plan) error, error) {
	if o.saved == nil {
		return nil, nil
	}
	files, err := read(a, p)
	if err != nil {
		return nil, err
	}
	if list := o.saved.FileDifferences(files); len(list) > 0 {
		return nil, notAsPlanned(list)
	}
	store, err := a.OpenHistory()
	if err != nil {
		return nil, err
	}
	own := ownRuns(store, o.saved.Digest)
	opts.Exact, opts.Done = true, own
	return func(pl *plan.Plan) error {
		return notAsPlanned(o.saved.Differences(planfile.Now{Files: files, Plan: pl, Own: own}))
	}, nil
}

// ownRuns returns what reports whether a run was an apply of a saved plan.
func ownRuns(store *history.Store, saved string) func(run string) bool {
	var known sync.Map
	return func(run string) bool {
		if own, found := known.Load(run); found {
			return own.(bool)
		}
		past, err := store.Open(run)
		own := err == nil && past.Info.SavedPlan == saved
		known.Store(run, own)
		return own
	}
}

// maxDifferences is the largest number of differences that are shown.
const maxDifferences = 20

// notAsPlanned refuses a saved plan if anything differs.
func notAsPlanned(list []string) error {
	if len(list) == 0 {
		return nil
	}
	if n := len(list); n > maxDifferences {
		list = append(list[:maxDifferences:maxDifferences], fmt.Sprintf("and %d more", n-maxDifferences))
	}
	return step.Mismatch(fmt.Errorf("the saved plan no longer holds, so nothing runs; plan again:\n%s", strings.Join(list, "\n")))
}
