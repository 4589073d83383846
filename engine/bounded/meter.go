package bounded

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Meter makes the expressions below a node count against the budget: the
// repeated expressions of a loop, the arguments of calls and operators, and the
// parts of a template.
func (b *Budget) Meter(node hclsyntax.Node) {
	_ = hclsyntax.Walk(node, &meter{budget: b})
}

// meter walks a tree and wraps the expressions that count.
type meter struct {
	budget *Budget
	// open has the costs of the nodes that enclose the current one.
	open []cost
}

// cost is the cost of evaluating an expression once, in steps and bytes of new
// values. It excludes metered parts.
type cost struct{ steps, bytes int64 }

// Enter implements hclsyntax.Walker.
func (w *meter) Enter(n hclsyntax.Node) hcl.Diagnostics {
	c := cost{steps: 1}
	switch e := n.(type) {
	case *Metered:
		if e.kind == traced {
			c.steps = 0
		}
	case *hclsyntax.Attribute:
		w.trace(&e.Expr)
	case *hclsyntax.ParenthesesExpr:
		w.trace(&e.Expression)
	case *hclsyntax.TemplateWrapExpr:
		w.trace(&e.Wrapped)
	case *hclsyntax.UnaryOpExpr:
		w.trace(&e.Val)
	case *hclsyntax.RelativeTraversalExpr:
		w.trace(&e.Source)
	case *hclsyntax.IndexExpr:
		w.trace(&e.Collection)
		w.trace(&e.Key)
	case *hclsyntax.ObjectConsKeyExpr:
		w.trace(&e.Wrapped)
	case *hclsyntax.ForExpr:
		w.trace(&e.CollExpr)
		w.wrap(&e.ValExpr, repeated, "")
		w.wrap(&e.KeyExpr, repeated, "")
		w.wrap(&e.CondExpr, repeated, "")
	case *hclsyntax.SplatExpr:
		w.trace(&e.Source)
		w.wrap(&e.Each, repeated, "")
	case *hclsyntax.FunctionCallExpr:
		c.steps = 5
		for i := range e.Args {
			w.wrap(&e.Args[i], whole, e.Name)
		}
	case *hclsyntax.ConditionalExpr:
		w.trace(&e.Condition)
		w.wrap(&e.TrueResult, whole, "?")
		w.wrap(&e.FalseResult, whole, "?")
	case *hclsyntax.BinaryOpExpr:
		w.wrap(&e.LHS, whole, "==")
		w.wrap(&e.RHS, whole, "==")
		e.Op = w.budget.operation(e.Op)
	case *hclsyntax.TemplateExpr:
		for i := range e.Parts {
			w.wrap(&e.Parts[i], whole, "${}")
		}
	case *hclsyntax.TemplateJoinExpr:
		w.wrap(&e.Tuple, whole, "${}")
	case *hclsyntax.ObjectConsExpr:
		for i := range e.Items {
			w.trace(&e.Items[i].ValueExpr)
		}
		c.bytes = 400 + 114*int64(len(e.Items))
	case *hclsyntax.TupleConsExpr:
		for i := range e.Exprs {
			w.trace(&e.Exprs[i])
		}
		c.bytes = 64 + 64*int64(len(e.Exprs))
	}
	w.open = append(w.open, c)
	return nil
}

// Exit implements hclsyntax.Walker.
func (w *meter) Exit(n hclsyntax.Node) hcl.Diagnostics {
	last := len(w.open) - 1
	c := w.open[last]
	w.open = w.open[:last]
	if m, ok := n.(*Metered); ok && m.kind == repeated {
		m.each = cost{c.steps + 10, c.bytes + 64}
		c = cost{steps: 1}
	}
	if last > 0 {
		w.open[last-1].steps += c.steps
		w.open[last-1].bytes += c.bytes
	}
	return nil
}

// kind determines how a metered expression counts.
type kind int

const (
	// repeated counts the steps and the new values of its own text.
	repeated kind = iota
	// whole counts its value with all elements, before another function reads
	// it.
	whole
	// traced does not count. It only keeps marks, as all kinds do.
	traced
)

// Metered is an expression that counts against a budget and keeps the marks of what it
// reads. To a walk over the tree, it looks like parentheses.
type Metered struct {
	*hclsyntax.ParenthesesExpr
	budget *Budget
	kind   kind
	// each is the cost of one repetition.
	each cost
	// effort is the number of steps to read one element of its value.
	effort int64
	// unified means that its value is converted to a common type with another
	// value.
	unified bool
	// makes means that a new value of the same size is made from it.
	makes bool
	// shallow means that its elements are read or passed on as they are.
	shallow bool
}

// UnwrapExpression implements HCL's interface for expressions that only wrap
// another.
func (m *Metered) UnwrapExpression() hcl.Expression { return m.Expression }

// passing has the functions and operators that return a part of an argument, or
// something small.
var passing = map[string]bool{
	"?": true, "==": true, "lookup": true, "element": true, "length": true, "contains": true, "index": true, "coalesce": true, "coalescelist": true,
	"try": true, "can": true, "strlen": true, "substr": true, "trim": true, "trimspace": true, "trimprefix": true, "trimsuffix": true, "chomp": true,
	"tostring": true, "tonumber": true, "tobool": true, "max": true, "min": true, "regex": true,
}

// shallow has the functions that do not look into the elements of an argument.
var shallow = map[string]bool{"element": true, "keys": true, "length": true, "lookup": true, "values": true}

// trace wraps an expression that may drop marks.
func (w *meter) trace(e *hclsyntax.Expression) {
	if drops(*e) {
		w.wrap(e, traced, "")
	}
}

func (w *meter) wrap(e *hclsyntax.Expression, k kind, user string) {
	switch inner := (*e).(type) {
	case nil, *Metered:
		return
	case *hclsyntax.LiteralValueExpr:
		if k == whole && !huge(inner.Val) {
			return
		}
	}
	m := &Metered{
		ParenthesesExpr: &hclsyntax.ParenthesesExpr{Expression: *e, SrcRange: (*e).Range()},
		budget:          w.budget, kind: k, effort: 10, makes: !passing[user], shallow: shallow[user],
	}
	switch user {
	case "${}":
		m.effort = 1
	case "?":
		m.unified = true
	}
	if m.shallow {
		m.effort = 1 // they are only measured
	}
	*e = m
}

// Value implements hcl.Expression.
func (m *Metered) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if m.kind == repeated {
		m.budget.spend(m.each.steps, m.each.bytes, m.SrcRange)
		return m.budget.trace(m.Expression, ctx)
	}
	v, diags := m.budget.trace(m.Expression, ctx)
	if m.kind == traced {
		return v, diags
	}
	s := m.budget.measure(v, m.SrcRange)
	if m.shallow {
		s.bytes = 64 + 64*int64(count(v))
	}
	if !m.makes {
		s.bytes = 0
	}
	effort := m.effort
	if m.unified && structural(v) {
		v, effort = unifiable(v)
	}
	m.budget.spend(effort*s.elements, s.bytes, m.SrcRange)
	return v, diags
}

// unifiable prepares a tuple or object for being unified with a value of another
// type, and returns the steps that this takes for each of its elements. The
// standard unification compares the types of all pairs of elements, to make a list
// or map of a common type; a large value becomes that before.
func unifiable(v cty.Value) (cty.Value, int64) {
	ty, effort := cty.List(cty.DynamicPseudoType), int64(10)
	if v.Type().IsObjectType() {
		ty, effort = cty.Map(cty.DynamicPseudoType), 60
	}
	n := v.LengthInt()
	if n > maxUnified {
		if c, err := Convert(v, ty); err == nil {
			return c, effort
		}
	}
	return v, effort + int64(n)/64
}

// maxUnified is the number of elements from which it pays to make a collection first.
const maxUnified = 1000

// operation returns an operator that refuses numbers with thousands of digits.
func (b *Budget) operation(op *hclsyntax.Operation) *hclsyntax.Operation {
	if op.Type != cty.Number && op.Impl.Params()[0].Type != cty.Number {
		return op
	}
	bounded := *op
	bounded.Impl = b.checked(op.Impl, func([]cty.Value) error { return nil })
	return &bounded
}

// checked returns a function that first checks its arguments. It neither
// accepts nor returns huge numbers.
func (b *Budget) checked(f function.Function, check func(args []cty.Value) error) function.Function {
	c := collector{f.Params(), f.VarParam(), opens(f)}
	params, rest := parameters(f, func(p *function.Parameter) {
		if ofAny(p.Type) {
			p.Type = cty.DynamicPseudoType // the collector converts it
		}
	})
	return function.New(&function.Spec{
		Description: f.Description(), Params: params, VarParam: rest,
		Type: func(args []cty.Value) (cty.Type, error) {
			for i, arg := range args {
				if huge(arg) || endless(arg) {
					return cty.NilType, function.NewArgErrorf(i, "the number is infinite or has more than 1,000 digits")
				}
			}
			args, err := c.convert(args)
			if err == nil {
				err = check(args)
			}
			if err != nil {
				return cty.NilType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			args, err := c.convert(args)
			if err != nil {
				return cty.NilVal, err
			}
			v, err := f.Call(args)
			if err != nil {
				return v, err
			}
			var s size
			if why := s.add(v, 0); why != "" {
				return cty.NilVal, function.NewArgErrorf(0, "the result %s", why)
			}
			b.spendIn(s)
			return v, nil
		},
	})
}

// spendIn is like spend, for functions, which do not know where they are
// called.
func (b *Budget) spendIn(s size) {
	if b.work.Add(s.elements) > maxWork || b.made.Add(s.bytes) > maxMade {
		b.fail(nil, "Values too large", "The values made up to here take more than %d MiB, or too long.", maxMade>>20)
	}
}
