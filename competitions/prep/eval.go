package prep

import (
	"cmp"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/plugins/data/table/pyjson"
	"github.com/mleflow/mleflow/plugins/data/transform"
)

// evaluator computes expressions in which columns are values.
type evaluator struct {
	locals    *localSet
	params    map[string]cty.Value
	functions map[string]function.Function
	verbs     map[string]transform.Verb
	input     *transform.Input
}

// scope holds the variables of for expressions.
type scope struct {
	parent *scope
	names  map[string]cty.Value
}

func (s *scope) lookup(name string) (cty.Value, bool) {
	for ; s != nil; s = s.parent {
		if v, ok := s.names[name]; ok {
			return v, true
		}
	}
	return cty.NilVal, false
}

// operators maps HCL's operations to those on columns.
var operators = map[*hclsyntax.Operation]transform.Op{
	hclsyntax.OpAdd: transform.Add, hclsyntax.OpSubtract: transform.Subtract, hclsyntax.OpMultiply: transform.Multiply,
	hclsyntax.OpDivide: transform.Divide, hclsyntax.OpModulo: transform.Modulo,
	hclsyntax.OpEqual: transform.Equal, hclsyntax.OpNotEqual: transform.NotEqual,
	hclsyntax.OpLessThan: transform.Less, hclsyntax.OpLessThanOrEqual: transform.LessEqual,
	hclsyntax.OpGreaterThan: transform.Greater, hclsyntax.OpGreaterThanOrEqual: transform.GreaterEqual,
	hclsyntax.OpLogicalAnd: transform.And, hclsyntax.OpLogicalOr: transform.Or,
}

// value computes an expression.
func (e *evaluator) value(expr hclsyntax.Expression, s *scope) (cty.Value, hcl.Diagnostics) {
	switch x := expr.(type) {
	case *hclsyntax.LiteralValueExpr:
		return x.Val, nil
	case *hclsyntax.ParenthesesExpr:
		return e.value(x.Expression, s)
	case *hclsyntax.TemplateWrapExpr:
		return e.value(x.Wrapped, s)
	case *hclsyntax.ScopeTraversalExpr:
		return e.reference(x, s)
	case *hclsyntax.RelativeTraversalExpr:
		v, diags := e.value(x.Source, s)
		if diags.HasErrors() {
			return v, diags
		}
		return traverse(v, x.Traversal)
	case *hclsyntax.FunctionCallExpr:
		return e.call(x, s)
	case *hclsyntax.BinaryOpExpr:
		return e.binary(x, s)
	case *hclsyntax.UnaryOpExpr:
		return e.unary(x, s)
	case *hclsyntax.ConditionalExpr:
		return e.conditional(x, s)
	case *hclsyntax.TemplateExpr:
		return e.template(x, s)
	case *hclsyntax.TupleConsExpr:
		return e.tuple(x, s)
	case *hclsyntax.ObjectConsExpr, *hclsyntax.ForExpr:
		return e.collection(expr, s)
	case *hclsyntax.ObjectConsKeyExpr:
		return e.objectKey(x, s)
	case *hclsyntax.IndexExpr:
		return e.index(x, s)
	}
	return fail(expr.Range(), "Not available here", "This kind of expression cannot be used in a prepare block.")
}

func fail(r hcl.Range, summary, detail string, args ...any) (cty.Value, hcl.Diagnostics) {
	return cty.DynamicVal, wrong(r, summary, detail, args...)
}

// valueOr returns a value, or the error with which it could not be made.
func valueOr(v cty.Value, err error, r hcl.Range, summary string) (cty.Value, hcl.Diagnostics) {
	if err != nil {
		return fail(r, summary, "%v.", err)
	}
	return v, nil
}

// wrong returns one error.
func wrong(r hcl.Range, summary, detail string, args ...any) hcl.Diagnostics {
	return hcl.Diagnostics{diag.Error(r, summary, detail, args...)}
}

// reference resolves a local, param.x or a variable of a for expression. No two
// of them have the same name.
func (e *evaluator) reference(x *hclsyntax.ScopeTraversalExpr, s *scope) (cty.Value, hcl.Diagnostics) {
	root := x.Traversal.RootName()
	if v, ok := s.lookup(root); ok {
		return traverse(v, x.Traversal[1:])
	}
	if root == competitions.ParamRoot {
		step, diags := e.parameter(x.Traversal)
		if diags.HasErrors() {
			return cty.DynamicVal, diags
		}
		return traverse(e.params[step], x.Traversal[2:])
	}
	v, diags := e.locals.get(e, root, x.Traversal[0].SourceRange())
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	return traverse(v, x.Traversal[1:])
}

// parameter returns the name of the parameter that param.x means.
func (e *evaluator) parameter(t hcl.Traversal) (string, hcl.Diagnostics) {
	if len(t) > 1 {
		if step, ok := t[1].(hcl.TraverseAttr); ok {
			if _, ok := e.params[step.Name]; ok {
				return step.Name, nil
			}
			return "", wrong(step.SrcRange, "Unknown parameter "+step.Name, "%s", diag.Suggest(step.Name, sortedKeys(e.params)))
		}
	}
	return "", wrong(t.SourceRange(), "Incomplete reference", "Write param.<name>.")
}

// traverse follows attributes and indexes; an attribute of a table is a column.
func traverse(v cty.Value, steps hcl.Traversal) (cty.Value, hcl.Diagnostics) {
	for _, step := range steps {
		r := step.SourceRange()
		var diags hcl.Diagnostics
		switch t := step.(type) {
		case hcl.TraverseAttr:
			v, diags = attribute(v, t.Name, r)
		case hcl.TraverseIndex:
			v, diags = element(v, t.Key, r)
		default:
			return fail(r, "Not available here", "This kind of reference cannot be used in a prepare block.")
		}
		if diags.HasErrors() {
			return v, diags
		}
	}
	return v, nil
}

func attribute(v cty.Value, name string, r hcl.Range) (cty.Value, hcl.Diagnostics) {
	if t := v.Type(); t.IsObjectType() && !t.HasAttribute(name) {
		return fail(r, "No attribute "+name, "%s", diag.Suggest(name, sortedKeys(t.AttributeTypes())))
	}
	if object, ok := held[pyjson.Value](v); ok {
		m, ok := object.Get(name)
		if !ok {
			return fail(r, "No member "+name, "%s", diag.Suggest(name, object.Names()))
		}
		out, err := fromJSON(m)
		return valueOr(out, err, r, "Cannot read member "+name)
	}
	switch t := rowsIn(v).(type) {
	case transform.TableRows:
		c, err := t.Column(name)
		if err != nil {
			return fail(r, "No column "+name, "%s", diag.Suggest(name, t.Names()))
		}
		return fromColumn(c), nil
	case transform.Columned:
		c, err := t.Column(name)
		return valueOr(fromColumn(c), err, r, "No field "+name)
	}
	return hcl.GetAttr(v, name, &r)
}

func element(v, key cty.Value, r hcl.Range) (cty.Value, hcl.Diagnostics) {
	if records, err := toRecords(v); err == nil && key.Type() == cty.Number {
		var i int
		if err := intoGo(key, &i); err != nil || i < 0 || i >= len(records) {
			return fail(r, "No such record", "There are %d records, counted from 0.", len(records))
		}
		out, err := fromJSON(records[i])
		return valueOr(out, err, r, "Cannot read record")
	}
	if key.Type() == cty.String && !key.IsNull() && v.Type().IsCapsuleType() {
		return attribute(v, key.AsString(), r)
	}
	return hcl.Index(v, key, &r)
}

func (e *evaluator) index(x *hclsyntax.IndexExpr, s *scope) (cty.Value, hcl.Diagnostics) {
	v, diags := e.value(x.Collection, s)
	key, more := e.value(x.Key, s)
	if diags = append(diags, more...); diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	return element(v, key, x.SrcRange)
}

func (e *evaluator) binary(x *hclsyntax.BinaryOpExpr, s *scope) (cty.Value, hcl.Diagnostics) {
	a, diags := e.value(x.LHS, s)
	b, more := e.value(x.RHS, s)
	if diags = append(diags, more...); diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	if a.Type() != columnType && b.Type() != columnType {
		return e.plainCall(x.Op.Impl, x.SrcRange, a, b)
	}
	left, errLeft := toOperand(a)
	right, errRight := toOperand(b)
	if err := cmp.Or(errLeft, errRight); err != nil {
		return fail(x.SrcRange, "Wrong operand", "%v.", err)
	}
	c, err := transform.Operate(operators[x.Op], left, right)
	return valueOr(fromColumn(c), err, x.SrcRange, "Wrong operand")
}

// plainCall applies a function of the standard library to plain values.
func (e *evaluator) plainCall(f function.Function, r hcl.Range, args ...cty.Value) (cty.Value, hcl.Diagnostics) {
	params := f.Params()
	for i, a := range args {
		if args[i] = number(a); i < len(params) {
			var err error
			if args[i], err = convert.Convert(args[i], params[i].Type); err != nil {
				return fail(r, "Wrong operand", "Expected a %s, not %s.", params[i].Type.FriendlyName(), describe(number(a)))
			}
		}
	}
	v, err := f.Call(args)
	return valueOr(v, err, r, "Wrong argument")
}

func (e *evaluator) unary(x *hclsyntax.UnaryOpExpr, s *scope) (cty.Value, hcl.Diagnostics) {
	v, diags := e.value(x.Val, s)
	if diags.HasErrors() {
		return v, diags
	}
	c, ok := asColumn(v)
	if !ok {
		return e.plainCall(x.Op.Impl, x.SrcRange, v)
	}
	operate := transform.Negate
	if x.Op == hclsyntax.OpLogicalNot {
		operate = transform.Not
	}
	c, err := operate(c)
	return valueOr(fromColumn(c), err, x.SrcRange, "Wrong operand")
}

// conditional computes one branch, or both where the condition is a column.
func (e *evaluator) conditional(x *hclsyntax.ConditionalExpr, s *scope) (cty.Value, hcl.Diagnostics) {
	cond, diags := e.condition(x.Condition, s, true)
	if diags.HasErrors() {
		return cond, diags
	}
	c, ok := asColumn(cond)
	if !ok {
		if cond.True() {
			return e.value(x.TrueResult, s)
		}
		return e.value(x.FalseResult, s)
	}
	yes, diags := e.operand(x.TrueResult, s)
	no, more := e.operand(x.FalseResult, s)
	if diags = append(diags, more...); diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	chosen, err := transform.Choose(c, yes, no)
	return valueOr(fromColumn(chosen), err, x.SrcRange, "Wrong condition")
}

// condition computes a boolean or, where columns are allowed, a column.
func (e *evaluator) condition(expr hclsyntax.Expression, s *scope, columns bool) (cty.Value, hcl.Diagnostics) {
	v, diags := e.value(expr, s)
	_, column := asColumn(v)
	if !diags.HasErrors() && !(columns && column) && (v.Type() != cty.Bool || v.IsNull()) {
		return fail(expr.Range(), "Not a condition", "Expected true or false, not %s.", describe(v))
	}
	return v, diags
}

func (e *evaluator) operand(expr hclsyntax.Expression, s *scope) (transform.Operand, hcl.Diagnostics) {
	v, diags := e.value(expr, s)
	if diags.HasErrors() {
		return transform.Operand{}, diags
	}
	o, err := toOperand(v)
	if err != nil {
		diags = wrong(expr.Range(), "Wrong value", "%v.", err)
	}
	return o, diags
}

// template joins texts and cells.
func (e *evaluator) template(x *hclsyntax.TemplateExpr, s *scope) (cty.Value, hcl.Diagnostics) {
	parts := make([]transform.Operand, len(x.Parts))
	columns := false
	for i, p := range x.Parts {
		o, diags := e.operand(p, s)
		if diags.HasErrors() {
			return cty.DynamicVal, diags
		}
		parts[i] = o
		columns = columns || o.Column != nil
	}
	if !columns {
		text := ""
		for _, o := range parts {
			text += o.Value.String()
		}
		return cty.StringVal(text), nil
	}
	c, err := transform.Join(parts)
	return valueOr(fromColumn(c), err, x.SrcRange, "Cannot fill template")
}

func (e *evaluator) tuple(x *hclsyntax.TupleConsExpr, s *scope) (cty.Value, hcl.Diagnostics) {
	items, diags := collect(x.Exprs, func(expr hclsyntax.Expression) (cty.Value, hcl.Diagnostics) { return e.value(expr, s) })
	return cty.TupleVal(items), diags
}
