package competitions

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
)

// locals are the values of the competition-level locals blocks, by name.
type locals map[string]*hclsyntax.Attribute

func (d *decoder) locals(blocks []*hclsyntax.Block) {
	d.def.locals, d.def.budget = locals{}, &bounded.Budget{}
	for _, b := range blocks {
		d.check(b.Body, slices.Collect(maps.Keys(b.Body.Attributes)), nil)
		for _, attr := range InOrder(b.Body) {
			if first, ok := d.def.locals[attr.Name]; ok {
				d.fail(attr.NameRange, "Second local "+attr.Name, "The first is at line %d.", first.NameRange.Start.Line)
				continue
			}
			d.def.locals[attr.Name] = attr
			d.def.budget.Meter(attr)
		}
	}
}

// EvalContext returns the names that the prepare and grade blocks may refer to: the
// competition's own locals by their names, param.* (defaults, overridden by
// params) and the pure functions. An override of an undeclared parameter is
// a diagnostic; values are converted to the type of the default.
func (d *Definition) EvalContext(params map[string]cty.Value) (*hcl.EvalContext, hcl.Diagnostics) {
	values, diags := d.paramValues(params)
	if diags.HasErrors() {
		return nil, diags
	}
	budget := cmp.Or(d.budget, &bounded.Budget{})
	budget.Reset()
	ctx := (&hcl.EvalContext{Functions: budget.Functions(pureFunctions(d.folder))}).NewChild()
	ctx.Variables = map[string]cty.Value{ParamRoot: cty.ObjectVal(values)}
	e := localEvaluator{attrs: d.locals, budget: budget, context: ctx}
	for _, name := range slices.Sorted(maps.Keys(d.locals)) {
		e.resolve(name, nil)
	}
	if diags = append(diags, e.diags...); diags.HasErrors() {
		return nil, diags
	}
	return ctx, diags
}

// paramValues returns the value of every parameter after overriding.
func (d *Definition) paramValues(overrides map[string]cty.Value) (map[string]cty.Value, hcl.Diagnostics) {
	var diags hcl.Diagnostics
	values := make(map[string]cty.Value, len(d.Params))
	for _, p := range d.Params {
		values[p.Name] = p.Default
		over, ok := overrides[p.Name]
		if !ok {
			continue
		}
		v, err := convert.Convert(over, p.Default.Type())
		if err != nil || v.IsNull() {
			diags = append(diags, diag.Error(p.Range, "Wrong value of parameter "+p.Name, "Expected a %s.", p.Default.Type().FriendlyName()))
			continue
		}
		values[p.Name] = v
	}
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if _, ok := values[name]; !ok {
			diags = append(diags, diag.General("Unknown parameter "+name, "Competition %s: %s", d.ID, diag.Suggest(name, d.ParamNames())))
		}
	}
	return values, diags
}

// localEvaluator evaluates locals in the order in which they need each other. The
// context has those that were evaluated so far.
type localEvaluator struct {
	attrs   locals
	budget  *bounded.Budget
	context *hcl.EvalContext
	diags   hcl.Diagnostics
}

func (e *localEvaluator) resolve(name string, path []string) {
	attr, ok := e.attrs[name]
	if _, done := e.context.Variables[name]; done || !ok {
		return
	}
	v := cty.DynamicVal
	if slices.Contains(path, name) {
		e.diags = append(e.diags, diag.Error(attr.NameRange, "Locals form a cycle",
			"%s. Break the cycle.", strings.Join(append(path, name), " → ")))
	} else {
		for _, need := range localNames(attr.Expr) {
			e.resolve(need, append(path, name))
		}
		if _, done := e.context.Variables[name]; done {
			return
		}
		var diags hcl.Diagnostics
		v, diags = e.budget.Value(attr.Expr, e.context)
		e.diags = append(e.diags, diags...)
	}
	e.context.Variables[name] = v
}

// localNames returns the names of locals that an expression refers to, in order,
// once each.
func localNames(expr hcl.Expression) []string {
	names := []string{}
	for _, t := range expr.Variables() {
		if name := t.RootName(); name != ParamRoot && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// pureFunctions returns the functions of every expression of a definition:
// a selection of cty's standard library, and lines, which reads a list of
// lines from a file of the competition's folder.
func pureFunctions(folder fs.FS) map[string]function.Function {
	return map[string]function.Function{
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc,
		"max": stdlib.MaxFunc, "min": stdlib.MinFunc, "range": stdlib.RangeFunc,
		"length": stdlib.LengthFunc, "element": stdlib.ElementFunc, "slice": stdlib.SliceFunc,
		"concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc, "distinct": stdlib.DistinctFunc,
		"keys": stdlib.KeysFunc, "values": stdlib.ValuesFunc, "merge": stdlib.MergeFunc,
		"reverse": stdlib.ReverseListFunc, "sort": stdlib.SortFunc, "zipmap": stdlib.ZipmapFunc,
		"lower": stdlib.LowerFunc, "upper": stdlib.UpperFunc, "join": stdlib.JoinFunc,
		"setproduct": stdlib.SetProductFunc, "split": stdlib.SplitFunc, "replace": stdlib.ReplaceFunc, "substr": stdlib.SubstrFunc,
		"format": stdlib.FormatFunc, "trimspace": stdlib.TrimSpaceFunc,
		"lines": linesFunction(folder),
	}
}

func linesFunction(folder fs.FS) function.Function {
	return function.New(&function.Spec{
		Description: "The lines of a text file in the competition's folder, without their line ends.",
		Params:      []function.Parameter{{Name: "path", Type: cty.String}},
		Type:        function.StaticReturnType(cty.List(cty.String)),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			data, err := fs.ReadFile(folder, args[0].AsString())
			if err != nil {
				return cty.NilVal, fmt.Errorf("read lines: %w", err)
			}
			text := strings.TrimSuffix(string(data), "\n")
			if text == "" {
				return cty.ListValEmpty(cty.String), nil
			}
			return cty.ListVal(lists.Of(strings.Split(text, "\n"), cty.StringVal)), nil
		},
	})
}

// ParamRoot stands before the name of a parameter: param.test_size.
const ParamRoot = "param"

// reservedNames are those that no local and no variable of a for expression can
// have.
var reservedNames = []string{ParamRoot, "local", "each", "true", "false", "null"}

// nameWalker reports names that could mean two things: nothing shadows
// anything. A name is one local of the competition, one local of the prepare
// block around it, or the variable of one for expression around it.
type nameWalker struct {
	scopes []map[string]declared
	diags  hcl.Diagnostics
}

// declared is the origin of a name.
type declared struct {
	what string
	at   hcl.Range
}

// checkNames looks at all names of a competition block. The locals of errata
// blocks are in the place of those of the competition.
func checkNames(body *hclsyntax.Body) hcl.Diagnostics {
	w := &nameWalker{scopes: []map[string]declared{{}}}
	w.locals(body)
	for _, b := range body.Blocks {
		if b.Type != "errata" {
			continue
		}
		for name, attr := range localsOf(b.Body) {
			if _, ok := w.scopes[0][name]; !ok {
				w.declare(name, declared{"the local", attr.NameRange})
			}
		}
	}
	_ = hclsyntax.Walk(body, w)
	return w.diags
}

// localsOf returns the attributes of the locals blocks of a body; of a name
// that is there twice the first.
func localsOf(body *hclsyntax.Body) map[string]*hclsyntax.Attribute {
	out := map[string]*hclsyntax.Attribute{}
	for _, b := range body.Blocks {
		if b.Type != "locals" {
			continue
		}
		for name, attr := range b.Body.Attributes {
			if _, ok := out[name]; !ok {
				out[name] = attr
			}
		}
	}
	return out
}

func (w *nameWalker) locals(body *hclsyntax.Body) {
	locals := localsOf(body)
	for _, name := range slices.Sorted(maps.Keys(locals)) {
		w.declare(name, declared{"the local", locals[name].NameRange})
	}
}

// declare adds a name to the innermost scope.
func (w *nameWalker) declare(name string, d declared) {
	if slices.Contains(reservedNames, name) {
		w.diags = append(w.diags, diag.Error(d.at, "Reserved name "+name, "%s has a meaning of its own in a definition; choose another name.", name))
		return
	}
	for _, scope := range w.scopes {
		if first, ok := scope[name]; ok {
			w.diags = append(w.diags, diag.Error(d.at, "Ambiguous name "+name,
				"%s here and %s at line %d have the same name. Rename one of them.", d.what, first.what, first.at.Start.Line))
			return
		}
	}
	w.scopes[len(w.scopes)-1][name] = d
}

// Enter implements hclsyntax.Walker.
func (w *nameWalker) Enter(n hclsyntax.Node) hcl.Diagnostics {
	switch x := n.(type) {
	case *hclsyntax.Block:
		if x.Type == "prepare" {
			w.scopes = append(w.scopes, map[string]declared{})
			w.locals(x.Body)
		}
	case *hclsyntax.ForExpr:
		w.scopes = append(w.scopes, map[string]declared{})
		for _, name := range []string{x.KeyVar, x.ValVar} {
			if name != "" {
				w.declare(name, declared{"the variable of a for expression", x.OpenRange})
			}
		}
	case *hclsyntax.ScopeTraversalExpr:
		if x.Traversal.RootName() == "local" {
			w.diags = append(w.diags, diag.Error(x.SrcRange, "Locals have no prefix", "Write the name of the local alone, without local before it."))
		}
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (w *nameWalker) Exit(n hclsyntax.Node) hcl.Diagnostics {
	block, ok := n.(*hclsyntax.Block)
	_, isFor := n.(*hclsyntax.ForExpr)
	if isFor || ok && block.Type == "prepare" {
		w.scopes = w.scopes[:len(w.scopes)-1]
	}
	return nil
}
