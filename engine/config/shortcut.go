package config

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// shortcut is an expression whose value needs only one output of a block. To evaluate
// it as written needs the value of the block, which has every output of every
// instance. The value and its marks are the same. These expressions have a shortcut:
//
//	step.KIND.NAME[each.key].OUTPUT
//	values(step.KIND.NAME)[*].OUTPUT
//	CONDITION ? one of these : null
//	CONDITION ? null : one of these, or values(step.KIND.NAME)
//	{ FIELD = the first of these, … }
//
// A condition must be the same for all instances.
type shortcut struct {
	// of is the block. It is nil if the value is null without marks.
	of *block
	// out is the index of the output.
	out int
	// each means the instance with the same key. Otherwise the value is a list of the
	// outputs of all instances.
	each bool
	// null is the type of the value if a condition chose null, which has the marks of
	// both results.
	null cty.Type
	// fields are those of an object. The rest is then empty.
	fields map[string]shortcut
}

// shortcuts returns the expressions that have a shortcut for all the instances of a
// block.
func (x *expander) shortcuts(exprs []hcl.Expression, instances []*Instance) map[hcl.Expression]shortcut {
	found := map[hcl.Expression]shortcut{}
	for _, e := range exprs {
		s, ok := x.shortcut(e, instances)
		if object, is := unwrapped(e).(*hclsyntax.ObjectConsExpr); is {
			s, ok = x.object(object.Items, instances)
		}
		if ok {
			found[e] = s
		}
	}
	return found
}

func (x *expander) object(items []hclsyntax.ObjectConsItem, instances []*Instance) (s shortcut, ok bool) {
	s.fields = map[string]shortcut{}
	for _, item := range items {
		key, diags := item.KeyExpr.Value(nil)
		field, ok := x.shortcut(item.ValueExpr, instances)
		if diags.HasErrors() || key.Type() != cty.String || key.IsNull() || !ok || !field.each || field.null != cty.NilType {
			return s, false
		}
		s.fields[key.AsString()] = field
	}
	return s, len(items) > 0
}

func (x *expander) shortcut(e hcl.Expression, instances []*Instance) (s shortcut, ok bool) {
	switch e := unwrapped(e).(type) {
	case *hclsyntax.RelativeTraversalExpr:
		if at, ok := unwrapped(e.Source).(*hclsyntax.IndexExpr); ok && isEachKey(at.Key) {
			if of := x.keyed(at.Collection); of != nil && of.hasAll(instances) {
				return shortcut{of: of, each: true}.output(e.Traversal)
			}
		}
	case *hclsyntax.SplatExpr:
		each, ok := unwrapped(e.Each).(*hclsyntax.RelativeTraversalExpr)
		if of := x.valuesOf(e.Source); ok && of != nil && each.Source == e.Item {
			return shortcut{of: of}.output(each.Traversal)
		}
	case *hclsyntax.ConditionalExpr:
		return x.conditional(e, instances)
	}
	return s, false
}

// conditional returns the shortcut of a conditional if one result is null.
func (x *expander) conditional(e *hclsyntax.ConditionalExpr, instances []*Instance) (s shortcut, ok bool) {
	if refersToEach(e.Condition) || !isNull(e.TrueResult) && !isNull(e.FalseResult) {
		return s, false
	}
	v, diags := x.alone(e.Condition)
	if len(diags) > 0 || v.IsMarked() || v.Type() != cty.Bool || v.IsNull() || !v.IsKnown() {
		return s, false
	}
	chosen, other := e.TrueResult, e.FalseResult
	if v.False() {
		chosen, other = other, chosen
	}
	if !isNull(chosen) {
		return x.shortcut(chosen, instances)
	}
	if of := x.valuesOf(other); of != nil {
		return shortcut{null: cty.List(outputsType(of.kind()))}, true
	}
	if s, ok = x.shortcut(other, instances); !ok || s.of == nil {
		return s, ok
	}
	s.null = s.of.kind().Outputs[s.out].Type
	if !s.each { // marks are on the elements of a list
		return shortcut{null: cty.List(s.null)}, true
	}
	return s, true
}

// output completes the shortcut with the output that a traversal names.
func (s shortcut) output(t hcl.Traversal) (shortcut, bool) {
	if len(t) != 1 {
		return s, false
	}
	name, _ := member(t[0])
	for o, out := range s.of.kind().Outputs {
		if out.Name == name {
			s.out = o
			return s, true
		}
	}
	return s, false
}

// value returns the value of the expression for an instance.
func (s shortcut) value(ev *evaluator, inst *Instance) cty.Value {
	switch {
	case s.fields != nil:
		values := make(map[string]cty.Value, len(s.fields))
		for name, field := range s.fields {
			values[name] = field.value(ev, inst)
		}
		return cty.ObjectVal(values)
	case s.of == nil:
		return cty.NullVal(s.null)
	case s.each:
		i, _ := s.of.find(inst.Addr.Key)
		if s.null != cty.NilType {
			return cty.NullVal(s.null).Mark(origin{inst: s.of.instances[i], out: s.out})
		}
		return s.of.instances[i].output(s.out, ev.of(s.of.instances[i]).outputs)
	}
	return cty.ListVal(lists.Of(s.of.instances, func(from *Instance) cty.Value { return from.output(s.out, nil) }))
}

// keyed returns the block with instances that an expression names, or nil.
func (x *expander) keyed(e hcl.Expression) *block {
	t, ok := unwrapped(e).(*hclsyntax.ScopeTraversalExpr)
	if !ok || t.Traversal.RootName() != "step" || len(t.Traversal) != 3 {
		return nil
	}
	of, _ := x.pipeline.stepOf(t.Traversal)
	if b := x.blocks[of]; b != nil && b.keyed && len(b.instances) > 0 {
		return b
	}
	return nil
}

// valuesOf returns the block of values(step.KIND.NAME), or nil.
func (x *expander) valuesOf(e hcl.Expression) *block {
	call, ok := unwrapped(e).(*hclsyntax.FunctionCallExpr)
	if !ok || call.Name != "values" || len(call.Args) != 1 || call.ExpandFinal {
		return nil
	}
	if of := x.keyed(call.Args[0]); of != nil && !of.maySkip() {
		return of
	}
	return nil
}

// unwrapped returns an expression without parentheses and meters around it.
func unwrapped(e hcl.Expression) hcl.Expression {
	for {
		switch outer := e.(type) {
		case *bounded.Metered:
			e = outer.Expression
		case *hclsyntax.ParenthesesExpr:
			e = outer.Expression
		default:
			return e
		}
	}
}

func isNull(e hcl.Expression) bool {
	literal, ok := unwrapped(e).(*hclsyntax.LiteralValueExpr)
	return ok && literal.Val.IsNull()
}

func isEachKey(e hcl.Expression) bool {
	t, ok := unwrapped(e).(*hclsyntax.ScopeTraversalExpr)
	if !ok || t.Traversal.RootName() != "each" || len(t.Traversal) != 2 {
		return false
	}
	name, _ := member(t.Traversal[1])
	return name == "key"
}

// kind is the kind of a block that has instances.
func (b *block) kind() *step.Kind { return b.instances[0].Step.Kind }

// find returns the position of the instance with a key.
func (b *block) find(key string) (int, bool) {
	return slices.BinarySearchFunc(b.instances, key, func(inst *Instance, key string) int { return strings.Compare(inst.Addr.Key, key) })
}

// hasAll reports whether the block has the keys of all these instances.
func (b *block) hasAll(instances []*Instance) bool {
	return !slices.ContainsFunc(instances, func(inst *Instance) bool {
		_, found := b.find(inst.Addr.Key)
		return !found
	})
}

// alike has the values of an argument that refers to nothing of each but attributes of
// each.value, by the values of these attributes. All attempts at a competition
// have the same data, for example. Without attributes, all instances have the same value.
type alike struct {
	attributes []string
	arguments  sync.Map // of type *once[argument], by key
	// gain is the number of values found minus that of values evaluated. Below the
	// least, no more values are kept: most instances differ.
	gain  atomic.Int64
	least int64
}

// argument is the evaluated value of an argument and what evaluating it found.
type argument struct {
	value cty.Value
	consumed
}

// alikeIn returns nil if the expressions refer to anything of each but attributes of
// each.value.
func alikeIn(exprs ...hcl.Expression) *alike {
	var attributes []string
	for t := range traversals(exprs) {
		if t.RootName() != "each" {
			continue
		}
		if len(t) < 3 {
			return nil
		}
		of, _ := member(t[1])
		name, ok := member(t[2])
		if of != "value" || !ok {
			return nil
		}
		attributes = append(attributes, name)
	}
	slices.Sort(attributes)
	return &alike{attributes: slices.Compact(attributes)}
}

// alikes returns the arguments of a step that n instances may share. In the order of
// keys, all seeds of a competition come first: many values may be evaluated before
// one is found.
func alikes(exprs []hcl.Expression, n int) map[hcl.Expression]*alike {
	all := map[hcl.Expression]*alike{}
	for _, e := range exprs {
		if m := alikeIn(e); m != nil {
			m.least = -int64(max(256, n/8))
			all[e] = m
		}
	}
	return all
}

// key encodes the attributes of each.value. ok is false if one of them is not a
// known string, integer or boolean.
func (m *alike) key(each cty.Value) (key string, ok bool) {
	if len(m.attributes) == 0 {
		return "", true
	}
	if each == cty.NilVal || each.IsMarked() || each.IsNull() || !each.IsKnown() || !each.Type().IsObjectType() {
		return "", false
	}
	var b []byte
	for _, name := range m.attributes {
		if !each.Type().HasAttribute(name) {
			return "", false
		}
		v := each.GetAttr(name)
		if v.IsMarked() || v.IsNull() || !v.IsKnown() {
			return "", false
		}
		switch v.Type() {
		case cty.String:
			text := v.AsString()
			b = append(strconv.AppendInt(append(b, 's'), int64(len(text)), 10), ':')
			b = append(b, text...)
		case cty.Number:
			n, accuracy := v.AsBigFloat().Int64()
			if accuracy != big.Exact {
				return "", false
			}
			b = strconv.AppendInt(append(b, 'n'), n, 10)
		case cty.Bool:
			b = strconv.AppendBool(append(b, 'b'), v.True())
		default:
			return "", false
		}
	}
	return string(b), true
}

// argument returns the value of an argument of an instance. It evaluates the
// expression unless an instance with the same attributes did so without errors, which
// name their instance.
func (m *alike) argument(e *argEval, a *step.Attr, expr hcl.Expression) cty.Value {
	key, ok := m.key(e.inst.each)
	if !ok || m.gain.Load() < m.least {
		return e.own(a, expr)
	}
	known, found := m.arguments.Load(key)
	switch {
	case !found:
		m.gain.Add(-1)
		known, _ = m.arguments.LoadOrStore(key, &once[argument]{})
	case len(m.attributes) > 0:
		m.gain.Add(1)
	}
	same, diags := known.(*once[argument]).of(func() (argument, diag.List) {
		first := argEval{ev: e.ev, inst: e.inst, shared: e.shared, ctx: e.ctx, marks: map[any]struct{}{}}
		v := first.own(a, expr)
		return argument{v, first.consumed}, first.diags
	})
	if len(diags) > 0 {
		return e.own(a, expr)
	}
	e.origins = append(e.origins, same.origins...)
	e.private, e.text = cmp.Or(e.private, same.private), e.text || same.text
	return same.value
}
