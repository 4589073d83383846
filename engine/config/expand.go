package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/internal/parallel"
	"github.com/mleflow/mleflow/engine/step"
)

// element is one element of a for_each.
type element struct {
	key   string
	value cty.Value
}

// maxInstances is the largest number of instances of a pipeline, maxEdges that of
// dependencies between them.
const maxInstances, maxEdges = 250_000, 10_000_000

func (g *Graph) expandStep(s *Step) diag.List {
	var exprs []hcl.Expression
	for _, e := range s.expressions() {
		if e != s.ForEach {
			exprs = append(exprs, e)
		}
	}
	elements := []element{{}}
	if s.ForEach != nil {
		var diags diag.List
		elements, diags = g.elements(s.ForEach)
		if diags.HasErrors() {
			return diags
		}
	}
	first := len(g.Instances)
	if first+len(elements) > maxInstances {
		return diag.List{diag.Error(s.Range, "Too many instances", "With the %d instances of this step the pipeline has more than %d. Split it into several pipelines.", len(elements), maxInstances)}
	}
	g.blocks[s] = &block{first: first, keyed: s.ForEach != nil, value: cty.NilVal}
	g.addInstances(s, elements)
	ctx := g.scope(exprs)
	if s.ForEach != nil {
		s.shared = &shared{values: g.evaluateOnce(s, ctx), each: slices.ContainsFunc(exprs, refersToEach)}
	}
	found := make([]diag.List, len(elements))
	parallel.For(len(elements), func(i int) {
		found[i] = g.expandInstance(g.Instances[first+i], ctx)
	})
	s.shared = nil
	var diags diag.List
	for _, more := range found {
		if len(diags) > 20 { // one error for all keys is enough
			break
		}
		diags = append(diags, more...)
	}
	return diags
}

// addInstances adds the instances of a block. There may be very many, so they and
// their content are allocated at once.
func (g *Graph) addInstances(s *Step, elements []element) {
	outs := s.Kind.Outputs
	content := 0
	for o := range outs {
		if outs[o].Type == step.ArtifactType {
			content++
		}
	}
	instances := make([]Instance, len(elements))
	slots := make([]*step.Artifact, len(outs)*len(elements))
	artifacts := make([]step.Artifact, content*len(elements))
	g.Instances = slices.Grow(g.Instances, len(elements))
	for i, el := range elements {
		inst := &instances[i]
		*inst = Instance{Step: s, Addr: addr.Single(s.Addr), index: len(g.Instances)}
		if s.ForEach != nil {
			inst.Addr = addr.Keyed(s.Addr, el.key)
			inst.each = el.value
		}
		inst.artifacts, slots = slots[:len(outs):len(outs)], slots[len(outs):]
		from := ""
		if content > 0 {
			from = inst.Addr.String()
		}
		for o := range outs {
			if outs[o].Type == step.ArtifactType {
				artifacts[0] = step.Artifact{From: from, Output: outs[o].Name}
				inst.artifacts[o], artifacts = &artifacts[0], artifacts[1:]
			}
		}
		g.Instances = append(g.Instances, inst)
	}
	g.blocks[s].count = len(elements)
}

func (g *Graph) expandInstance(inst *Instance, ctx *hcl.EvalContext) diag.List {
	if g.edges.Load() > maxEdges {
		return nil // another instance has the error
	}
	var own *hcl.EvalContext // of the instance, made if something needs it
	child := func() *hcl.EvalContext {
		if s := inst.Step.shared; s != nil && !s.each {
			return ctx
		}
		if own == nil {
			own = inst.context(ctx)
		}
		return own
	}
	args, origins, diags := g.evaluateArgs(inst, child)
	inst.args = args
	if !diags.HasErrors() {
		diags = append(diags, g.checkCommands(inst, args)...)
		inst.Dynamic = g.dynamic(inst)
	}
	marks := map[any]struct{}{}
	more := g.limits(inst, child, marks)
	diags = append(diags, more...)
	inst.consumes = g.dependsOn(append(origins, originsOf(marks)...))
	inst.Deps = inst.consumes
	if e := inst.Step.DependsOn; e != nil {
		waits, more := g.waits(inst, e, child)
		diags = append(diags, more...)
		inst.Deps = waits
		if own := append(origins, originsOf(marks)...); len(own) > 0 {
			for _, i := range waits {
				own = append(own, origin{inst: i})
			}
			inst.Deps = g.dependsOn(own)
		}
	}
	if g.edges.Add(int64(len(inst.Deps))) > maxEdges {
		diags = append(diags, diag.Error(inst.Step.Range, "Too many dependencies", "With those of %s the pipeline has more than %d dependencies between instances. Refer to single instances, or put a step in between.", inst.Addr, maxEdges))
	}
	return diags
}

// waits returns the instances that depends_on names. If it does not refer to each,
// they are the same for all instances of the block.
func (g *Graph) waits(inst *Instance, e hcl.Expression, ctx func() *hcl.EvalContext) ([]int, diag.List) {
	evaluate := func() ([]int, diag.List) {
		marks := map[any]struct{}{}
		v, diags := g.evaluate(e, ctx())
		unmark(v, marks)
		return g.dependsOn(originsOf(marks)), diags
	}
	s := inst.Step.shared
	if s == nil || refersToEach(e) {
		return evaluate()
	}
	s.waits.once.Do(func() { s.waits.deps, s.waits.diags = evaluate() })
	return s.waits.deps, copyDiags(s.waits.diags)
}

// dynamic reports whether an argument of an instance is not wholly known.
func (g *Graph) dynamic(inst *Instance) bool {
	for i, v := range inst.args {
		if i < len(inst.Step.Kind.Args) && inst.Step.shared.final(inst.Step.Args[inst.Step.Kind.Args[i].Name]) {
			continue
		}
		if !v.IsWhollyKnown() {
			return true
		}
	}
	return false
}

func (inst *Instance) context(ctx *hcl.EvalContext) *hcl.EvalContext {
	if !inst.Addr.HasKey {
		return ctx
	}
	return element{inst.Addr.Key, inst.each}.context(ctx)
}

func (e element) context(ctx *hcl.EvalContext) *hcl.EvalContext {
	child := ctx.NewChild()
	child.Variables = map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(e.key), "value": e.value})}
	return child
}

// dependsOn returns the distinct instances of the origins, in ascending order.
func (g *Graph) dependsOn(origins []origin) []int {
	deps := make([]int, 0, len(origins))
	for _, o := range origins {
		deps = append(deps, o.inst)
	}
	slices.Sort(deps)
	return slices.Clip(slices.Compact(deps))
}

// evaluateArgs returns the values of the instance's arguments and then of its
// blocks, in the order of the kind and without marks, and their origins.
func (g *Graph) evaluateArgs(inst *Instance, ctx func() *hcl.EvalContext) ([]cty.Value, []origin, diag.List) {
	k := inst.Step.Kind
	e := argEval{g: g, inst: inst, ctx: ctx, marks: map[any]struct{}{}}
	values := make([]cty.Value, 0, len(k.Args)+len(k.Blocks))
	for i := range k.Args {
		values = append(values, e.attr(&k.Args[i], inst.Step.Args[k.Args[i].Name]))
	}
	for i := range k.Blocks {
		values = append(values, e.block(&k.Blocks[i]))
	}
	return values, e.origins, e.diags
}

// object builds the object that a kind decodes from the values that
// evaluateArgs returned. Instances keep only the values, because there may be
// very many.
func object(k *step.Kind, values []cty.Value) cty.Value {
	attrs := make(map[string]cty.Value, len(values))
	for i, v := range values {
		if i < len(k.Args) {
			attrs[k.Args[i].Name] = v
		} else {
			attrs[k.Blocks[i-len(k.Args)].Name] = v
		}
	}
	return cty.ObjectVal(attrs)
}

// shared is what the instances of a block with for_each have in common while they
// are expanded.
type shared struct {
	// values are those of the arguments that do not refer to each.
	values map[hcl.Expression]evaluated
	// each says that some expression of the block refers to each.
	each bool
	// waits are the instances that depends_on names, if all wait for the same.
	waits struct {
		once  sync.Once
		deps  []int
		diags diag.List
	}
	// commands are what is wrong with the commands, if all instances have the same.
	commands struct {
		once  sync.Once
		diags diag.List
	}
}

// evaluated is the value of an expression before its marks were removed.
type evaluated struct {
	value cty.Value
	diags diag.List
	// final says that it is the argument of every instance as it is: known, without
	// marks, of the right type and allowed.
	final bool
}

// has reports whether all instances have the same value of an expression, or none.
func (s *shared) has(e hcl.Expression) bool {
	if s == nil {
		return false
	}
	_, ok := s.values[e]
	return ok || e == nil
}

// final reports whether the value of an expression is final.
func (s *shared) final(e hcl.Expression) bool { return s != nil && e != nil && s.values[e].final }

// evaluateOnce evaluates the arguments of a block that are the same for all
// instances, since they do not refer to each.
func (g *Graph) evaluateOnce(s *Step, ctx *hcl.EvalContext) map[hcl.Expression]evaluated {
	once := map[hcl.Expression]evaluated{}
	add := func(attrs []step.Attr, exprs map[string]hcl.Expression) {
		for i := range attrs {
			e := exprs[attrs[i].Name]
			if e == nil || refersToEach(e) {
				continue
			}
			v, diags := g.evaluate(e, ctx)
			final := false
			if !diags.HasErrors() && !v.ContainsMarked() {
				if out, err := bounded.Convert(v, attrs[i].Type); err == nil {
					v = out
					final = len(diags) == 0 && !attrs[i].Files && !v.IsNull() && v.IsWhollyKnown() && allowed(&attrs[i], v)
				}
			}
			once[e] = evaluated{v, diags, final}
		}
	}
	add(s.Kind.Args, s.Args)
	for i := range s.Kind.Blocks {
		add(s.Kind.Blocks[i].Args, s.Blocks[s.Kind.Blocks[i].Name])
	}
	return once
}

func refersToEach(e hcl.Expression) bool {
	return slices.ContainsFunc(e.Variables(), func(t hcl.Traversal) bool { return t.RootName() == "each" })
}

// argEval evaluates the arguments of one instance.
type argEval struct {
	g       *Graph
	inst    *Instance
	ctx     func() *hcl.EvalContext
	marks   map[any]struct{}
	origins []origin
	diags   diag.List
}

func (e *argEval) block(b *step.Block) cty.Value {
	given, ok := e.inst.Step.Blocks[b.Name]
	if !ok {
		return cty.NullVal(b.Type())
	}
	object := make(map[string]cty.Value, len(b.Args))
	for i := range b.Args {
		object[b.Args[i].Name] = e.attr(&b.Args[i], given[b.Args[i].Name])
	}
	return cty.ObjectVal(object)
}

func (e *argEval) attr(a *step.Attr, expr hcl.Expression) cty.Value {
	if expr == nil {
		if a.Default != (cty.Value{}) {
			return a.Default
		}
		if a.Type == step.ArtifactType {
			return cty.NullVal(cty.DynamicPseudoType) // in the form that Args.Decode expects
		}
		return cty.NullVal(a.Type)
	}
	if e.inst.Step.shared.final(expr) {
		return e.inst.Step.shared.values[expr].value
	}
	v, diags := e.value(expr)
	if diags.HasErrors() {
		e.diags = append(e.diags, e.about(diags)...)
		return cty.UnknownVal(a.Type)
	}
	clear(e.marks)
	if a.Files {
		var err error
		if v, err = e.g.localFiles(v); err != nil {
			e.diags = append(e.diags, diag.Error(expr.Range(), "Invalid "+a.Name, "%s: %s", e.inst.Addr, diag.Sentence(err.Error())))
			return cty.UnknownVal(a.Type)
		}
	}
	v = unmark(v, e.marks)
	e.consume(a, expr)
	out, err := bounded.Convert(v, a.Type)
	if err != nil {
		path, text := mismatch(v, a.Type)
		e.diags = append(e.diags, diag.Error(expr.Range(), "Wrong type of argument", "%s%s of %s %s.%s", a.Name, path, e.inst.Addr, text, e.remedy(a, v)))
		return cty.UnknownVal(a.Type)
	}
	if out.IsNull() {
		if a.Required {
			e.diags = append(e.diags, diag.Error(expr.Range(), "Missing value", "%s of %s is required and must not be null.", a.Name, e.inst.Addr))
		} else if a.Default != (cty.Value{}) {
			return a.Default
		}
		return out
	}
	e.checkOneOf(a, out, expr)
	return out
}

// remedy says how to write an argument whose value v has the wrong type.
func (e *argEval) remedy(a *step.Attr, v cty.Value) string {
	if _, hidden := e.marks[sensitive]; hidden || !v.IsKnown() || v.IsNull() {
		return ""
	}
	if v.Type() == cty.String && (a.Type.IsListType() && a.Type.ElementType() == cty.String) {
		return fmt.Sprintf(" Write [%q].", v.AsString())
	}
	if a.Type.IsObjectType() {
		return " " + a.Doc
	}
	return ""
}

// value evaluates an expression, unless its value is the same for all instances
// of the block and already known.
func (e *argEval) value(expr hcl.Expression) (cty.Value, diag.List) {
	if s := e.inst.Step.shared; s.has(expr) {
		same := s.values[expr]
		return same.value, copyDiags(same.diags)
	}
	return e.g.evaluate(expr, e.ctx())
}

// copyDiags copies diagnostics that are changed for each instance.
func copyDiags(list diag.List) diag.List {
	if len(list) == 0 {
		return nil
	}
	out := make(diag.List, len(list))
	for i, d := range list {
		c := *d
		out[i] = &c
	}
	return out
}

// about adds the instance to the errors of an evaluation.
func (e *argEval) about(diags diag.List) diag.List {
	if e.inst.Addr.HasKey {
		for _, d := range diags {
			d.Detail += fmt.Sprintf(" (In %s.)", e.inst.Addr)
		}
	}
	return diags
}

func allowed(a *step.Attr, v cty.Value) bool {
	return len(a.OneOf) == 0 || !v.IsKnown() || v.Type() != cty.String || slices.Contains(a.OneOf, v.AsString())
}

func (e *argEval) checkOneOf(a *step.Attr, v cty.Value, expr hcl.Expression) {
	if allowed(a, v) {
		return
	}
	e.diags = append(e.diags, diag.Error(expr.Range(), "Value not allowed", "%s must be one of %s, not %q.%s",
		a.Name, strings.Join(a.OneOf, ", "), v.AsString(), diag.DidYouMean(v.AsString(), a.OneOf)))
}

// consume records where an argument comes from and rejects what is not allowed
// there.
func (e *argEval) consume(a *step.Attr, expr hcl.Expression) {
	for _, m := range originsOf(e.marks) {
		e.origins = append(e.origins, m)
		if e.g.private(m) {
			e.inst.Private = true
			e.refusePrivate(a, expr, m)
		}
	}
	for m := range e.marks {
		if path, ok := m.(privateFile); ok {
			e.consumePrivateFile(a, expr, path)
		}
	}
	if _, found := e.marks[sensitive]; found {
		e.diags = append(e.diags, diag.Error(expr.Range(), "Sensitive value in an argument",
			"%s would be stored with the plan and the key. Give secrets to an agent by reference: secrets = { NAME = \"env:NAME\" }.", a.Name))
	}
}

func (g *Graph) private(m origin) bool {
	from := g.Instances[m.inst]
	switch from.Step.Kind.Outputs[m.out].Secrecy {
	case step.Private:
		return true
	case step.Public:
		return false
	case step.Withheld:
		return !m.replayed
	default:
		return from.Private
	}
}

// consumePrivateFile does for private files what consume does for private
// outputs.
func (e *argEval) consumePrivateFile(a *step.Attr, expr hcl.Expression, path privateFile) {
	e.inst.Private = true
	if e.inst.Step.Kind.Untrusted {
		e.diags = append(e.diags, diag.Error(expr.Range(), "Private file in an untrusted step",
			"%s of %s is made from %s, which is in the cache or among a competition's private files. A step of kind %q runs untrusted code, which cannot have private files.",
			a.Name, e.inst.Addr, string(path), e.inst.Step.Kind.Name))
	}
}

func (e *argEval) refusePrivate(a *step.Attr, expr hcl.Expression, m origin) {
	if !e.inst.Step.Kind.Untrusted {
		return
	}
	from := e.g.Instances[m.inst]
	out := from.Step.Kind.Outputs[m.out].Name
	here := diag.Error(expr.Range(), "Private output in an untrusted step",
		"%s of %s refers to output %q of %s (%s), which is private: it holds answers or was made from them. A step of kind %q runs untrusted code, which cannot have private files. Use a public output instead.",
		a.Name, e.inst.Addr, out, from.Addr, place(from.Step.Range), e.inst.Step.Kind.Name)
	there := diag.Error(from.Step.Range, "The private output is made here", "Output %q of this step is private.", out)
	e.diags = append(e.diags, here, there)
}

// elements evaluates the for_each of a block. Blocks over the same local
// value share the list, which takes long to sort when it is long.
func (g *Graph) elements(e hcl.Expression) ([]element, diag.List) {
	name := localName(e)
	if list, ok := g.forEach[name]; ok {
		return list, nil
	}
	list, diags := g.evaluateElements(e)
	if name != "" && !diags.HasErrors() {
		g.forEach[name] = list
	}
	return list, diags
}

// localName returns the name if e is exactly local.name.
func localName(e hcl.Expression) string {
	t, diags := hcl.AbsTraversalForExpr(e)
	if diags.HasErrors() || len(t) != 2 || t.RootName() != "local" {
		return ""
	}
	name, _ := member(t[1])
	return name
}

func (g *Graph) evaluateElements(e hcl.Expression) ([]element, diag.List) {
	v, diags := g.evaluate(e, g.scope([]hcl.Expression{e}))
	if diags.HasErrors() {
		return nil, diags
	}
	r := e.Range()
	shallow, marks := v.Unmark()
	if _, found := marks[sensitive]; found {
		return nil, diag.List{sensitiveForEach(r)}
	}
	ty := shallow.Type()
	if !shallow.IsKnown() {
		return nil, diag.List{unknownForEach(g, r, v, marks)}
	}
	if shallow.IsNull() {
		return nil, diag.List{diag.Error(r, "Invalid for_each", "for_each must be a set, list or map, not null. For no instances, write toset([]).")}
	}
	switch {
	case ty.IsMapType() || ty.IsObjectType():
		return mapElements(shallow), nil
	case ty.IsSetType() || ty.IsListType() || ty.IsTupleType():
		return g.listElements(r, shallow)
	}
	return nil, diag.List{diag.Error(r, "Invalid for_each", "for_each must be a set, list or map, not %s.", ty.FriendlyName())}
}

func mapElements(v cty.Value) []element {
	all := v.AsValueMap()
	list := make([]element, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		list = append(list, element{key, all[key]})
	}
	return list
}

func (g *Graph) listElements(r hcl.Range, v cty.Value) ([]element, diag.List) {
	list := make([]element, 0, v.LengthInt())
	seen := make(map[string]bool, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		plain, marks := elem.Unmark()
		if _, found := marks[sensitive]; found {
			return nil, diag.List{sensitiveForEach(r)}
		}
		if !plain.IsKnown() {
			return nil, diag.List{unknownForEach(g, r, elem, marks)}
		}
		text, err := convert.Convert(plain, cty.String)
		if v, bad := gather([]cty.Value{plain}); bad == nil && v.IsKnown() && v.LengthInt() > 0 {
			return nil, diag.List{diag.Error(r, "Invalid for_each", "This is a list of agents. Write agents(agent.a, agent.b) for a map of them, by name; a sweep stands for all of its agents.")}
		}
		if err != nil || text.IsNull() {
			return nil, diag.List{diag.Error(r, "Invalid for_each", "The elements must be strings, since they become keys; one is %s. To iterate over objects, use a map: { for x in list : x.name => x }.", plain.Type().FriendlyName())}
		}
		key := text.AsString()
		if seen[key] {
			return nil, diag.List{diag.Error(r, "Duplicate address", "The key %q occurs twice, so two instances would have the same address. Use toset(…) to drop duplicates.", key)}
		}
		seen[key] = true
		list = append(list, element{key, text})
	}
	slices.SortFunc(list, func(a, b element) int { return strings.Compare(a.key, b.key) })
	return list, nil
}

func sensitiveForEach(r hcl.Range) *hcl.Diagnostic {
	return diag.Error(r, "Sensitive value in for_each", "The keys would be part of addresses, which are stored and shown. Iterate over values that are not sensitive.")
}

func unknownForEach(g *Graph, r hcl.Range, v cty.Value, marks cty.ValueMarks) *hcl.Diagnostic {
	_, deep := v.UnmarkDeep()
	names := map[string]bool{}
	for _, set := range []cty.ValueMarks{marks, deep} {
		for m := range set {
			if o, ok := m.(origin); ok {
				names[g.Instances[o.inst].Addr.Step.String()] = true
			}
		}
	}
	from := "a step's output"
	if len(names) > 0 {
		from = "outputs of " + strings.Join(slices.Sorted(maps.Keys(names)), ", ")
	}
	d := diag.Error(r, "for_each is not known", "The keys depend on %s, which is known only after it ran. The keys of for_each must be known before anything runs: use variables, locals, competitions(…), or the keys of another step's for_each.", from)
	if len(names) == 0 {
		d.Extra = followsError
	}
	return d
}

// followsError is the extra of an error that is not told if there are others, since a
// value may be unknown because of them.
const followsError = "follows an error"
