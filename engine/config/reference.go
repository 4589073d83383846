package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// node is something that is evaluated once per pipeline: a local, a model, an
// agent or a step block. Exactly one field is set.
type node struct {
	local *Local
	model *Model
	agent *Agent
	step  *Step
}

func (n node) String() string {
	switch {
	case n.local != nil:
		return "local." + n.local.Name
	case n.model != nil:
		return "model." + n.model.Name
	case n.agent != nil:
		return "agent." + n.agent.Name
	default:
		return n.step.Addr.String()
	}
}

// expressions lists what n evaluates, in a stable order.
func (n node) expressions() []hcl.Expression {
	switch {
	case n.local != nil:
		return []hcl.Expression{n.local.Expr}
	case n.model != nil:
		return n.model.expressions()
	case n.agent != nil:
		return sortedExprs(n.agent.Attrs)
	default:
		return n.step.expressions()
	}
}

// sweep returns the expression that makes n several instances, or nil.
func (n node) sweep() hcl.Expression {
	switch {
	case n.step != nil:
		return n.step.ForEach
	case n.agent != nil:
		return n.agent.sweep()
	}
	return nil
}

func (s *Step) expressions() []hcl.Expression {
	var all []hcl.Expression
	for _, e := range []hcl.Expression{s.ForEach, s.DependsOn, s.Timeout, s.On} {
		if e != nil {
			all = append(all, e)
		}
	}
	all = append(all, sortedExprs(s.Args)...)
	for _, name := range slices.Sorted(maps.Keys(s.Blocks)) {
		all = append(all, sortedExprs(s.Blocks[name])...)
	}
	return all
}

func sortedExprs(m map[string]hcl.Expression) []hcl.Expression {
	return slices.SortedFunc(maps.Values(m), func(a, b hcl.Expression) int { return a.Range().Start.Byte - b.Range().Start.Byte })
}

// nodes lists all nodes: locals, models and agents by name, steps as in the file.
func (p *Pipeline) nodes() []node {
	var all []node
	for _, name := range slices.Sorted(maps.Keys(p.Locals)) {
		all = append(all, node{local: p.Locals[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(p.Models)) {
		all = append(all, node{model: p.Models[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(p.Agents)) {
		all = append(all, node{agent: p.Agents[name]})
	}
	for _, s := range p.Steps {
		all = append(all, node{step: s})
	}
	return all
}

func (l *loader) checkReferences() (diags diag.List) {
	for _, n := range l.p.nodes() {
		each := n.sweep()
		for _, e := range n.expressions() {
			diags = append(diags, l.p.checkExpr(e, each != nil && e != each)...)
		}
		if len(diags) > diag.MaxShown {
			return diags
		}
	}
	if e := l.p.Evaluate; e != nil {
		diags = append(diags, e.check(l.p)...)
	}
	for _, o := range l.p.Outputs {
		for _, e := range append(sortedExprs(o.Publish), o.Value) {
			diags = append(diags, l.p.checkExpr(e, false)...)
		}
	}
	return diags
}

func (p *Pipeline) checkExpr(e hcl.Expression, each bool) (diags diag.List) {
	for _, t := range e.Variables() {
		diags = append(diags, p.checkTraversal(t, each)...)
	}
	return append(diags, p.checkOutputNames(e)...)
}

var roots = []string{"var", "local", "model", "agent", "step", "each", "path"}

func (p *Pipeline) checkTraversal(t hcl.Traversal, each bool) diag.List {
	r := t.SourceRange()
	switch t.RootName() {
	case "var":
		return checkMember(t, "variable", p.Variables, "Declare it with: variable %q { … }")
	case "local":
		return checkMember(t, "local value", p.Locals, "Declare %q in a locals block.")
	case "model":
		return checkMember(t, "model", p.Models, "Declare it with: model %q { … }")
	case "agent":
		return checkMember(t, "agent", p.Agents, "Declare it with: agent %q { … }")
	case "step":
		_, diags := p.stepOf(t)
		return diags
	case "each":
		if !each {
			return diag.List{diag.Error(r, "each without for_each", "each.key and each.value exist only in the arguments of a step that has for_each, and of an agent that has for_each or matrix.")}
		}
		return checkMember(t, "attribute of each", map[string]bool{"key": true, "value": true}, "")
	case "path":
		return checkMember(t, "attribute of path", map[string]bool{"pipeline": true}, "Instead of %q, write path.pipeline, the folder of the pipeline file.")
	}
	return diag.List{diag.Error(r, "Unknown reference",
		"There is nothing called %q here.%s A reference starts with var, local, model, agent, step, each or path; a string must be in quotes.", t.RootName(), diag.DidYouMean(t.RootName(), roots))}
}

func checkMember[V any](t hcl.Traversal, what string, all map[string]V, remedy string) diag.List {
	if len(t) < 2 {
		return nil
	}
	name, ok := member(t[1])
	if _, known := all[name]; !ok || known {
		return nil
	}
	detail := fmt.Sprintf("There is no %s %q.%s", what, name, diag.DidYouMean(name, slices.Sorted(maps.Keys(all))))
	if remedy != "" {
		detail += fmt.Sprintf(" "+remedy, name)
	}
	return diag.List{diag.Error(t.SourceRange(), "Reference to undeclared "+what, "%s", detail)}
}

func member(t hcl.Traverser) (string, bool) {
	switch t := t.(type) {
	case hcl.TraverseAttr:
		return t.Name, true
	case hcl.TraverseIndex:
		if t.Key.Type() == cty.String && t.Key.IsKnown() && !t.Key.IsNull() {
			return t.Key.AsString(), true
		}
	}
	return "", false
}

// stepOf returns the block to which a step traversal refers.
func (p *Pipeline) stepOf(t hcl.Traversal) (*Step, diag.List) {
	r := t.SourceRange()
	if len(t) < 3 {
		return nil, diag.List{diag.Error(r, "Incomplete step reference", "A step is referred to as step.KIND.NAME, such as step.prepare.data.")}
	}
	kind, ok1 := member(t[1])
	name, ok2 := member(t[2])
	if !ok1 || !ok2 {
		return nil, diag.List{diag.Error(r, "Invalid step reference", "The kind and name of a step must be written out, such as step.prepare.data.")}
	}
	a := addr.Step{Kind: kind, Name: name}
	if s := p.byAddr[a]; s != nil {
		return s, nil
	}
	all := make([]string, len(p.Steps))
	for i, s := range p.Steps {
		all[i] = s.Addr.String()
	}
	hint := diag.DidYouMean(a.String(), all)
	if hint == "" && len(all) > 0 {
		hint = " The steps are: " + strings.Join(all, ", ") + "."
	}
	return nil, diag.List{diag.Error(r, "Reference to undeclared step", "There is no %s.%s", a, hint)}
}

// checkOutputNames finds outputs that a kind does not have, if the name
// directly follows the step reference.
func (p *Pipeline) checkOutputNames(e hcl.Expression) (diags diag.List) {
	syntax, ok := e.(hclsyntax.Expression)
	if !ok {
		return nil
	}
	visit := func(n hclsyntax.Node) hcl.Diagnostics {
		if t, rest, ok := stepAccess(n); ok {
			diags = append(diags, p.checkOutputName(t, rest)...)
		}
		return nil
	}
	_ = hclsyntax.VisitAll(syntax, visit)
	return diags
}

// stepAccess splits step.a.b[k].rest into the step traversal and the part after
// the instance; ok is false for anything else.
func stepAccess(n hclsyntax.Node) (t, rest hcl.Traversal, ok bool) {
	switch n := n.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		if n.Traversal.RootName() == "step" && len(n.Traversal) > 3 {
			return n.Traversal[:3], n.Traversal[3:], true
		}
	case *hclsyntax.RelativeTraversalExpr:
		if ix, isIndex := unwrapped(n.Source).(*hclsyntax.IndexExpr); isIndex {
			if sc, isScope := ix.Collection.(*hclsyntax.ScopeTraversalExpr); isScope && sc.Traversal.RootName() == "step" && len(sc.Traversal) == 3 {
				return sc.Traversal, append(hcl.Traversal{hcl.TraverseIndex{Key: cty.DynamicVal, SrcRange: ix.SrcRange}}, n.Traversal...), true
			}
		}
	}
	return nil, nil, false
}

func (p *Pipeline) checkOutputName(t, rest hcl.Traversal) diag.List {
	s, diags := p.stepOf(t)
	if diags.HasErrors() {
		return nil // reported by checkTraversal
	}
	_, isIndex := rest[0].(hcl.TraverseIndex)
	if s.ForEach != nil {
		if !isIndex {
			return diag.List{diag.Error(rest.SourceRange(), "Missing instance key",
				"%s has for_each, so it is a map of instances: write %s[each.key] or %s[\"KEY\"] before the output.", s.Addr, s.Addr, s.Addr)}
		}
		rest = rest[1:]
	} else if isIndex {
		return diag.List{diag.Error(t.SourceRange(), "Key for a single step", "%s has no for_each, so it has no keys: write %s.OUTPUT.", s.Addr, s.Addr)}
	}
	if len(rest) == 0 {
		return nil
	}
	name, ok := member(rest[0])
	if !ok || s.Kind.Output(name) != nil {
		return nil
	}
	return diag.List{diag.Error(rest[0].SourceRange(), "Unknown output", "Steps of kind %q have no output %q.%s The outputs are: %s.",
		s.Kind.Name, name, diag.DidYouMean(name, outputNames(s.Kind)), strings.Join(outputNames(s.Kind), ", "))}
}

func outputNames(k *step.Kind) []string {
	names := make([]string, len(k.Outputs))
	for i, o := range k.Outputs {
		names[i] = o.Name
	}
	return names
}

// dependencies lists the nodes that n refers to; all agents or models when one is
// chosen by an expression.
func (p *Pipeline) dependencies(n node, index map[string]int) []int {
	var deps []int
	for _, e := range n.expressions() {
		for _, t := range e.Variables() {
			deps = append(deps, p.targets(t, index)...)
		}
	}
	slices.Sort(deps)
	return slices.Compact(deps)
}

// nodeNames are the names of the nodes that a traversal may refer to.
func (p *Pipeline) nodeNames(t hcl.Traversal) []string {
	switch t.RootName() {
	case "step":
		if s, diags := p.stepOf(t); !diags.HasErrors() {
			return []string{s.Addr.String()}
		}
	case "local":
		return memberNodes(t, "local.", p.Locals)
	case "model":
		return memberNodes(t, "model.", p.Models)
	case "agent":
		return memberNodes(t, "agent.", p.Agents)
	}
	return nil
}

func (p *Pipeline) targets(t hcl.Traversal, index map[string]int) []int {
	var found []int
	for _, name := range p.nodeNames(t) {
		if i, ok := index[name]; ok {
			found = append(found, i)
		}
	}
	return found
}

func memberNodes[V any](t hcl.Traversal, prefix string, all map[string]V) []string {
	if len(t) > 1 {
		if name, ok := member(t[1]); ok {
			return []string{prefix + name}
		}
	}
	names := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		names = append(names, prefix+name)
	}
	return names
}

// sortNodes orders the nodes so that each comes after those it refers to, and
// reports a cycle as a path.
func (l *loader) sortNodes() diag.List {
	nodes := l.p.nodes()
	index := make(map[string]int, len(nodes))
	for i, n := range nodes {
		index[n.String()] = i
	}
	const (
		unseen = iota
		open
		done
	)
	state := make([]int, len(nodes))
	var path []int
	var diags diag.List
	var visit func(i int)
	visit = func(i int) {
		state[i] = open
		path = append(path, i)
		for _, d := range l.p.dependencies(nodes[i], index) {
			switch state[d] {
			case unseen:
				visit(d)
			case open:
				if len(diags) < shownNames { // there may be very many
					diags = append(diags, cycle(nodes, path[slices.Index(path, d):]))
				}
			}
		}
		path = path[:len(path)-1]
		state[i] = done
		l.p.order = append(l.p.order, nodes[i])
	}
	for i := range nodes {
		if state[i] == unseen {
			visit(i)
		}
	}
	return diags
}

func cycle(nodes []node, path []int) *hcl.Diagnostic {
	var names []string
	for n, i := range path {
		if n == 5*shownNames {
			names = append(names, fmt.Sprintf("%d more", len(path)-n))
			break
		}
		names = append(names, nodes[i].String())
	}
	names = append(names, names[0])
	r := nodes[path[0]].expressions()[0].Range()
	if s := nodes[path[0]].step; s != nil {
		r = s.Range
	}
	return diag.Error(r, "Cycle", "These refer to each other in a cycle: %s. Remove one of the references.", strings.Join(names, fmt.Sprintf(" %s ", "→")))
}
