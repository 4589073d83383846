package pipeline

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/cli/app"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/dag"
	"github.com/mleflow/mleflow/engine/plan"
)

type graphOptions struct {
	in        app.InputFlags
	format    string
	instances bool
}

// NewGraph returns the command graph.
func NewGraph(a *app.App) *cobra.Command {
	var o graphOptions
	cmd := &cobra.Command{
		Use:   "graph [FILE.hcl]",
		Short: "Draw the graph of a pipeline for Graphviz or Mermaid",
		Args:  app.OneFile,
		RunE: a.Action(func(cmd *cobra.Command, args []string) error {
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
		}),
	}
	o.in.Register(cmd)
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
	g := GraphJSON{Steps: make([]graphStep, len(pl.Steps))}
	for i := range pl.Steps {
		s := &pl.Steps[i]
		g.Steps[i] = graphStep{Address: s.Address.String(), Kind: s.Address.Step.Kind, Action: string(s.Action), After: []string{}}
		for _, before := range s.After {
			g.Steps[i].After = append(g.Steps[i].After, pl.Steps[before].Address.String())
		}
	}
	return g
}

func writeGraph(w io.Writer, pl *plan.Plan, o graphOptions) error {
	draw := drawBlocks
	if o.instances {
		draw = drawInstances
	}
	drawing, err := draw(pl)
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
		label := s.Address.Key
		if !s.Address.HasKey {
			label = s.Address.Step.Name
		}
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
	var counts []plan.Counts
	for i := range pl.Steps {
		s := &pl.Steps[i]
		at := blocks.Add(s.Address.Step)
		if at == len(counts) {
			counts = append(counts, plan.Counts{})
		}
		count(&counts[at], s.Action)
		for _, before := range s.After {
			if err := blocks.AddEdge(pl.Steps[before].Address.Step, s.Address.Step); err != nil {
				return nil, err
			}
		}
	}
	nodes := make([]dag.DrawnNode, blocks.Len())
	for i := range nodes {
		nodes[i] = dag.DrawnNode{Label: blocks.Key(i).String() + "\n" + blockCounts(counts[i]), Style: styleOf(counts[i])}
	}
	return dag.Draw(blocks.Graph(), nodes), nil
}

func count(c *plan.Counts, a plan.Action) {
	switch a {
	case plan.Run:
		c.Run++
	case plan.Deferred:
		c.Deferred++
	default:
		c.Cached++
	}
}

func blockCounts(c plan.Counts) string {
	return fmt.Sprintf("%d to run, %d deferred, %d cached", c.Run, c.Deferred, c.Cached)
}
