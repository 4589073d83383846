package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/lockfile"
	"github.com/mleflow/mleflow/engine/step"
)

type lockOptions struct {
	in             app.InputFlags
	targets        []string
	results, check bool
	file           string
}

// NewLock returns the command lock.
func NewLock(a *app.App) *cobra.Command {
	var o lockOptions
	cmd := a.Command("lock [FILE.hcl]", "Pin the inputs and outputs of a pipeline's steps", app.OneFile,
		func(cmd *cobra.Command, args []string) error {
			return a.WithProgram(cmd.Context(), args, o.in, nil, func(b *app.Backend, p *engine.Program) error {
				return writeLock(cmd.Context(), a.Terminal, o, b, p)
			})
		}, &o.in)
	cmd.Flags().StringArrayVar(&o.targets, "target", nil, "replace only the entries of the step or instance `ADDRESS`; repeatable")
	cmd.Flags().BoolVar(&o.results, "results", false, "pin agents' outputs, too")
	cmd.Flags().BoolVar(&o.check, "check", false, "write nothing; exit with 3 if it would change")
	cmd.Flags().StringVarP(&o.file, "output", "o", "", "the lock file (default FILE.lock.hcl)")
	return cmd
}

// lockPath returns the path of a pipeline's lock.
func lockPath(pipeline string) string { return strings.TrimSuffix(pipeline, ".hcl") + ".lock.hcl" }

func writeLock(ctx context.Context, t *app.Terminal, o lockOptions, b *app.Backend, p *engine.Program) error {
	if o.file == "" {
		o.file = lockPath(p.Pipeline.Path)
	}
	targets, err := app.Addresses("target", o.targets)
	if err != nil {
		return err
	}
	old, err := oldLock(o.file, len(targets) > 0)
	if err != nil {
		return err
	}
	opts := engine.LockOptions{PlanOptions: engine.PlanOptions{Targets: targets}, Results: o.results}
	if o.check {
		if opts.Against = old; old == nil {
			return step.Mismatch(fmt.Errorf("there is no lock file %s; write it with: mleflow lock", o.file))
		}
	}
	var diags diag.List
	if opts.Rounds, diags = app.Evaluate(b.Cache, p); diags.HasErrors() {
		return t.Settle(diags, p)
	}
	lock, diags := b.Engine.Lock(ctx, p, opts)
	if err := t.Settle(diags, p); err != nil {
		return err
	}
	if len(targets) > 0 {
		lock = old.Update(lock, func(at addr.Instance) bool {
			return slices.ContainsFunc(targets, func(t addr.Instance) bool { return t == at || !t.HasKey && t.Step == at.Step })
		})
	}
	if o.check {
		return checkLock(t, o.file, old, lock)
	}
	if err := app.ReplaceFile(o.file, lock.Encode()); err != nil {
		return err
	}
	if err := pinLock(ctx, b.Cache, o.file, lock); err != nil {
		return err
	}
	return showLocked(t, o.file, old, lock)
}

// oldLock reads the lock file that is there; nil if there is none.
func oldLock(path string, needed bool) (*lockfile.File, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !needed {
		return nil, nil
	}
	f, diags := lockfile.Read(path)
	return f, app.CheckedFile(diags, path)
}

// checkLock fails with a mismatch if the file is not what it would become.
func checkLock(t *app.Terminal, path string, old, lock *lockfile.File) error {
	if string(old.Encode()) == string(lock.Encode()) {
		return showLocked(t, path, old, lock)
	}
	list := lockfile.Compare(old, lock)
	if len(list) == 0 {
		return step.Mismatch(fmt.Errorf("%s is out of date; write it again with: mleflow lock", path))
	}
	return step.Mismatch(fmt.Errorf("%s is out of date:\n%w", path, engine.Deviation(list)))
}

// pinLock keeps what the lock names in the cache.
func pinLock(ctx context.Context, c *disk.Cache, path string, lock *lockfile.File) error {
	full, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("pin lock file: %w", err)
	}
	var actions []digest.ActionID
	for _, s := range lock.Steps {
		if _, err := c.Lookup(ctx, s.Action); err == nil && !s.Action.IsZero() {
			actions = append(actions, s.Action)
		}
	}
	if err := c.Pin(ctx, disk.Pin{Name: "lock:" + full, Actions: actions}); err != nil {
		return fmt.Errorf("pin lock file: %w", err)
	}
	return nil
}

// LockJSON is what lock --json prints.
type LockJSON struct {
	File    string               `json:"file"`
	Steps   int                  `json:"steps"`
	Changes []lockfile.Deviation `json:"changes"`
}

func showLocked(t *app.Terminal, path string, old, lock *lockfile.File) error {
	changes := []lockfile.Deviation{}
	if old != nil {
		changes = append(changes, lockfile.Compare(old, lock)...)
	}
	if t.JSON {
		return json.NewEncoder(t.Stdout).Encode(LockJSON{path, len(lock.Steps), changes})
	}
	for _, d := range changes {
		fmt.Fprintln(t.Stdout, view.OneLine(d.String()))
	}
	fmt.Fprintf(t.Stdout, "%s pins %d steps.\n", path, len(lock.Steps))
	return nil
}
