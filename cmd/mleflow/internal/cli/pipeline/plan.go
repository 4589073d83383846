package pipeline

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/proof/bundle"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
)

// NewPlan returns the command plan.
func NewPlan(a *app.App) *cobra.Command {
	var in app.InputFlags
	var sel app.SelectFlags
	var preflight, commit bool
	var on app.ClusterFlags
	var compare powerOptions
	cmd := &cobra.Command{
		Use:   "plan [FILE.hcl]",
		Short: "Say what apply would run, and why",
		Args: func(cmd *cobra.Command, args []string) error {
			if compare.agents != "" {
				return nil
			}
			return app.OneFile(cmd, args)
		},
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			if compare.agents != "" {
				return planPower(cmd.Context(), a, compare, args)
			}
			return a.WithProgram(cmd.Context(), args, in, &on, func(b *app.Backend, p *engine.Program) error {
				opts, err := selected(a, &sel, b, p)
				if err != nil {
					return err
				}
				var asked *view.State
				if preflight {
					asked = view.NewState()
					opts.Preflight = event.SinkFunc(asked.Apply)
				}
				defer app.FewCollections()()
				pl, diags := b.Engine.Plan(cmd.Context(), p, opts)
				if err := a.Settle(diags, p); err != nil {
					return err
				}
				if commit {
					return showCommitment(a.Terminal, b, p, pl)
				}
				return showPlan(a.Terminal, pl, asked)
			})
		}),
	}
	in.Register(cmd)
	sel.Register(cmd)
	on.Register(cmd)
	a.Network.Register(cmd)
	compare.register(cmd)
	cmd.Flags().BoolVar(&preflight, "preflight", false, "ask the data's places for credential, rules and size, as apply does first")
	cmd.Flags().BoolVar(&commit, "commit", false, "print only the digest of pipeline, variables, attempts and chain, to be published before apply; see docs/verify.md")
	return cmd
}

// CommitmentJSON is what plan --commit --json prints.
type CommitmentJSON struct {
	Commitment string `json:"commitment"`
	Attempts   int    `json:"attempts"`
}

// showCommitment prints what an apply would declare in the chain.
func showCommitment(t *app.Terminal, b *app.Backend, p *engine.Program, pl *plan.Plan) error {
	id, n, err := b.Engine.Commitment(p, pl)
	if err != nil {
		return err
	}
	path, err := filepath.Abs(p.Pipeline.Path)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		if bundle.Hides(p.Variables[name], path, b.Cache.Dir()) {
			return app.Wrong(fmt.Errorf("the variable %q names a folder or the host of this machine, which a bundle hides, so that nobody could check the commitment; give a relative path", name))
		}
	}
	if n == 0 {
		return app.Wrong(fmt.Errorf("%s has no agent-run step, so there is nothing to commit to", pl.Pipeline))
	}
	if t.JSON {
		return app.WriteJSON(t.Stdout, CommitmentJSON{"sha256:" + id.String(), n})
	}
	fmt.Fprintf(t.Stdout, "sha256:%s\n", id)
	fmt.Fprintf(t.Stderr, "It declares %s. Publish it with a time stamp before mleflow apply; any other apply in this cache changes it.\n", view.Plural(n, "attempt"))
	return nil
}

// showPlan prints a plan, and what the preflight found if there was one. A
// preflight that failed makes the command fail.
func showPlan(t *app.Terminal, pl *plan.Plan, asked *view.State) error {
	if t.JSON {
		return writePlan(t, pl, asked)
	}
	view.Plan(t.Stdout, pl, t.OutStyle(), t.Verbose)
	if asked == nil {
		return nil
	}
	fmt.Fprintln(t.Stdout)
	if len(asked.Preflights) == 0 {
		fmt.Fprintln(t.Stdout, "Preflight: there is nothing to fetch.")
		return nil
	}
	if err := view.Preflights(t.Stdout, &asked.Run, t.OutStyle()); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return preflightOutcome(asked)
}

func writePlan(t *app.Terminal, pl *plan.Plan, asked *view.State) error {
	for i := range pl.Steps {
		if pl.Steps[i].Reasons == nil {
			pl.Steps[i].Reasons = []plan.Reason{}
		}
	}
	if pl.Steps == nil {
		pl.Steps = []plan.Step{}
	}
	whole := struct {
		*plan.Plan
		Preflight []event.Preflight `json:"preflight,omitempty"`
	}{Plan: pl}
	if asked != nil {
		whole.Preflight = asked.Preflights
	}
	enc := json.NewEncoder(t.Stdout)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(whole); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	if asked == nil {
		return nil
	}
	return preflightOutcome(asked)
}

// preflightOutcome is an error, whose text was shown, if something failed.
func preflightOutcome(asked *view.State) error {
	if asked.Surveyed.Failed > 0 {
		return fmt.Errorf("%w: preflight failed", app.ErrSilent)
	}
	return nil
}
