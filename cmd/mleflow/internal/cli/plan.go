package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
)

func newPlan(a *app) *cobra.Command {
	var in inputFlags
	var sel selectFlags
	var preflight bool
	var on clusterFlags
	var compare powerOptions
	cmd := &cobra.Command{
		Use:     "plan [FILE.hcl]",
		Short:   "Say what apply would run, and why",
		Long:    "Say for every step whether apply would run it (+), take it from the cache (=) or\ndecide later (~), why, field by field, and the disk it needs. No step is run,\nand only --preflight uses the network. runtime = \"auto\" is settled by trying the\nruntimes. -v lists every instance.\n\n--power plans a comparison of two agents instead; see docs/trust.md.",
		Example: "  mleflow plan pipeline.hcl\n  mleflow plan --power 'aide vs dummy' latest --budget 500\n  mleflow plan --power '30% vs 20%' --over 22",
		Args: func(cmd *cobra.Command, args []string) error {
			if compare.agents != "" {
				return nil
			}
			return oneFile(cmd, args)
		},
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			if compare.agents != "" {
				return a.planPower(cmd.Context(), compare, args)
			}
			return a.withProgram(cmd.Context(), args, in, &on, func(b *backend, p *engine.Program) error {
				opts, err := sel.options(p)
				if err != nil {
					return err
				}
				var asked *view.State
				if preflight {
					asked = view.NewState()
					opts.Preflight = event.SinkFunc(asked.Apply)
				}
				defer fewCollections()()
				pl, diags := b.engine.Plan(cmd.Context(), p, opts)
				if err := a.settle(diags, p); err != nil {
					return err
				}
				return showPlan(a.terminal, pl, asked)
			})
		}),
	}
	in.register(cmd)
	sel.register(cmd)
	on.register(cmd)
	a.network.register(cmd)
	compare.register(cmd)
	cmd.Flags().BoolVar(&preflight, "preflight", false, "ask the data's places for credential, rules and size, as apply does first")
	return cmd
}

// showPlan prints a plan, and what the preflight found if there was one. A
// preflight that failed makes the command fail.
func showPlan(t *terminal, pl *plan.Plan, asked *view.State) error {
	if t.json {
		return writePlan(t, pl, asked)
	}
	view.Plan(t.stdout, pl, t.outStyle(), t.verbose)
	if asked == nil {
		return nil
	}
	fmt.Fprintln(t.stdout)
	if len(asked.Preflights) == 0 {
		fmt.Fprintln(t.stdout, "Preflight: there is nothing to fetch.")
		return nil
	}
	if err := view.Preflights(t.stdout, asked.Preflights, t.outStyle()); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return preflightOutcome(asked)
}

func writePlan(t *terminal, pl *plan.Plan, asked *view.State) error {
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
	enc := json.NewEncoder(t.stdout)
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
	for _, p := range asked.Preflights {
		if p.Verdict == event.PreflightFailed {
			return fmt.Errorf("%w: preflight failed", errSilent)
		}
	}
	return nil
}
