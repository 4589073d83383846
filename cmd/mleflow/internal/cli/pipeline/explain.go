package pipeline

import (
	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/plan"
)

// NewExplain returns the command explain.
func NewExplain(a *app.App) *cobra.Command {
	var in app.InputFlags
	var on app.ClusterFlags
	cmd := &cobra.Command{
		Use:   "explain [FILE.hcl] ADDRESS",
		Short: "Explain one step: why it would run and what its key is made of",
		Args:  app.Takes(1, 2),
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			address, err := addr.Parse(args[last])
			if err != nil {
				return app.Wrong(err)
			}
			return a.WithProgram(cmd.Context(), args[:last], in, &on, func(b *app.Backend, p *engine.Program) error {
				x, diags := b.Engine.Explain(cmd.Context(), p, address)
				if err := a.Settle(diags, p); err != nil {
					return err
				}
				return showExplanation(a.Terminal, x)
			})
		}),
	}
	in.Register(cmd)
	on.Register(cmd)
	return cmd
}

// ExplanationJSON is the form of explain --json.
type ExplanationJSON struct {
	plan.Step
	Last   string         `json:"last_action_id,omitempty"`
	Fields []engine.Field `json:"fields"`
}

func showExplanation(t *app.Terminal, x *engine.Explanation) error {
	if t.JSON {
		if x.Plan.Reasons == nil {
			x.Plan.Reasons = []plan.Reason{}
		}
		if x.Fields == nil {
			x.Fields = []engine.Field{}
		}
		return app.WriteJSON(t.Stdout, ExplanationJSON{x.Plan, x.Last, x.Fields})
	}
	view.Explanation(t.Stdout, x, t.OutStyle())
	return nil
}
