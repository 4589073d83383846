package pipeline

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/dag"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/plan"
)

// NewExplain returns the command explain.
func NewExplain(a *app.App) *cobra.Command {
	var in app.InputFlags
	var on app.ClusterFlags
	return a.Command("explain [FILE.hcl] KEY", "Explain one step: why it would run and what its key is made of", app.Takes(1, 2),
		func(cmd *cobra.Command, args []string) error {
			last := len(args) - 1
			if last == 0 && strings.HasSuffix(args[0], ".hcl") {
				return app.Usagef("name the attempt or step after %s: AGENT/COMPETITION/SEED, or step.KIND.NAME", args[0])
			}
			return a.WithProgram(cmd.Context(), args[:last], in, &on, func(b *app.Backend, p *engine.Program) error {
				address, err := app.AddressOf(p, args[last])
				if err != nil {
					return err
				}
				x, diags := b.Engine.Explain(cmd.Context(), p, address)
				if err := a.Settle(diags, p); err != nil {
					return err
				}
				return showExplanation(a.Terminal, x)
			})
		}, &in, &on)
}

// ExplanationJSON is the form of explain --json.
type ExplanationJSON struct {
	plan.Step
	Last   string         `json:"last_action_id,omitempty"`
	Fields []engine.Field `json:"fields"`
}

func showExplanation(t *app.Terminal, x *engine.Explanation) error {
	x.Plan.Reasons = append([]plan.Reason{}, x.Plan.Reasons...)
	out := ExplanationJSON{x.Plan, x.Last, append([]engine.Field{}, x.Fields...)}
	return t.Show(out, func() { view.Explanation(t.Stdout, x, t.OutStyle()) })
}

// NewValidate returns the command validate.
func NewValidate(a *app.App) *cobra.Command {
	var in app.InputFlags
	return a.Command("validate [FILE.hcl]", "Check a pipeline without reading the cache", app.OneFile,
		func(_ *cobra.Command, args []string) error {
			path, err := a.NamedPipeline(args)
			if err != nil {
				return err
			}
			return runValidate(a, path, in)
		}, &in)
}

func runValidate(a *app.App, path string, in app.InputFlags) error {
	a.UsePipeline(path)
	e, err := a.BareEngine()
	if err != nil {
		return err
	}
	var p *engine.Program
	var diags diag.List
	a.Interrupts.Reading(func() {
		p, diags = e.Load(path, config.Inputs{Environ: a.Environ, Assignments: in.Assignments})
		if !diags.HasErrors() {
			diags = append(append(diags, e.Check(p)...), app.CheckEvaluation(p)...)
		}
	})
	if a.JSON {
		return validity(a.Terminal, diags)
	}
	if err := a.Settle(diags, p); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "%s is valid: %s in %s.\n", path, view.Plural(len(p.Instances), "step"), view.Plural(len(p.Pipeline.Steps), "block"))
	return nil
}

// validity writes the diagnostics as the result of validate --json.
func validity(t *app.Terminal, diags diag.List) error {
	if err := app.WriteJSON(t.Stdout, map[string]any{"valid": !diags.HasErrors(), "diagnostics": diag.ToJSON(diags)}); err != nil {
		return err
	}
	if diags.HasErrors() {
		return fmt.Errorf("%w: %w", app.ErrSilent, app.Usagef("the pipeline is not valid"))
	}
	return nil
}

type graphOptions struct {
	in        app.InputFlags
	format    string
	instances bool
}

// NewGraph returns the command graph.
func NewGraph(a *app.App) *cobra.Command {
	var o graphOptions
	cmd := a.Command("graph [FILE.hcl]", "Draw the graph of a pipeline for Graphviz or Mermaid", app.OneFile,
		func(cmd *cobra.Command, args []string) error {
			if o.format != "dot" && o.format != "mermaid" {
				return app.Usagef("--format: %q is not known; use dot or mermaid", o.format)
			}
			return a.WithProgram(cmd.Context(), args, o.in, nil, func(b *app.Backend, p *engine.Program) error {
				pl, diags := b.Engine.Plan(cmd.Context(), p, engine.PlanOptions{})
				if err := a.Settle(diags, p); err != nil {
					return err
				}
				if a.JSON {
					return app.WriteJSON(a.Stdout, graphOf(pl))
				}
				return writeGraph(a.Stdout, pl, o)
			})
		}, &o.in)
	cmd.Flags().StringVar(&o.format, "format", "dot", "language of the drawing: `dot` or mermaid")
	cmd.Flags().BoolVar(&o.instances, "instances", false, "draw every instance instead of blocks")
	return cmd
}

// GraphJSON is the result of graph --json: all instances, in the order in which
// they may run.
type GraphJSON struct {
	Steps []graphStep `json:"steps"`
}

// graphStep is one instance and the addresses of those that it waits for.
type graphStep struct {
	Address string   `json:"address"`
	Kind    string   `json:"kind"`
	Action  string   `json:"action"`
	After   []string `json:"after"`
}

func graphOf(pl *plan.Plan) GraphJSON {
	return GraphJSON{lists.Of(pl.Steps, func(s plan.Step) graphStep {
		after := lists.Of(s.After, func(before int) string { return pl.Steps[before].Address.String() })
		return graphStep{Address: s.Address.String(), Kind: s.Address.Step.Kind, Action: string(s.Action), After: after}
	})}
}

func writeGraph(w io.Writer, pl *plan.Plan, o graphOptions) error {
	drawing, err := view.Either(o.instances, drawInstances, drawBlocks)(pl)
	if err != nil {
		return fmt.Errorf("draw graph: %w", err)
	}
	if o.format == "mermaid" {
		return drawing.WriteMermaid(w)
	}
	return drawing.WriteDOT(w)
}

// styleOf colours a box by what would happen to the step.
func styleOf(c plan.Counts) dag.Style {
	switch {
	case c.Run > 0:
		return dag.Style{Fill: "#d9f2df", Line: "#15713f"}
	case c.Deferred > 0:
		return dag.Style{Fill: "#fdf1d3", Line: "#8a5a00", Dashed: true}
	}
	return dag.Style{}
}

func drawInstances(pl *plan.Plan) (*dag.Drawing, error) {
	after := make([][]int, len(pl.Steps))
	nodes := make([]dag.DrawnNode, len(pl.Steps))
	for i := range pl.Steps {
		s := &pl.Steps[i]
		after[i] = s.After
		label := view.Either(s.Address.HasKey, s.Address.Key, s.Address.Step.Name)
		one := plan.Plan{Steps: pl.Steps[i : i+1]}
		nodes[i] = dag.DrawnNode{Label: label, Group: s.Address.Step.String(), Style: styleOf(one.Counts())}
	}
	g, err := dag.FromAfter(after)
	if err != nil {
		return nil, err
	}
	return dag.Draw(g.Reduce(), nodes), nil
}

// drawBlocks merges the instances of each block into one box.
func drawBlocks(pl *plan.Plan) (*dag.Drawing, error) {
	blocks := dag.NewKeyed[addr.Step]()
	var parts []plan.Plan
	for i := range pl.Steps {
		s := &pl.Steps[i]
		at := blocks.Add(s.Address.Step)
		if at == len(parts) {
			parts = append(parts, plan.Plan{})
		}
		parts[at].Steps = append(parts[at].Steps, *s)
		for _, before := range s.After {
			if err := blocks.AddEdge(pl.Steps[before].Address.Step, s.Address.Step); err != nil {
				return nil, err
			}
		}
	}
	nodes := make([]dag.DrawnNode, blocks.Len())
	for i := range nodes {
		c := parts[i].Counts()
		label := fmt.Sprintf("%s\n%d to run, %d deferred, %d cached", blocks.Key(i), c.Run, c.Deferred, c.Cached+c.Unneeded)
		nodes[i] = dag.DrawnNode{Label: label, Style: styleOf(c)}
	}
	g, err := blocks.Graph()
	if err != nil {
		return nil, err
	}
	return dag.Draw(g, nodes), nil
}
