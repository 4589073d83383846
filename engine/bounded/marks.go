package bounded

import (
	"errors"
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
)

// Marks say where a value comes from. The evaluation of HCL drops some: mostly those
// of values that are not known yet, and that of a key into an object. The expressions
// that drop marks are evaluated here, so that a value, known or not, has the marks of
// all that it was made from.

// drops reports whether the evaluation of an expression may drop marks.
func drops(e hclsyntax.Expression) bool {
	switch e := e.(type) {
	case *hclsyntax.IndexExpr, *hclsyntax.ConditionalExpr, *hclsyntax.UnaryOpExpr, *hclsyntax.TemplateJoinExpr,
		*hclsyntax.ForExpr, *hclsyntax.SplatExpr, *hclsyntax.ObjectConsExpr:
		return true
	case *hclsyntax.FunctionCallExpr:
		return e.ExpandFinal
	}
	return false
}

// trace evaluates an expression and keeps the marks that its own evaluation drops.
func (b *Budget) trace(e hclsyntax.Expression, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	switch e := e.(type) {
	case *hclsyntax.IndexExpr:
		return index(e, ctx)
	case *hclsyntax.ConditionalExpr:
		return conditional(e, ctx)
	case *hclsyntax.UnaryOpExpr:
		operand, diags := e.Val.Value(ctx)
		v, more := (&hclsyntax.UnaryOpExpr{Op: e.Op, Val: literal(operand, e.Val), SrcRange: e.SrcRange, SymbolRange: e.SymbolRange}).Value(ctx)
		return from(v, operand), append(diags, more...)
	case *hclsyntax.TemplateJoinExpr:
		tuple, diags := e.Tuple.Value(ctx)
		v, more := (&hclsyntax.TemplateJoinExpr{Tuple: literal(tuple, e.Tuple)}).Value(ctx)
		return from(v, tuple), append(diags, more...)
	}
	v, diags := e.Value(ctx)
	call, expands := e.(*hclsyntax.FunctionCallExpr)
	if diags.HasErrors() || v.IsKnown() && !expands || !drops(e) {
		return v, diags
	}
	b.spend(10, 0, e.Range()) // parts are evaluated again
	if expands {
		// The elements of the last argument have its marks, if it has elements.
		last, _ := call.Args[len(call.Args)-1].Value(ctx)
		_, own := last.Unmark()
		v = v.WithMarks(own)
	}
	if !v.IsKnown() {
		v = v.WithMarks(readBelow(e, ctx))
	}
	return v, diags
}

// literal is an expression with a value, in place of one that was evaluated.
func literal(v cty.Value, e hclsyntax.Expression) hclsyntax.Expression {
	return &hclsyntax.LiteralValueExpr{Val: v, SrcRange: e.Range()}
}

// from adds to an unknown value the marks of the operands that it is made from.
func from(v cty.Value, operands ...cty.Value) cty.Value {
	if v.IsKnown() {
		return v
	}
	for _, o := range operands {
		v = v.WithMarks(Marks(o))
	}
	return v
}

// Marks returns the marks of a value and of its elements at any depth.
func Marks(v cty.Value) cty.ValueMarks {
	if v.IsMarked() && (v.Type().IsPrimitiveType() || v.Type().IsCapsuleType()) {
		return v.Marks()
	}
	_, marks := v.UnmarkDeep()
	return marks
}

func index(e *hclsyntax.IndexExpr, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	collection, diags := e.Collection.Value(ctx)
	key, more := e.Key.Value(ctx)
	diags = append(diags, more...)
	v, more := hcl.Index(collection, key, &e.BracketRange)
	for _, d := range more {
		d.Expression, d.EvalContext = e, ctx
	}
	if diags = append(diags, more...); diags.HasErrors() {
		return v, diags
	}
	plain, own := collection.Unmark()
	if !key.IsKnown() && plain.IsKnown() && plain.CanIterateElements() {
		v = AnyOf(plain.AsValueSlice()).WithMarks(own)
	}
	return v.WithMarks(Marks(key)), diags
}

// AnyOf returns the unknown value that will be one of the given ones. That of objects of
// the same type is an object, so that each attribute has only the marks of that attribute.
func AnyOf(values []cty.Value) cty.Value {
	if len(values) == 0 {
		return cty.DynamicVal
	}
	ty := values[0].Type()
	objects := ty.IsObjectType() && len(ty.AttributeTypes()) > 0
	for _, v := range values {
		if !v.Type().Equals(ty) {
			ty, objects = cty.DynamicPseudoType, false
		}
		objects = objects && v.IsKnown() && !v.IsNull()
	}
	if !objects {
		return from(cty.UnknownVal(ty), values...)
	}
	marks, parts := cty.ValueMarks{}, make(map[string][]cty.Value, len(ty.AttributeTypes()))
	for _, v := range values {
		plain, own := v.Unmark()
		maps.Copy(marks, own)
		for name := range ty.AttributeTypes() {
			parts[name] = append(parts[name], plain.GetAttr(name))
		}
	}
	attrs := make(map[string]cty.Value, len(parts))
	for name, list := range parts {
		attrs[name] = AnyOf(list)
	}
	return cty.ObjectVal(attrs).WithMarks(marks)
}

func conditional(e *hclsyntax.ConditionalExpr, ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	yes, ifTrue := e.TrueResult.Value(ctx)
	no, ifFalse := e.FalseResult.Value(ctx)
	condition, diags := e.Condition.Value(ctx)
	v, more := (&hclsyntax.ConditionalExpr{Condition: literal(condition, e.Condition),
		TrueResult: literal(yes, e.TrueResult), FalseResult: literal(no, e.FalseResult), SrcRange: e.SrcRange}).Value(ctx)
	if diags = append(diags, more...); diags.HasErrors() {
		return v, diags
	}
	plain, own := condition.Unmark()
	chosen, err := convert.Convert(plain, cty.Bool)
	known := err == nil && chosen.IsKnown()
	switch {
	case known && chosen.True():
		diags = append(diags, ifTrue...)
	case known:
		diags = append(diags, ifFalse...)
	case yes.Type().IsObjectType() && yes.Type().Equals(no.Type()):
		v = AnyOf([]cty.Value{yes, no}).WithMarks(own)
	default:
		v = from(v, yes, no)
	}
	// The type of the result depends on a result that is not chosen, and on whether it
	// has a value.
	if ifTrue.HasErrors() {
		v = v.WithMarks(Reads(e.TrueResult, ctx))
	}
	if ifFalse.HasErrors() {
		v = v.WithMarks(Reads(e.FalseResult, ctx))
	}
	return v, diags
}

// Reads returns the marks of all that an expression reads. It does so for one without a
// value, too, because of an error: an access that fails has read the keys on its way.
func Reads(e hcl.Expression, ctx *hcl.EvalContext) cty.ValueMarks {
	marks, _ := reads(e, ctx)
	return marks
}

// reads is Reads, and reports whether the expression has an error.
func reads(e hcl.Expression, ctx *hcl.EvalContext) (_ cty.ValueMarks, failed bool) {
	v, diags := e.Value(ctx)
	if !diags.HasErrors() {
		return Marks(v), false
	}
	marks := readBelow(e, ctx)
	for _, d := range diags {
		if call, ok := d.Extra.(hclsyntax.FunctionCallDiagExtra); ok {
			if read, ok := errors.AsType[*ReadError](call.FunctionCallError()); ok {
				maps.Copy(marks, read.Marks)
			}
		}
	}
	return marks, true
}

// ReadError is the error of a function in something that it read, which has marks.
type ReadError struct {
	error
	Marks cty.ValueMarks
}

// NewReadError returns an error in something that a function read.
func NewReadError(err error, marks cty.ValueMarks) error { return &ReadError{err, marks} }

// readBelow returns the marks of what the parts of an expression read. If one has an
// error, that of the others does not matter, except for what decides whether it is used.
func readBelow(e hcl.Expression, ctx *hcl.EvalContext) cty.ValueMarks {
	var all, failed []cty.ValueMarks
	read := func(e hcl.Expression, ctx *hcl.EvalContext) bool {
		marks, bad := reads(e, ctx)
		if all = append(all, marks); bad {
			failed = append(failed, marks)
		}
		return bad
	}
	if m, ok := e.(*Metered); ok {
		e = m.Expression
	}
	own := cty.ValueMarks{}
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		root, _ := e.Traversal[:1].TraverseAbs(ctx)
		along(own, root, e.Traversal[1:])
	case *hclsyntax.RelativeTraversalExpr:
		if source, diags := e.Source.Value(ctx); diags.HasErrors() {
			read(e.Source, ctx)
		} else {
			along(own, source, e.Traversal)
		}
	case *hclsyntax.IndexExpr:
		if collection, diags := e.Collection.Value(ctx); diags.HasErrors() {
			read(e.Collection, ctx)
		} else {
			along(own, collection, nil)
		}
		read(e.Key, ctx)
	case *hclsyntax.ConditionalExpr:
		if !read(e.Condition, ctx) {
			maps.Copy(own, all[0])
		}
		read(e.TrueResult, ctx)
		read(e.FalseResult, ctx)
	case *hclsyntax.BinaryOpExpr:
		left, right := read(e.LHS, ctx), read(e.RHS, ctx)
		if e.Op.ShortCircuit != nil && left != right { // one may make the other irrelevant
			maps.Copy(own, all[0])
			maps.Copy(own, all[1])
		}
	case *hclsyntax.ForExpr:
		collection, diags := e.CollExpr.Value(ctx)
		if along(own, collection, nil); diags.HasErrors() {
			read(e.CollExpr, ctx)
		}
		scopes(e, collection, ctx, func(scope *hcl.EvalContext) {
			for _, part := range []hclsyntax.Expression{e.CondExpr, e.KeyExpr, e.ValExpr} {
				if part == nil {
					continue
				}
				if read(part, scope); part == e.CondExpr {
					maps.Copy(own, all[len(all)-1])
				}
			}
		})
	case hclsyntax.Node:
		for _, part := range parts(e) {
			read(part, ctx)
		}
	default:
		for _, t := range e.Variables() {
			read(&hclsyntax.ScopeTraversalExpr{Traversal: t}, ctx)
		}
	}
	if len(failed) > 0 {
		all = failed
	}
	for _, marks := range all {
		maps.Copy(own, marks)
	}
	return own
}

// along adds the marks of a value and of what an access to a part of it passes.
func along(marks cty.ValueMarks, v cty.Value, t hcl.Traversal) {
	_, own := v.Unmark()
	maps.Copy(marks, own)
	if len(t) == 0 {
		return
	}
	if next, diags := t[0].TraversalStep(v); !diags.HasErrors() {
		along(marks, next, t[1:])
	}
}

// scopes calls f with the scope of each element of a for expression, or with that of any
// element if they are not known.
func scopes(e *hclsyntax.ForExpr, collection cty.Value, ctx *hcl.EvalContext, f func(*hcl.EvalContext)) {
	with := func(key, value cty.Value) {
		scope := ctx.NewChild()
		scope.Variables = map[string]cty.Value{e.KeyVar: key, e.ValVar: value}
		f(scope)
	}
	plain, own := collection.Unmark()
	if plain.IsNull() || !plain.IsKnown() || !plain.CanIterateElements() {
		with(cty.DynamicVal.WithMarks(own), cty.DynamicVal.WithMarks(own))
		return
	}
	for it := plain.ElementIterator(); it.Next(); {
		with(it.Element())
	}
}

// parts returns the expressions of which an expression consists directly.
func parts(e hclsyntax.Node) []hclsyntax.Expression {
	var w directly
	_ = hclsyntax.Walk(e, &w)
	return w.found
}

// directly finds the expressions right below the node where a walk starts.
type directly struct {
	level int
	found []hclsyntax.Expression
}

// Enter implements hclsyntax.Walker.
func (w *directly) Enter(n hclsyntax.Node) hcl.Diagnostics {
	if e, ok := n.(hclsyntax.Expression); ok && w.level == 1 {
		w.found = append(w.found, e)
	}
	w.level++
	return nil
}

// Exit implements hclsyntax.Walker.
func (w *directly) Exit(hclsyntax.Node) hcl.Diagnostics {
	w.level--
	return nil
}

// parameters returns a changed copy of a function's parameters.
func parameters(f function.Function, change func(*function.Parameter)) ([]function.Parameter, *function.Parameter) {
	params, rest := f.Params(), f.VarParam()
	for i := range params {
		change(&params[i])
	}
	if rest != nil {
		change(rest)
	}
	return params, rest
}

// marking returns a function whose result has the marks of all arguments if it is
// unknown. A function that handles marks itself drops them there.
func marking(name string, f function.Function) function.Function {
	handles := false
	params, rest := parameters(f, func(p *function.Parameter) {
		handles = handles || p.AllowMarked
		p.AllowMarked, p.AllowUnknown, p.AllowDynamicType, p.AllowNull = true, true, true, true
	})
	if !handles {
		return f
	}
	return function.New(&function.Spec{
		Description: f.Description(), Params: params, VarParam: rest, Type: f.ReturnTypeForValues,
		Impl: func(args []cty.Value, ty cty.Type) (cty.Value, error) {
			v, err := f.Call(args)
			if err != nil || v.IsKnown() {
				return v, err
			}
			if name == "lookup" || name == "element" {
				v = element(v, args, ty)
			}
			if v.IsKnown() {
				return v, nil
			}
			return from(v, args...), nil
		},
	})
}

// element returns the unknown result of a function that returns an element of its first
// argument or the third. If it is an object, each attribute has only its own marks.
func element(v cty.Value, args []cty.Value, ty cty.Type) cty.Value {
	plain, own := args[0].Unmark()
	if plain.IsNull() || !plain.IsKnown() || !plain.CanIterateElements() || plain.LengthInt() == 0 {
		return v
	}
	list := plain.AsValueSlice()
	for _, other := range args[2:] {
		other, err := convert.Convert(other, ty)
		if err != nil {
			return v
		}
		list = append(list, other)
	}
	return AnyOf(list).WithMarks(own, Marks(args[1]))
}
