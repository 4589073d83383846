package page

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
)

const (
	nodeWidth, nodeHeight = 172.0, 46.0
	layerGap, nodeGap     = 32.0, 18.0
)

// Block is a step block in a graph. Blocks come after those they depend on.
type Block struct {
	Name string
	// After are the names of the blocks that it depends on.
	After []string
	Tally
}

// node is a step block in the drawing, or the point at which an edge crosses a layer
// (then block is nil).
type node struct {
	block *Block
	// before are the nodes one layer to the left that lead here.
	before []*node
	layer  int
	order  float64
	y      float64
}

func (n *node) height() float64 {
	if n.block == nil {
		return 8
	}
	return nodeHeight
}

// Graph draws how the blocks depend on each other, from left to right, each with a link to
// the address with its name at the end; "" is no link. Live reports whether the run is
// under way. It returns "" when there are no blocks.
func (b Blocks) Graph(address string, live bool) template.HTML {
	nodes := blockNodes(b)
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
	var d drawing
	role := "img"
	if address != "" {
		role = "group" // an image has nothing to follow
	}
	fmt.Fprintf(&d, `<svg width="%s" height="%s" xmlns="http://www.w3.org/2000/svg" class="graph" role="%s" aria-label="How the step blocks depend on each other" viewBox="0 0 %[1]s %[2]s">`+"\n", number(width+4), number(height+4), role)
	for _, layer := range layers {
		for _, n := range layer {
			for _, from := range n.before {
				d.edge(from, n)
			}
		}
	}
	for _, layer := range layers {
		for _, n := range layer {
			d.node(n, address, live)
		}
	}
	return d.close()
}

// blockNodes makes one node a block.
func blockNodes(blocks []Block) []*node {
	var nodes []*node
	index := map[string]*node{}
	for i := range blocks {
		n := &node{block: &blocks[i]}
		for _, name := range blocks[i].After {
			if from := index[name]; from != nil && !slices.Contains(n.before, from) {
				n.before = append(n.before, from)
			}
		}
		index[blocks[i].Name] = n
		nodes = append(nodes, n)
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

// arrange orders a layer by the origins of its edges, places its nodes below each other
// and returns their height.
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

func (d *drawing) edge(from, to *node) {
	x1, x2 := from.left()+nodeWidth, to.left()
	bend := (x2 - x1) / 2
	fmt.Fprintf(d, `<path class="line edge" d="M%s %sC%s %s %s %s %s %s"/>`+"\n",
		number(x1), number(from.middle()), number(x1+bend), number(from.middle()), number(x2-bend), number(to.middle()), number(x2), number(to.middle()))
}

func (d *drawing) node(n *node, address string, live bool) {
	x, y := n.left(), 2+n.y
	if n.block == nil {
		fmt.Fprintf(d, `<path class="line edge" d="M%s %sh%s"/>`+"\n", number(x), number(n.middle()), number(nodeWidth))
		return
	}
	class, end := strings.TrimSpace("node "+n.block.state(live)), "</g>\n"
	if address != "" {
		fmt.Fprintf(d, `<a href="%s">`, html.EscapeString(address+template.URLQueryEscaper(n.block.Name)))
		end = "</g></a>\n"
	}
	kind, name, _ := strings.Cut(strings.TrimPrefix(n.block.Name, "step."), ".")
	fmt.Fprintf(d, `<g><title>%s</title><rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="6"/>`,
		html.EscapeString(n.block.Name), class, number(x), number(y), number(nodeWidth), number(nodeHeight))
	if done := float64(n.block.done()) / float64(max(n.block.Total, 1)); done > 0 && done < 1 {
		fmt.Fprintf(d, `<rect class="area done" x="%s" y="%s" width="%s" height="3" rx="1.5"/>`, number(x+10), number(y+nodeHeight-7), number((nodeWidth-20)*done))
	}
	fmt.Fprintf(d, `<text class="strong" x="%s" y="%s" font-size="12.5">%s</text>`, number(x+10), number(y+18), html.EscapeString(clip(kind+"."+name, 22)))
	fmt.Fprintf(d, `<text class="ink" x="%s" y="%s" font-size="11">%s</text>`, number(x+10), number(y+34), html.EscapeString(clip(n.block.text(), 26)))
	d.WriteString(end)
}
