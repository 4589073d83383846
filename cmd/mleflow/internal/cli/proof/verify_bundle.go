package proof

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/verify"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
	"github.com/mleflow/mleflow/plugins/numeric/metric"
)

// bundleChecks are the flags of verify that are about bundles.
type bundleChecks struct {
	publicKey string
	regrade   bool
	dataDir   string
	// commitment is a digest that must be in the chain.
	commitment string
}

func (c *bundleChecks) register(cmd *cobra.Command) {
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
	defer stop()
	b, err := bundle.Open(ctx, path, work)
	if err != nil {
		return err
	}
	defer b.Close()
	x, err := b.Examine(ctx, key)
	stop()
	if err != nil {
		return fmt.Errorf("check bundle %s: %w", path, err)
	}
	q := verify.Request{Bundle: b, Chain: x.Chain, Summary: x.Summary, Rounds: app.Evaluate, Metrics: metric.All(), Done: func(v engine.Verified) { showVerdict(a.Terminal, v) }}
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
	q.Options = engine.Options{Kinds: parts.Kinds, Functions: parts.Functions, Version: app.ThisVersion().Version, Capacity: sched.Machine()}
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
