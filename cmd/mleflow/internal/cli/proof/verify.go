package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/competitions/conditions"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/step"
)

type verifyOptions struct {
	in          app.InputFlags
	gradingOnly bool
	refetch     bool
	bundle      bundleChecks
}

// NewVerify returns the command verify.
func NewVerify(a *app.App) *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify [RUN|BUNDLE]",
		Short: "Repeat a finished run and compare, or check a bundle",
		Args:  app.Takes(0, 1),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
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
		}),
	}
	o.in.Register(cmd)
	cmd.Flags().BoolVar(&o.gradingOnly, "grading-only", false, "only grade and aggregate again")
	cmd.Flags().BoolVar(&o.refetch, "refetch", false, "download again, too")
	o.bundle.register(cmd)
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
	return withBackend(a, past, func(b *app.Backend, sum *history.Summary) error {
		p, _, err := pastProgram(a.Terminal, b, o.in, past, sum)
		if err != nil {
			return err
		}
		if err := a.ReadRemote(b, p.Pipeline.RemoteCache); err != nil {
			return err
		}
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
	if t.JSON {
		return errors.Join(app.WriteJSON(t.Stdout, VerifyJSON{sum.ID, err == nil, attempts.Shown(), attempts.Untrusted(), counts, list}), err)
	}
	fmt.Fprintf(t.Stdout, "Run %s: %d steps", sum.ID, len(list))
	for _, v := range []engine.Verdict{engine.Same, engine.Intact, engine.Unrun, engine.Differs, engine.Missing, engine.Broken} {
		if counts[v] > 0 {
			fmt.Fprintf(t.Stdout, ", %d %s", counts[v], v)
		}
	}
	fmt.Fprintln(t.Stdout, ".")
	view.NotIsolated(t.Stdout, attempts.NotIsolated("were not isolated"), t.OutStyle())
	return err
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
