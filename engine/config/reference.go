package config

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// node is something that is evaluated once per pipeline: a local, a model, an
// agent or a step block.
type node struct {
	// root and name are what it is referred to by, and at is where it is declared.
	root, name string
	at         hcl.Range
	// exprs lists what it evaluates, in a stable order. sweep is the one of them that
	// makes it several instances, or nil.
	exprs []hcl.Expression
	sweep hcl.Expression
	// reads are the names of the nodes that it may refer to, once the nodes are in order.
	reads []string
	// block is that of a model or an agent.
	block *Block
	// value evaluates it. It is nil for a step block.
	value func(*evaluator) (cty.Value, diag.List)
	step  *Step
}

func (n node) String() string { return n.root + "." + n.name }

func (s *Step) expressions() []hcl.Expression {
	return slices.Concat(written(s.ForEach, s.DependsOn, s.Timeout, s.On, s.When), s.Block.expressions(), ruleExprs(s.Before), ruleExprs(s.After))
}

func ruleExprs(rules []Validation) (all []hcl.Expression) {
	for _, r := range rules {
		all = append(all, r.Condition, r.Message)
	}
	return all
}

// written leaves out the expressions that are nil, because they are not written.
func written(exprs ...hcl.Expression) []hcl.Expression {
	return slices.DeleteFunc(exprs, func(e hcl.Expression) bool { return e == nil })
}

// blockExprs returns the expressions of nested blocks, by the names of the blocks.
func blockExprs(blocks map[string]map[string]hcl.Expression) (all []hcl.Expression) {
	for _, name := range slices.Sorted(maps.Keys(blocks)) {
		all = append(all, sortedExprs(blocks[name])...)
	}
	return all
}

// traversals yields the references of expressions.
func traversals(exprs []hcl.Expression) iter.Seq[hcl.Traversal] {
	return func(yield func(hcl.Traversal) bool) {
		for _, e := range exprs {
			for _, t := range e.Variables() {
				if !yield(t) {
					return
				}
			}
		}
	}
}

func sortedExprs(m map[string]hcl.Expression) []hcl.Expression {
	return slices.SortedFunc(maps.Values(m), func(a, b hcl.Expression) int { return a.Range().Start.Byte - b.Range().Start.Byte })
}

// nodes lists all nodes: locals, models and agents by name, steps as in the file.
func (p *Pipeline) nodes() (all []node) {
	roots := []string{"local", "model", "agent", "benchmark"}
	for _, root := range slices.Sorted(maps.Keys(p.named)) {
		if strings.Contains(root, ".") { // of modules
			roots = append(roots, root)
		}
	}
	for _, root := range roots {
		for _, name := range slices.Sorted(maps.Keys(p.named[root])) {
			all = append(all, *p.named[root][name])
		}
	}
	for _, s := range p.Steps {
		all = append(all, node{root: "step", name: s.Addr.Kind + "." + s.Addr.Name, exprs: s.expressions(), sweep: s.ForEach, step: s})
	}
	return all
}

func (l *loader) checkReferences() {
	before := len(l.diags)
	for _, n := range l.p.nodes() {
		for _, e := range n.exprs {
			var outputs []step.Output // of self
			if n.step != nil && slices.Contains(ruleExprs(n.step.After), e) {
				outputs = n.step.Kind.Outputs
			}
			l.checkExpr(e, n.sweep != nil && e != n.sweep, outputs)
		}
		if len(l.diags)-before > diag.MaxShown {
			return
		}
	}
	if e := l.p.Evaluate; e != nil {
		before = len(l.diags)
		for _, expr := range sortedExprs(e.Args) {
			l.checkExpr(expr, false, nil)
		}
		if _, more := over(e, l.p); !l.diags[before:].HasErrors() {
			l.add(more)
		}
	}
	for _, o := range l.p.Outputs {
		for _, e := range append(sortedExprs(o.Publish), o.Value) {
			l.checkExpr(e, false, nil)
		}
	}
}

// checkExpr checks the references of an expression, which may refer to each, and to self
// with these outputs.
func (l *loader) checkExpr(e hcl.Expression, each bool, self []step.Output) {
	for _, t := range e.Variables() {
		if t.RootName() == "self" && self != nil {
			l.add(checkMember(t, "output of the step", lists.By(self, func(o step.Output) string { return o.Name }), ""))
			continue
		}
		l.add(l.p.checkTraversal(t, each))
	}
	// Outputs that a kind does not have are found if the name directly follows the step.
	if syntax, ok := e.(hclsyntax.Expression); ok {
		_ = hclsyntax.VisitAll(syntax, func(n hclsyntax.Node) hcl.Diagnostics {
			if t, rest, ok := stepAccess(n); ok {
				l.checkOutputName(t, rest)
			}
			return nil
		})
	}
}

var roots = []string{"var", "local", "model", "agent", "benchmark", "step", "module", "each", "path"}

func (p *Pipeline) checkTraversal(t hcl.Traversal, each bool) diag.List {
	r := t.SourceRange()
	root := t.RootName()
	of, inModule := p.named[root], strings.Contains(root, ".")
	switch base := baseOf(root); {
	case root == "var":
		return checkMember(t, "variable", p.Variables, "Declare it with: variable %q { … }")
	case base == "local":
		return checkMember(t, "local value", of, "Declare %q in a locals block.")
	case base == "model" || base == "agent" || base == "benchmark" || base == "var":
		what := strings.Replace(base, "var", "variable", 1)
		return checkMember(t, what, of, "Declare it with: "+what+" %q { … }")
	case base == "output" && inModule && of == nil:
		return diag.List{diag.Error(r, "Reference to undeclared module", "There is no %s.", strings.TrimSuffix(root, ".output"))}
	case base == "output" && inModule:
		return checkMember(t, "output of the module", of, "Declare it in the module with: output %q { … }")
	case base == "path":
		return checkMember(t, "attribute of path", map[string]bool{"module": true, "pipeline": true}, "path.pipeline is the folder of the pipeline file, path.module the relative path from there to the folder of the module; there is no path.%s.")
	}
	switch root {
	case "step":
		_, diags := p.stepOf(t)
		return diags
	case "each":
		if !each {
			return diag.List{diag.Error(r, "each without for_each", "each.key and each.value exist only in the arguments of a step that has for_each, of a model that has for_each, and of an agent that has for_each or matrix.")}
		}
		return checkMember(t, "attribute of each", map[string]bool{"key": true, "value": true}, "")
	}
	return diag.List{diag.Error(r, "Unknown reference",
		"There is nothing called %q here.%s A reference starts with var, local, model, agent, benchmark, step, module, each or path; a string must be in quotes.", t.RootName(), diag.DidYouMean(t.RootName(), roots))}
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
	all := lists.Of(p.Steps, func(s *Step) string { return s.Addr.String() })
	hint := diag.DidYouMean(a.String(), all)
	if hint == "" && len(all) > 0 {
		hint = " The steps are: " + strings.Join(all, ", ") + "."
	}
	return nil, diag.List{diag.Error(r, "Reference to undeclared step", "There is no %s.%s", a, hint)}
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

func (l *loader) checkOutputName(t, rest hcl.Traversal) {
	s, diags := l.p.stepOf(t)
	if diags.HasErrors() {
		return // reported by checkTraversal
	}
	_, isIndex := rest[0].(hcl.TraverseIndex)
	if s.ForEach != nil {
		if !isIndex {
			l.fail(rest.SourceRange(), "Missing instance key", "%s has for_each, so it is a map of instances: write %s[each.key] or %s[\"KEY\"] before the output.", s.Addr, s.Addr, s.Addr)
			return
		}
		rest = rest[1:]
	} else if isIndex {
		l.fail(t.SourceRange(), "Key for a single step", "%s has no for_each, so it has no keys: write %s.OUTPUT.", s.Addr, s.Addr)
		return
	}
	if len(rest) == 0 {
		return
	}
	if name, ok := member(rest[0]); ok && s.Kind.Output(name) == nil {
		names := outputNames(s.Kind)
		l.fail(rest[0].SourceRange(), "Unknown output", "Steps of kind %q have no output %q.%s The outputs are: %s.", s.Kind.Name, name, diag.DidYouMean(name, names), strings.Join(names, ", "))
	}
}

func outputNames(k *step.Kind) []string {
	return lists.Of(k.Outputs, func(o step.Output) string { return o.Name })
}

// nodeNames are the names of the nodes that a traversal may refer to: all agents or models
// when one is chosen by an expression.
func (p *Pipeline) nodeNames(t hcl.Traversal) []string {
	root := t.RootName()
	if all, named := p.named[root]; named {
		return memberNodes(t, root+".", all)
	}
	if s, _ := p.stepOf(t); root == "step" && s != nil {
		return []string{s.Addr.String()}
	}
	return nil
}

func memberNodes[V any](t hcl.Traversal, prefix string, all map[string]V) []string {
	if len(t) > 1 {
		if name, ok := member(t[1]); ok {
			return []string{prefix + name}
		}
	}
	return lists.Of(slices.Sorted(maps.Keys(all)), func(name string) string { return prefix + name })
}

// sortNodes orders the nodes so that each comes after those it refers to, and
// reports a cycle as a path.
func (l *loader) sortNodes() {
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
	var cycles diag.List
	var visit func(i int)
	visit = func(i int) {
		state[i] = open
		path = append(path, i)
		for t := range traversals(nodes[i].exprs) {
			nodes[i].reads = append(nodes[i].reads, l.p.nodeNames(t)...)
		}
		deps := lists.Of(nodes[i].reads, func(name string) int { return index[name] })
		for _, d := range distinct(deps) {
			switch state[d] {
			case unseen:
				visit(d)
			case open:
				if len(cycles) < shownNames { // there may be very many
					cycles = append(cycles, cycle(nodes, path[slices.Index(path, d):]))
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
	l.add(cycles)
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
	r := nodes[path[0]].exprs[0].Range()
	if s := nodes[path[0]].step; s != nil {
		r = s.Range
	}
	return diag.Error(r, "Cycle", "These refer to each other in a cycle: %s. Remove one of the references.", strings.Join(names, fmt.Sprintf(" %s ", "→")))
}
