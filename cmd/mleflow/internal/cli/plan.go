package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/plan"
)

func newPlan(a *app) *cobra.Command {
	var in inputFlags
	var sel selectFlags
	cmd := &cobra.Command{
		Use:   "plan FILE.hcl",
		Short: "Say what apply would run, and why",
		Long:  "Say for every step whether apply would run it (+), take it from the cache (=) or\ndecide later (~), with the reason field by field. Nothing is run; neither the\nnetwork nor a container runtime is touched. -v lists every instance.",
		Args:  oneFile,
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			return a.withProgram(cmd.Context(), args[0], in, func(b *backend, p *engine.Program) error {
				opts, err := sel.options()
				if err != nil {
					return err
				}
				defer fewCollections()()
				pl, diags := b.engine.Plan(cmd.Context(), p, opts)
				if err := a.settle(diags, p); err != nil {
					return err
				}
				return a.showPlan(pl)
			})
		}),
	}
	in.register(cmd)
	sel.register(cmd)
	return cmd
}

func (a *app) showPlan(pl *plan.Plan) error {
	if !a.json {
		view.Plan(a.stdout, pl, a.outStyle(), a.verbose)
		return nil
	}
	for i := range pl.Steps {
		if pl.Steps[i].Reasons == nil {
			pl.Steps[i].Reasons = []plan.Reason{}
		}
	}
	if pl.Steps == nil {
		pl.Steps = []plan.Step{}
	}
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(pl); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return nil
}
