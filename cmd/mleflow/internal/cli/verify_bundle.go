package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/tree"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/dataset"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
)

// bundleChecks are the flags of verify that are about bundles.
type bundleChecks struct {
	publicKey string
	regrade   bool
	dataDir   string
}

func (c *bundleChecks) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.publicKey, "public-key", "", "of a bundle: it must be signed by the key in this PEM `FILE`")
	cmd.Flags().BoolVar(&c.regrade, "regrade", false, "of a bundle: score the submissions again, which needs the answers")
	cmd.Flags().StringVar(&c.dataDir, "data-dir", "", "with --regrade: `DIR` with the competitions' data, as mleflow prepare writes it")
}

// unused refuses these flags for a run.
func (c *bundleChecks) unused(cmd *cobra.Command) error {
	for _, name := range []string{"public-key", "regrade", "data-dir"} {
		if cmd.Flags().Changed(name) {
			return usagef("--%s is for bundles; name a file that mleflow bundle wrote", name)
		}
	}
	return nil
}

// isBundle reports whether an argument names a file and not a run.
func isBundle(arg string) bool {
	info, err := os.Stat(arg)
	return err == nil && !info.IsDir() || errors.Is(err, fs.ErrNotExist) && (filepath.Base(arg) != arg || filepath.Ext(arg) != "")
}

// bundleJSON is what verify --json prints of a bundle.
type bundleJSON struct {
	*bundle.Examined
	OK bool `json:"ok"`
	// Boards and Grades are the verdicts on what was made again; Grades is
	// null when that was not asked for.
	Boards []engine.Verified `json:"boards"`
	Grades []engine.Verified `json:"grades"`
}

func (a *app) verifyBundle(ctx context.Context, o verifyOptions, path string) error {
	switch {
	case o.refetch || o.gradingOnly:
		return usagef("--refetch and --grading-only are for runs; of a bundle, --regrade scores the submissions again")
	case o.bundle.dataDir != "" && !o.bundle.regrade:
		return usagef("--data-dir says where the answers are that --regrade needs; give that, too")
	}
	var key *bundle.PublicKey
	if o.bundle.publicKey != "" {
		var err error
		if key, err = bundle.ReadPublicKey(o.bundle.publicKey); err != nil {
			return usageError{err}
		}
	}
	b, err := bundle.Open(path)
	if err != nil {
		return damaged(err)
	}
	defer b.Close()
	x, err := b.Examine(ctx, key)
	if err != nil {
		return damaged(fmt.Errorf("check bundle %s: %w", path, err))
	}
	out := bundleJSON{Examined: x}
	if out.Boards, err = a.derive(ctx, o, b, x, nil, "aggregate"); err != nil {
		return err
	}
	if o.bundle.regrade {
		if out.Grades, err = a.regrade(ctx, o, b, x); err != nil {
			return err
		}
	}
	return a.showExamined(path, out)
}

// damaged marks what is wrong with a bundle as a mismatch.
func damaged(err error) error {
	var bad *bundle.Damage
	if errors.As(err, &bad) {
		return step.Mismatch(err)
	}
	return err
}

// derive does the steps of a kind again from the bundle, and from what else is
// given.
func (a *app) derive(ctx context.Context, o verifyOptions, b *bundle.Bundle, x *bundle.Examined, behind cache.Store, kind string) ([]engine.Verified, error) {
	store, err := b.Store(behind)
	if err != nil {
		return nil, damaged(err)
	}
	a.network.offline = true
	parts, err := a.concretes()
	if err != nil {
		return nil, err
	}
	e := engine.New(engine.Options{Kinds: parts.kinds, Functions: parts.functions, Version: thisVersion().Version, Cache: store, Capacity: sched.Machine()})
	p, _, err := a.recordedProgram(e, x.Run.ID, x.Run.Pipeline, x.Sources, x.Run.Variables, o.in)
	if err != nil {
		return nil, err
	}
	list, diags := e.Verify(ctx, p, x.Summary, engine.VerifyOptions{
		Selected: func(k string) bool { return k == kind },
		Done:     func(v engine.Verified) { a.showVerdict(v) },
	})
	return list, a.settle(diags, p)
}

// regrade scores the submissions again, with answers from the cache and, if
// given, from a data directory.
func (a *app) regrade(ctx context.Context, o verifyOptions, b *bundle.Bundle, x *bundle.Examined) (_ []engine.Verified, err error) {
	store, err := a.openCache()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if o.bundle.dataDir != "" {
		layout := dataset.Layout{Dir: o.bundle.dataDir}
		for _, id := range x.Competitions {
			dir := filepath.Join(layout.Prepared(id), "private")
			if _, err := tree.Import(ctx, store, dir, tree.ImportOptions{}); err != nil {
				return nil, fmt.Errorf("take answers of %s from %s: %w", id, o.bundle.dataDir, err)
			}
		}
	}
	return a.derive(ctx, o, b, x, store, "grade")
}

func (a *app) showExamined(path string, out bundleJSON) error {
	counts := map[engine.Verdict]int{}
	for _, v := range slices.Concat(out.Boards, out.Grades) {
		counts[v.Verdict]++
	}
	err := verificationError(counts)
	out.OK = err == nil
	if a.json {
		return errors.Join(writeJSON(a.stdout, out), err)
	}
	x := out.Examined
	fmt.Fprintf(a.stdout, "%s: run %s by mleflow %s, %s\n", path, view.OneLine(x.Run.ID), view.OneLine(x.Run.Version), view.OneLine(string(x.Run.State)))
	t := view.NewTable("Check", "Result")
	t.Row("bytes", fmt.Sprintf("every one is accounted for; %s, manifest sha256:%s", view.Plural(x.Files, "file"), x.Manifest))
	t.Row("record", "lock, events, records and provenance agree; "+keysText(x))
	t.Row("signature", signatureText(x))
	t.Row("isolation", x.Isolation)
	t.Row("leaderboards", derivedText(out.Boards, "made again from the reports"))
	t.Row("grades", gradesText(out))
	t.Row("left out", view.Plural(x.Omitted, "thing")+", listed in omitted.json: data, answers and what tells of them")
	return errors.Join(t.Write(a.stdout, a.outStyle()), err)
}

func keysText(x *bundle.Examined) string {
	text := view.Plural(x.Actions, "key") + " computed again from the inputs"
	if len(x.Masked) > 0 {
		text += fmt.Sprintf(", %d not, since folders or private values are masked", len(x.Masked))
	}
	return text
}

func signatureText(x *bundle.Examined) string {
	switch {
	case x.Trusted != "":
		return "good, by key " + x.Trusted
	case len(x.Signed) > 0:
		return "not checked: signed by key " + x.Signed[0] + ", give it with --public-key"
	}
	return "none: it fits together, and anyone could have made it; compare the manifest's digest with one you trust"
}

func derivedText(list []engine.Verified, what string) string {
	if len(list) == 0 {
		return "none"
	}
	same := 0
	for _, v := range list {
		if v.Verdict == engine.Same {
			same++
		}
	}
	return fmt.Sprintf("%d of %d %s, byte for byte", same, len(list), what)
}

func gradesText(out bundleJSON) string {
	if out.Grades == nil {
		return "not done again; --regrade does, with the answers from your cache or --data-dir"
	}
	return derivedText(out.Grades, "done again with the answers here")
}
