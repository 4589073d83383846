package cli

import (
	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/plan"
)

func newExplain(a *app) *cobra.Command {
	var in inputFlags
	var on clusterFlags
	cmd := &cobra.Command{
		Use:   "explain [FILE.hcl] ADDRESS",
		Short: "Explain one step: why it would run and what its key is made of",
		Long:  "Say whether an instance would run and why, what is in its key, field by field\nwith the last run's values where they differ, and its runs.\n\nQuote addresses with keys for the shell: 'step.grade.score[\"digits/0\"]'.",
		Args:  takes(1, 2),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			address, err := addr.Parse(args[last])
			if err != nil {
				return usageError{err}
			}
			return a.withProgram(cmd.Context(), args[:last], in, &on, func(b *backend, p *engine.Program) error {
				x, diags := b.engine.Explain(cmd.Context(), p, address)
				if err := a.settle(diags, p); err != nil {
					return err
				}
				return showExplanation(a.terminal, x)
			})
		}),
	}
	in.register(cmd)
	on.register(cmd)
	return cmd
}

// explanationJSON is the form of explain --json.
type explanationJSON struct {
	plan.Step
	Last   string         `json:"last_action_id,omitempty"`
	Fields []engine.Field `json:"fields"`
}

func showExplanation(t *terminal, x *engine.Explanation) error {
	if t.json {
		if x.Plan.Reasons == nil {
			x.Plan.Reasons = []plan.Reason{}
		}
		if x.Fields == nil {
			x.Fields = []engine.Field{}
		}
		return writeJSON(t.stdout, explanationJSON{x.Plan, x.Last, x.Fields})
	}
	view.Explanation(t.stdout, x, t.outStyle())
	return nil
}
