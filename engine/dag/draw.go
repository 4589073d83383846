package dag

import (
	"bufio"
	"fmt"
	"io"
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
	for i := range g.n {
		for _, s := range g.Succ(i) {
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

// WriteDOT writes the drawing in Graphviz's language, from left to right.
func (d *Drawing) WriteDOT(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, "digraph pipeline {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", fillcolor=\"#ffffff\", fontname=\"sans-serif\"];\n")
	for k, g := range d.frames() {
		indent := "  "
		if k > 0 {
			fmt.Fprintf(b, "  subgraph cluster_%d {\n    label=%s;\n", k, dotText(g.label))
			indent = "    "
		}
		for _, i := range g.nodes {
			fmt.Fprintf(b, "%sn%d [label=%s%s];\n", indent, i, dotText(d.Nodes[i].Label), dotStyle(d.Nodes[i].Style))
		}
		if k > 0 {
			fmt.Fprint(b, "  }\n")
		}
	}
	for _, e := range d.Edges {
		fmt.Fprintf(b, "  n%d -> n%d;\n", e[0], e[1])
	}
	fmt.Fprint(b, "}\n")
	return flush(b, "write DOT")
}

func flush(b *bufio.Writer, what string) error {
	if err := b.Flush(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
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
	b := bufio.NewWriter(w)
	fmt.Fprint(b, "flowchart LR\n")
	classes := map[Style]int{{}: -1}
	var styles []Style
	for k, g := range d.frames() {
		indent := "  "
		if k > 0 {
			fmt.Fprintf(b, "  subgraph g%d[%s]\n", k, mermaidText(g.label))
			indent = "    "
		}
		for _, i := range g.nodes {
			n := d.Nodes[i]
			class, ok := classes[n.Style]
			if !ok {
				class = len(styles)
				classes[n.Style] = class
				styles = append(styles, n.Style)
			}
			fmt.Fprintf(b, "%sn%d[%s]%s\n", indent, i, mermaidText(n.Label), mermaidClass(class))
		}
		if k > 0 {
			fmt.Fprint(b, "  end\n")
		}
	}
	for _, e := range d.Edges {
		fmt.Fprintf(b, "  n%d --> n%d\n", e[0], e[1])
	}
	for i, s := range styles {
		fmt.Fprintf(b, "  classDef s%d %s\n", i, mermaidStyle(s))
	}
	return flush(b, "write Mermaid")
}

func mermaidClass(class int) string {
	if class < 0 {
		return ""
	}
	return fmt.Sprintf(":::s%d", class)
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
