package page

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/event"
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

func (n *node) height() float64 { return view.Either(n.block == nil, 8, nodeHeight) }

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
	role := view.Either(address == "", "img", "group") // an image has nothing to follow
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

// Tally counts the instances of a step block by how they stand. Problems are
// attempts and submissions that went wrong although their step did not fail.
type Tally struct {
	Total, Running, Problems int
	// Time is how long its instances ran.
	Time time.Duration
	by   map[event.Status]int
}

// Of is the number of instances that ended with a status.
func (t *Tally) Of(status string) int { return t.by[event.Status(status)] }

// Others is the number of instances that neither ran, nor failed, nor are from the cache.
func (t *Tally) Others() int {
	return t.Total - t.by[event.Ran] - t.by[event.Cached] - t.by[event.Failed]
}

// Add counts an instance that has ended; an empty status has not.
func (t *Tally) Add(s event.Status) {
	if t.by == nil {
		t.by = map[event.Status]int{}
	}
	if s != "" {
		t.by[s]++
	}
}

func (t *Tally) done() int { return event.Done(t.by) }

func (t *Tally) text() string {
	parts := view.Parts{fmt.Sprintf("%d/%d", t.done(), t.Total)}
	parts.Count(t.Problems, "bad")
	parts.Count(t.Running, "running")
	for _, s := range []event.Status{event.Failed, event.Skipped, event.Cancelled} {
		parts.Count(t.by[s], string(s))
	}
	if len(parts) == 1 {
		parts.Count(t.by[event.Cached], "cached")
	}
	return parts.Join(" · ")
}

// state is the class of the box of a block: "", "failed", "running" or "waiting". Live
// reports whether the run is under way.
func (t *Tally) state(live bool) string {
	switch {
	case t.by[event.Failed]+t.Problems > 0:
		return "failed"
	case t.Running > 0:
		return "running"
	case t.done() == 0 && live:
		return "waiting"
	}
	return ""
}

// Blocks gathers the step blocks of a graph from the steps of a plan, in its order: every
// block comes after those it depends on.
type Blocks []Block

func (b Blocks) at(name string) int {
	return slices.IndexFunc(b, func(known Block) bool { return known.Name == name })
}

// Add adds a step of a block that depends on other blocks, and returns the counts of its
// block.
func (b *Blocks) Add(block string, status event.Status, after ...string) *Tally {
	i := b.at(block)
	if i < 0 {
		i = len(*b)
		*b = append(*b, Block{Name: block})
	}
	at := &(*b)[i]
	for _, before := range after {
		if before != block && b.at(before) >= 0 && !slices.Contains(at.After, before) {
			at.After = append(at.After, before)
		}
	}
	at.Total++
	at.Tally.Add(status)
	return &at.Tally
}
