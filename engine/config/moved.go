package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/diag"
)

// maxMoves is the largest number of moved blocks of a pipeline, and maxFormer that of
// the former names of one thing that are tried.
const maxMoves, maxFormer = 1000, 64

// place is what a moved block names: an agent, a model, a step or a module, or with a
// key one instance of it.
type place struct {
	// what is "agent", "model", "module" or "step.KIND".
	what, name string
	key        string
	keyed      bool
}

// String is the place as it is written, with the module of a step before its name.
func (p place) String() string {
	if !p.keyed {
		return p.what + "." + p.name
	}
	return fmt.Sprintf("%s.%s[%q]", p.what, p.name, p.key)
}

// block is the place without its key.
func (p place) block() place { return place{what: p.what, name: p.name} }

// move is a moved block. What was at from is at to now.
type move struct {
	from, to           place
	fromRange, toRange hcl.Range
}

// moved reads a block:
//
//	moved {
//	  from = agent.old
//	  to   = agent.new
//	}
func (l *loader) moved(b *hcl.Block) {
	before := len(l.diags)
	content, _ := l.content(b, schemas[b.Type])
	var m move
	for name, end := range map[string]*place{"from": &m.from, "to": &m.to} {
		if a := content.Attributes[name]; a != nil {
			*end = l.place(a.Expr)
		}
	}
	if l.diags[before:].HasErrors() {
		return
	}
	m.fromRange, m.toRange = content.Attributes["from"].Expr.Range(), content.Attributes["to"].Expr.Range()
	l.p.moves = append(l.p.moves, m)
}

// place reads the address in a moved block.
func (l *loader) place(e hcl.Expression) (p place) {
	wrong := func() place {
		l.fail(e.Range(), "Invalid address", "A moved block names agent.NAME, model.NAME, step.KIND.NAME or module.NAME, not in quotes; [\"KEY\"] after it names one agent of a sweep, or one instance of a step.")
		return place{}
	}
	t, bad := hcl.AbsTraversalForExpr(e)
	if bad.HasErrors() {
		return wrong()
	}
	if index, ok := t[len(t)-1].(hcl.TraverseIndex); ok {
		if index.Key.Type() != cty.String {
			return wrong()
		}
		p.key, p.keyed, t = index.Key.AsString(), true, t[:len(t)-1]
	}
	var names []string
	for _, part := range t[1:] {
		attr, ok := part.(hcl.TraverseAttr)
		if !ok {
			return wrong()
		}
		names = append(names, attr.Name)
	}
	root := t.RootName()
	switch base := baseOf(root); {
	case (base == "agent" || base == "model") && len(names) == 1:
		p.what, p.name = base, names[0]
	case root == "step" && len(names) >= 2:
		p.what, p.name = "step."+names[0], strings.Join(names[1:], ".")
	case base == "output" && len(names) == 0 && !p.keyed: // as qualify wrote it
		p.what, p.name = "module", strings.TrimSuffix(strings.TrimPrefix(root, "module."), ".output")
	default:
		return wrong()
	}
	return p
}

// checkMoves refuses moves of which the order or the meaning is not clear.
func (l *loader) checkMoves() {
	moves := l.p.moves
	if len(moves) > maxMoves {
		l.fail(moves[maxMoves].fromRange, "Too many moves", "A pipeline has at most %d moved blocks. Remove those of results that are no longer needed.", maxMoves)
		return
	}
	from, to := map[place]*move{}, map[place]*move{}
	for i := range moves {
		m := &moves[i]
		switch old, other := from[m.from], to[m.to]; {
		case m.from == m.to:
			l.fail(m.toRange, "Move to itself", "%s is both from and to. Remove the block.", m.from)
		case m.from.what != m.to.what:
			l.fail(m.toRange, "Moved to another kind", "%s cannot become %s: both must be of the same kind.", m.from, m.to)
		case old != nil:
			l.fail(m.fromRange, "Ambiguous moves", "%s was moved already, to %s at %s. Results have one new name: remove one of the blocks.", m.from, old.to, position(old.fromRange))
		case other != nil:
			l.fail(m.toRange, "Ambiguous moves", "%s was moved to %s already, at %s. What is there has one former name: remove one of the blocks, or continue its chain.", other.from, m.to, position(other.toRange))
		default:
			l.checkKind(m)
		}
		from[m.from], to[m.to] = m, m
	}
	if !l.diags.HasErrors() {
		l.checkEnds(from)
	}
}

func (l *loader) checkKind(m *move) {
	if kind, ok := strings.CutPrefix(m.from.what, "step."); ok && l.opts.Kinds.Kind(kind) == nil {
		l.fail(m.fromRange, "Unknown step kind", "There is no step kind %q.%s", kind, diag.DidYouMean(kind, l.opts.Kinds.Names()))
	}
}

// checkEnds follows each chain of moves to its end.
func (l *loader) checkEnds(from map[place]*move) {
	blocks := l.p.blocks()
	for i := range l.p.moves {
		m := &l.p.moves[i]
		if names := m.cycle(from); names != nil {
			l.fail(m.fromRange, "Cycle of moves", "%s. Remove the block that does not describe what happened.", strings.Join(names, " moved to "))
			return
		}
		if n, found := blocks[m.from]; found && (n.sweep == nil || !m.to.keyed) {
			l.fail(m.fromRange, "Moved and still declared", "%s is declared at %s, so it was not moved to %s. Rename or remove it, or remove this block.", m.from, position(n.at), m.to)
		}
		n, found := blocks[m.to.block()]
		switch {
		case l.p.movedOn(m.to):
		case !found:
			near := lists.Of(slices.Collect(maps.Keys(blocks)), place.String)
			l.fail(m.toRange, "Moved to nothing", "There is no %s.%s", m.to.block(), diag.DidYouMean(m.to.block().String(), near))
		case m.to.keyed && n.sweep == nil:
			l.fail(m.toRange, "Key of a single instance", "%s has no for_each, so it has no keys. Write %s.", m.to.block(), m.to.block())
		case !m.to.keyed && n.sweep != nil && m.from.keyed:
			l.fail(m.toRange, "Missing key", "%s has several instances. Write which of them %s became: %s[\"KEY\"].", m.to, m.from, m.to)
		}
	}
}

// cycle returns the places of the cycle that begins with a move, or nil.
func (m *move) cycle(from map[place]*move) []string {
	names := []string{m.from.String()}
	for at := m; at != nil && len(names) <= len(from); at = from[at.to] {
		if names = append(names, at.to.String()); at.to == m.from {
			return names
		}
	}
	return nil
}

// movedOn reports whether a place, or an instance there, is where another move begins.
func (p *Pipeline) movedOn(at place) bool {
	return slices.ContainsFunc(p.moves, func(m move) bool { return m.from.block() == at.block() })
}

// blocks are the agents, models, steps and modules that are declared.
func (p *Pipeline) blocks() map[place]node {
	all := map[place]node{}
	for _, n := range p.nodes() {
		if n.block != nil {
			all[place{what: baseOf(n.root), name: n.name}] = n
		}
	}
	for _, s := range p.Steps {
		all[place{what: "step." + s.Addr.Kind, name: s.Addr.Name}] = node{at: s.Range, sweep: s.ForEach}
	}
	for name, at := range p.modules {
		all[place{what: "module", name: name}] = node{at: at}
	}
	return all
}

// checkMovedKeys refuses moves from an instance that still exists, or to one that does not.
func (g *Graph) checkMovedKeys() (diags diag.List) {
	p := g.Pipeline
	blocks := map[place]node{}
	if len(p.moves) > 0 {
		blocks = p.blocks()
	}
	for _, m := range p.moves {
		if m.from.keyed && g.has(m.from, blocks) {
			diags = append(diags, diag.Error(m.fromRange, "Moved and still declared", "%s exists, so it was not moved to %s. Remove it from for_each, or remove this block.", m.from, m.to))
		}
		if m.to.keyed && !p.movedOn(m.to) && !g.has(m.to, blocks) {
			diags = append(diags, diag.Error(m.toRange, "Moved to nothing", "There is no %s: its block has no such key.", m.to))
		}
	}
	return diags
}

// has reports whether there is an instance at a place with a key.
func (g *Graph) has(at place, blocks map[place]node) bool {
	if kind, ok := strings.CutPrefix(at.what, "step."); ok {
		_, found := g.Find(addr.Keyed(addr.Step{Kind: kind, Name: at.name}, at.key))
		return found
	}
	n := blocks[at.block()]
	if n.sweep == nil {
		return false
	}
	v, _ := g.eval.values[n.root][at.name].Unmark()
	return v.Type().IsObjectType() && v.Type().HasAttribute(at.key)
}

// former returns where something was before, the latest first.
func (p *Pipeline) former(at place) (all []place) {
	for next := []place{at}; len(next) > 0 && len(all) < maxFormer; next = next[1:] {
		for _, m := range p.moves {
			was, ok := m.before(next[0])
			if ok && was != at && !slices.Contains(all, was) {
				all, next = append(all, was), append(next, was)
			}
		}
	}
	return all[:min(len(all), maxFormer)]
}

// before returns where something was before a move, if the move is about it.
func (m *move) before(at place) (was place, ok bool) {
	switch {
	case m.to == at:
		return m.from, true
	case m.to == at.block(): // a whole block, with its keys
		was = at
		was.name = m.from.name
		return was, true
	}
	if rest, in := strings.CutPrefix(at.name, m.to.name+"."); in && m.to.what == "module" && strings.HasPrefix(at.what, "step.") {
		was = at
		was.name = m.from.name + "." + rest
		return was, true
	}
	return was, false
}

// placeNamed returns the place of an agent or a model by its name. An agent of a sweep is
// called NAME[KEY].
func placeNamed(what, name string) place {
	if block, key, swept := strings.Cut(name, "["); swept {
		return place{what, block, strings.TrimSuffix(key, "]"), true}
	}
	return place{what: what, name: name}
}

// Placed is the name of an agent or a model as a moved block writes it.
func Placed(what, name string) string { return placeNamed(what, name).String() }

// Declares reports whether there is an agent or a model of a name, and whether there is its
// block.
func (g *Graph) Declares(what, name string) (itself, block bool) {
	blocks := g.Pipeline.blocks()
	at := placeNamed(what, name)
	n, block := blocks[at.block()]
	if at.keyed {
		return g.has(at, blocks), block
	}
	return block && n.sweep == nil, block
}

// FormerNames returns the names that an agent or a model had before moves, the latest
// first.
func (p *Pipeline) FormerNames(what, name string) []string {
	if len(p.moves) == 0 {
		return nil
	}
	return lists.Of(p.former(placeNamed(what, name)), func(was place) string {
		if was.keyed {
			return was.name + "[" + was.key + "]"
		}
		return was.name
	})
}

// Former returns the addresses that an instance had before moves, the latest first.
func (p *Pipeline) Former(a addr.Instance) []addr.Instance {
	if len(p.moves) == 0 {
		return nil
	}
	return lists.Of(p.former(place{"step." + a.Step.Kind, a.Step.Name, a.Key, a.HasKey}), func(was place) addr.Instance {
		kind := strings.TrimPrefix(was.what, "step.")
		return addr.Instance{Step: addr.Step{Kind: kind, Name: was.name}, Key: was.key, HasKey: was.keyed}
	})
}
