package report

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/template"
)

const (
	nodeWidth, nodeHeight = 146.0, 46.0
	layerGap, nodeGap     = 32.0, 18.0
)

// node is a step block in the drawing, or the place where an edge crosses a
// layer (then block is empty).
type node struct {
	block  string
	counts map[event.Status]int
	// before are the nodes one layer to the left that lead here.
	before []*node
	layer  int
	order  float64
	y      float64
}

func (n *node) height() float64 {
	if n.block == "" {
		return 8
	}
	return nodeHeight
}

// drawGraph draws the graph of step blocks from left to right with the number
// of instances by outcome. It returns "" when there are no steps.
func drawGraph(steps []Step) template.Markup {
	nodes := blockNodes(steps)
	if len(nodes) == 0 {
		return ""
	}
	layers := layered(nodes)
	var width, height float64
	for i, layer := range layers {
		width = max(width, float64(i+1)*(nodeWidth+layerGap)-layerGap)
		height = max(height, arrange(layer))
	}
	for _, layer := range layers {
		centre(layer, height)
	}
	var b strings.Builder
	open := svgOpen(width+4, height+4, "graph", "How the step blocks depend on each other")
	b.WriteString(strings.Replace(open, "<svg ", fmt.Sprintf(`<svg width="%s" height="%s" `, number(width+4), number(height+4)), 1))
	for _, layer := range layers {
		for _, n := range layer {
			for _, from := range n.before {
				drawEdge(&b, from, n)
			}
		}
	}
	for _, layer := range layers {
		for _, n := range layer {
			drawNode(&b, n)
		}
	}
	b.WriteString("</svg>")
	return template.Markup(b.String())
}

// blockNodes makes one node a block, in the order of first instances, which
// has every block after those it depends on.
func blockNodes(steps []Step) []*node {
	var nodes []*node
	index := map[string]*node{}
	for _, s := range steps {
		n := index[s.Block]
		if n == nil {
			n = &node{block: s.Block, counts: map[event.Status]int{}}
			index[s.Block] = n
			nodes = append(nodes, n)
		}
		n.counts[s.Status]++
		for _, block := range s.After {
			if from := index[block]; from != nil && from != n && !slices.Contains(n.before, from) {
				n.before = append(n.before, from)
			}
		}
	}
	return nodes
}

// layered puts each node one layer after the last it depends on, and cuts
// edges that skip layers into pieces.
func layered(nodes []*node) [][]*node {
	var layers [][]*node
	put := func(n *node) {
		for len(layers) <= n.layer {
			layers = append(layers, nil)
		}
		layers[n.layer] = append(layers[n.layer], n)
	}
	for _, n := range nodes {
		for _, from := range n.before {
			n.layer = max(n.layer, from.layer+1)
		}
		for i, from := range n.before {
			n.before[i] = stretch(from, n.layer, put)
		}
		put(n)
	}
	return layers
}

// stretch carries an edge from a node to the layer before the given one.
func stretch(from *node, layer int, put func(*node)) *node {
	for from.layer < layer-1 {
		from = &node{before: []*node{from}, layer: from.layer + 1}
		put(from)
	}
	return from
}

// arrange orders a layer by where its edges come from, places its nodes below
// each other and returns the height they take.
func arrange(layer []*node) float64 {
	for _, n := range layer {
		for _, from := range n.before {
			n.order += (from.y + from.height()/2) / float64(len(n.before))
		}
	}
	slices.SortStableFunc(layer, func(a, b *node) int { return cmp.Compare(a.order, b.order) })
	y := 0.0
	for _, n := range layer {
		n.y = y
		y += n.height() + nodeGap
	}
	return y - nodeGap
}

// centre moves a layer to the middle of the drawing.
func centre(layer []*node, height float64) {
	last := layer[len(layer)-1]
	shift := (height - (last.y + last.height())) / 2
	for _, n := range layer {
		n.y += shift
	}
}

func (n *node) left() float64 { return 2 + float64(n.layer)*(nodeWidth+layerGap) }

func (n *node) middle() float64 { return 2 + n.y + n.height()/2 }

func drawEdge(b *strings.Builder, from, to *node) {
	x1, x2 := from.left()+nodeWidth, to.left()
	bend := (x2 - x1) / 2
	fmt.Fprintf(b, `<path class="line edge" d="M%s %sC%s %s %s %s %s %s"/>`+"\n",
		number(x1), number(from.middle()), number(x1+bend), number(from.middle()), number(x2-bend), number(to.middle()), number(x2), number(to.middle()))
}

func drawNode(b *strings.Builder, n *node) {
	x, y := n.left(), 2+n.y
	if n.block == "" {
		fmt.Fprintf(b, `<path class="line edge" d="M%s %sh%s"/>`+"\n", number(x), number(n.middle()), number(nodeWidth))
		return
	}
	class := "node"
	if n.counts[event.Failed] > 0 {
		class = "node failed"
	}
	kind, name, _ := strings.Cut(strings.TrimPrefix(n.block, "step."), ".")
	fmt.Fprintf(b, `<g><title>%s</title><rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="6"/>`,
		html.EscapeString(n.block), class, number(x), number(y), number(nodeWidth), number(nodeHeight))
	fmt.Fprintf(b, `<text class="strong" x="%s" y="%s" font-size="12.5">%s</text>`, number(x+10), number(y+19), html.EscapeString(clip(kind+"."+name, 19)))
	fmt.Fprintf(b, `<text class="ink" x="%s" y="%s" font-size="11">%s</text></g>`+"\n", number(x+10), number(y+35), html.EscapeString(countsText(n.counts)))
}

// statuses is the order in which outcomes are counted.
var statuses = []event.Status{event.Ran, event.Cached, event.Failed, event.Skipped, event.Cancelled}

func countsText(counts map[event.Status]int) string {
	var parts []string
	for _, s := range statuses {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, " · ")
}
