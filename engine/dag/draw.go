package dag

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mleflow/mleflow/cache/leaf/plain"
)

// Drawing is a graph for drawing.
type Drawing struct {
	// Nodes are drawn in this order.
	Nodes []DrawnNode
	// Edges are pairs of indexes into Nodes.
	Edges [][2]int
}

// DrawnNode is one box. Its label may contain any characters. Newlines start a
// new line.
type DrawnNode struct {
	Label string
	// Group names the frame around the node, or is "" for none. Frames appear
	// in the order of their first nodes.
	Group string
	Style Style
}

// Style is the appearance of a box. The zero value is plain.
type Style struct {
	// Fill and Line are colours as #rrggbb.
	Fill, Line string
	Dashed     bool
}

// Draw returns a drawing of g. nodes has one element for each node of g.
func Draw(g *Graph, nodes []DrawnNode) *Drawing {
	d := &Drawing{Nodes: nodes, Edges: make([][2]int, 0, g.Edges())}
	for i, succ := range g.succ {
		for _, s := range succ {
			d.Edges = append(d.Edges, [2]int{i, s})
		}
	}
	return d
}

type frame struct {
	label string
	nodes []int
}

// frames returns the frames. The first one has no label and holds the nodes
// without a group.
func (d *Drawing) frames() []frame {
	index := map[string]int{"": 0}
	out := []frame{{}}
	for i, n := range d.Nodes {
		at, ok := index[n.Group]
		if !ok {
			at = len(out)
			index[n.Group] = at
			out = append(out, frame{label: n.Group})
		}
		out[at].nodes = append(out[at].nodes, i)
	}
	return out
}

// language is how a language of drawings writes the parts of one. open begins the frame
// of a number, node is a box with its number.
type language struct {
	name, head, close, edge string
	open                    func(frame int, label string) string
	node                    func(i int, n DrawnNode) string
}

func (d *Drawing) write(w io.Writer, l language, tail func() string) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, l.head)
	for k, g := range d.frames() {
		indent := "  "
		if k > 0 {
			fmt.Fprint(b, "  "+l.open(k, g.label)+"\n")
			indent = "    "
		}
		for _, i := range g.nodes {
			fmt.Fprint(b, indent+l.node(i, d.Nodes[i])+"\n")
		}
		if k > 0 {
			fmt.Fprint(b, "  "+l.close+"\n")
		}
	}
	for _, e := range d.Edges {
		fmt.Fprintf(b, l.edge, e[0], e[1])
	}
	fmt.Fprint(b, tail())
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write %s: %w", l.name, err)
	}
	return nil
}

// WriteDOT writes the drawing in Graphviz's language, from left to right.
func (d *Drawing) WriteDOT(w io.Writer) error {
	return d.write(w, language{
		name:  "DOT",
		head:  "digraph pipeline {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\", fontname=\"sans-serif\"];\n",
		close: "}", edge: "  n%d -> n%d;\n",
		open: func(k int, label string) string {
			return fmt.Sprintf("subgraph cluster_%d {\n    label=%s;", k, dotText(label))
		},
		node: func(i int, n DrawnNode) string {
			return fmt.Sprintf("n%d [label=%s%s];", i, dotText(n.Label), dotStyle(n.Style))
		},
	}, func() string { return "}\n" })
}

func dotStyle(s Style) string {
	var out strings.Builder
	if s.Dashed {
		out.WriteString(`, style="rounded,filled,dashed"`)
	}
	if s.Fill != "" {
		out.WriteString(", fillcolor=" + dotText(s.Fill))
	}
	if s.Line != "" {
		out.WriteString(", color=" + dotText(s.Line))
	}
	return out.String()
}

// dotText quotes a string for Graphviz, which interprets backslashes and
// character references inside quotes.
func dotText(s string) string {
	return `"` + dotEscapes.Replace(printable(s)) + `"`
}

var dotEscapes = strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`, "&", "&amp;")

// WriteMermaid writes the drawing as a Mermaid flowchart, from left to right.
func (d *Drawing) WriteMermaid(w io.Writer) error {
	var styles []Style // but the plain one
	return d.write(w, language{
		name: "Mermaid", head: "flowchart LR\n", close: "end", edge: "  n%d --> n%d\n",
		open: func(k int, label string) string { return fmt.Sprintf("subgraph g%d[%s]", k, mermaidText(label)) },
		node: func(i int, n DrawnNode) string {
			text := fmt.Sprintf("n%d[%s]", i, mermaidText(n.Label))
			if n.Style == (Style{}) {
				return text
			}
			class := slices.Index(styles, n.Style)
			if class < 0 {
				class, styles = len(styles), append(styles, n.Style)
			}
			return fmt.Sprintf("%s:::s%d", text, class)
		},
	}, func() (text string) {
		for i, s := range styles {
			text += fmt.Sprintf("  classDef s%d %s\n", i, mermaidStyle(s))
		}
		return text
	})
}

func mermaidStyle(s Style) string {
	var parts []string
	if s.Fill != "" {
		parts = append(parts, "fill:"+s.Fill)
	}
	if s.Line != "" {
		parts = append(parts, "stroke:"+s.Line)
	}
	if s.Dashed {
		parts = append(parts, "stroke-dasharray:4 3")
	}
	return strings.Join(parts, ",")
}

// mermaidText quotes a string for Mermaid. Mermaid's labels are HTML or
// Markdown and may contain character references of the form #name; and
// #number;.
func mermaidText(s string) string {
	return `"` + mermaidEscapes.Replace(printable(s)) + `"`
}

var mermaidEscapes = strings.NewReplacer(
	`"`, "#quot;", "#", "#35;", "&", "#amp;", "<", "#lt;", ">", "#gt;",
	"`", "#96;", `\`, "#92;", "\n", "<br/>",
)

// printable replaces control characters and invalid UTF-8.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if r != '\n' && plain.Control(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}
