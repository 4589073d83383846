package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/verify"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

type verifyOptions struct {
	in                   app.InputFlags
	gradingOnly, refetch bool
	bundle               bundleChecks
}

// NewVerify returns the command verify.
func NewVerify(a *app.App) *cobra.Command {
	var o verifyOptions
	cmd := a.Command("verify [RUN|BUNDLE]", "Repeat a finished run and compare, or check a bundle", app.Takes(0, 1),
		func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && app.NamesFile(args[0]) {
				return verifyBundle(cmd.Context(), a, o, args[0])
			}
			if err := o.bundle.unused(cmd); err != nil {
				return err
			}
			past, err := a.FindRun(args)
			if err != nil {
				return err
			}
			return verifyRun(cmd.Context(), a, o, past)
		}, &o.in, &o.bundle)
	cmd.Flags().BoolVar(&o.gradingOnly, "grading-only", false, "only grade and aggregate again")
	cmd.Flags().BoolVar(&o.refetch, "refetch", false, "download again, too")
	return cmd
}

// gradingKinds are the kinds that --grading-only does again.
var gradingKinds = []string{conditions.AggregateKind, conditions.GradeKind}

func verifyRun(ctx context.Context, a *app.App, o verifyOptions, past *history.Past) error {
	past, err := app.OwnRun(past, fmt.Sprintf("mleflow bundle %s -o FILE and mleflow verify FILE check it and run none of its steps", past.Info.ID))
	if err != nil {
		return err
	}
	a.Network.Offline = !o.refetch
	return withProgram(a, past, o.in, func(b *app.Backend, sum *history.Summary, p *engine.Program, _ []string) error {
		opts := engine.VerifyOptions{Done: func(v engine.Verified) { showVerdict(a.Terminal, v) }}
		if o.gradingOnly {
			opts.Selected = func(kind string) bool { return slices.Contains(gradingKinds, kind) }
		}
		list, diags := b.Engine.Verify(ctx, p, sum, opts)
		if err := a.Settle(diags, p); err != nil {
			return err
		}
		return showVerification(a.Terminal, sum, list)
	})
}

// recorded are the variables of a run as assignments.
func recorded(run string, variables map[string]json.RawMessage) (assigned []config.Assignment, err error) {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		var value string
		if err := json.Unmarshal(variables[name], &value); err != nil {
			return nil, fmt.Errorf("read variable %s of run %s: %w", name, run, err)
		}
		assigned = append(assigned, config.Assignment{Text: name + "=" + value, Recorded: true})
	}
	return assigned, nil
}

// showVerdict tells of a step at once when it is not as it was.
func showVerdict(t *app.Terminal, v engine.Verified) {
	if t.JSON || v.Verdict.Good() && !t.Verbose {
		return
	}
	style := t.ErrStyle()
	fmt.Fprintf(t.Stderr, "%s %s\n", style.Bold(string(v.Verdict)), view.OneLine(v.Address))
	for _, d := range v.Deviations {
		fmt.Fprintf(t.Stderr, "  %s was %s, is %s\n", view.OneLine(d.Field), view.OneLine(d.Was), view.OneLine(d.Is))
	}
	if v.Error != "" {
		fmt.Fprintf(t.Stderr, "  %s\n", view.OneLine(v.Error))
	}
}

// VerifyJSON is what verify --json prints.
type VerifyJSON struct {
	Run string `json:"run"`
	OK  bool   `json:"ok"`
	// Isolation says how the attempts were isolated; see conditions.Shown.
	Isolation string `json:"isolation"`
	// Untrusted says that an attempt was not isolated.
	Untrusted bool                   `json:"untrusted"`
	Counts    map[engine.Verdict]int `json:"counts"`
	Steps     []engine.Verified      `json:"steps"`
}

func showVerification(t *app.Terminal, sum *history.Summary, list []engine.Verified) error {
	attempts := app.AttemptsOf(sum)
	counts := map[engine.Verdict]int{}
	for _, v := range list {
		counts[v.Verdict]++
	}
	err := verificationError(counts)
	out := VerifyJSON{sum.ID, err == nil, attempts.Shown(), attempts.Untrusted(), counts, list}
	return errors.Join(t.Show(out, func() {
		fmt.Fprintf(t.Stdout, "Run %s: %d steps", sum.ID, len(list))
		for _, v := range []engine.Verdict{engine.Same, engine.Intact, engine.Unrun, engine.Differs, engine.Missing, engine.Broken} {
			if counts[v] > 0 {
				fmt.Fprintf(t.Stdout, ", %d %s", counts[v], v)
			}
		}
		fmt.Fprintln(t.Stdout, ".")
		view.NotIsolated(t.Stdout, attempts.NotIsolated("were not isolated"), t.OutStyle())
	}), err)
}

func verificationError(counts map[engine.Verdict]int) error {
	switch {
	case counts[engine.Differs] > 0:
		return step.Mismatch(fmt.Errorf("%d steps are not what the run recorded", counts[engine.Differs]))
	case counts[engine.Missing]+counts[engine.Broken] > 0:
		return fmt.Errorf("%d steps cannot be verified", counts[engine.Missing]+counts[engine.Broken])
	}
	return nil
}

// bundleChecks are the flags of verify that are about bundles.
type bundleChecks struct {
	publicKey string
	regrade   bool
	dataDir   string
	// commitment is a digest that must be in the chain.
	commitment string
}

// Register adds the flags.
func (c *bundleChecks) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.publicKey, "public-key", "", "of a bundle: require a signature by the key in this PEM `FILE`")
	cmd.Flags().BoolVar(&c.regrade, "regrade", false, "of a bundle: grade again, with the answers")
	cmd.Flags().StringVar(&c.commitment, "commitment", "", "of a bundle: require that its chain has this `DIGEST`, which mleflow plan --commit printed or which was the last line")
	cmd.Flags().StringVar(&c.dataDir, "data-dir", "", "with --regrade: `DIR` as mleflow prepare writes it")
}

// unused refuses these flags for a run.
func (c *bundleChecks) unused(cmd *cobra.Command) error {
	for _, name := range []string{"public-key", "regrade", "data-dir", "commitment"} {
		if cmd.Flags().Changed(name) {
			return app.Usagef("--%s is for bundles; name a file that mleflow bundle wrote", name)
		}
	}
	return nil
}

func verifyBundle(ctx context.Context, a *app.App, o verifyOptions, path string) (err error) {
	switch {
	case o.refetch || o.gradingOnly:
		return app.Usagef("--refetch and --grading-only are for runs; of a bundle, --regrade scores the submissions again")
	case o.bundle.dataDir != "" && !o.bundle.regrade:
		return app.Usagef("--data-dir names the answers for --regrade; add --regrade")
	}
	if done, err := rerunConfined(ctx, a.Terminal, o.bundle.regrade); done || err != nil {
		return err
	}
	var key *bundle.PublicKey
	if o.bundle.publicKey != "" {
		if key, err = bundle.ReadPublicKey(o.bundle.publicKey); err != nil {
			return app.Wrong(err)
		}
	}
	work, stop := a.MeterWork("verify")
	b, x, err := bundle.OpenExamined(ctx, path, key, work)
	stop()
	if err != nil {
		return err
	}
	defer b.Close()
	q := verify.Request{Bundle: b, Chain: x.Chain, Summary: x.Summary, Rounds: app.Evaluate, Metrics: metric.All(), Grader: a.Grader(), Done: func(v engine.Verified) { showVerdict(a.Terminal, v) }}
	if o.bundle.regrade {
		close, err := ownData(a.Store, o, &q)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, close()) }()
	}
	v := verdict{Examined: x, regrade: o.bundle.regrade}
	if v.committed, err = committed(x, o.bundle.commitment); err != nil {
		return fmt.Errorf("check bundle %s: %w", path, err)
	}
	if v.report, err = recompute(ctx, a, o, x, q); err != nil {
		return fmt.Errorf("check bundle %s: %w", path, err)
	}
	return showExamined(a.Terminal, path, v)
}

// committed says where the chain of a bundle has a digest. It is empty without one.
func committed(x *bundle.Examined, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	id, err := digest.ParseContentID(strings.TrimPrefix(text, "sha256:"))
	if err != nil {
		return "", app.Usagef("--commitment: %q is no digest that mleflow plan --commit prints", text)
	}
	if x.Chain == nil || x.Chain.Lines == 0 {
		return "", step.Mismatch(errors.New("the bundle has no chain, so it cannot have the commitment"))
	}
	where, err := x.Chain.Commitment(id)
	if err != nil {
		return "", step.Mismatch(err)
	}
	return where, nil
}

// ownData opens what the verifier has of his own: his cache, and with it the
// data folder.
func ownData(s *app.Store, o verifyOptions, q *verify.Request) (func() error, error) {
	store, err := s.OpenCache()
	if err != nil {
		return nil, err
	}
	runs := history.New(store.Dir())
	q.Data = &verify.Data{Cache: store, Dir: o.bundle.dataDir, Ran: func(run string) bool {
		past, err := runs.Find(run)
		return err == nil && past.Info.ID == run
	}}
	return store.Close, nil
}

// recompute reads the pipeline with this program's kinds and definitions, makes again
// what the bundle derives from it, and judges the scores.
func recompute(ctx context.Context, a *app.App, o verifyOptions, x *bundle.Examined, q verify.Request) (*verify.Report, error) {
	a.Network.Offline = true
	parts, err := a.Concretes()
	if err != nil {
		return nil, err
	}
	if err := verify.CheckVersions(x, parts.Kinds); err != nil {
		return nil, err
	}
	language := config.Options{Kinds: parts.Kinds, Functions: parts.Functions, Benchmark: parts.Benchmark, Version: app.ThisVersion().Version}
	q.Options = engine.Options{Options: language, Capacity: sched.Machine()}
	var p *engine.Program
	err = within(expandTimeout, "reading the pipeline", func() (err error) {
		p, _, err = recording{x.Run.ID, x.Run.Pipeline, x.Sources, x.Run.Variables, x.Summary}.program(a.Terminal, engine.New(q.Options), o.in)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := x.Derive(ctx, q.Bundle, p.Graph); err != nil {
		return nil, err
	}
	if q.Catalog, err = a.Catalog(); err != nil {
		return nil, err
	}
	q.Program = p
	if err := confineMemory(a.Terminal, math.MaxInt64); err != nil { // grading takes more than reading
		return nil, err
	}
	return verify.Run(ctx, q)
}
