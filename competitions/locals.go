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

	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
)

// locals are the values of the competition-level locals blocks, by name.
type locals map[string]*hclsyntax.Attribute

func (d *decoder) locals(blocks []*hclsyntax.Block) {
	d.def.locals, d.def.budget = locals{}, &bounded.Budget{}
	for _, b := range blocks {
		d.check(b.Body, bodySchema{attrs: slices.Collect(maps.Keys(b.Body.Attributes))})
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
	e := localEvaluator{
		attrs:  d.locals,
		budget: budget,
		values: map[string]cty.Value{},
		root:   &hcl.EvalContext{Functions: budget.Functions(pureFunctions(d.folder))},
		param:  cty.ObjectVal(values),
	}
	for _, name := range slices.Sorted(maps.Keys(d.locals)) {
		e.resolve(name, nil)
	}
	if diags = append(diags, e.diags...); diags.HasErrors() {
		return nil, diags
	}
	return e.context(nil), diags
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

// localEvaluator evaluates locals in the order in which they need each other.
type localEvaluator struct {
	attrs  locals
	budget *bounded.Budget
	values map[string]cty.Value
	root   *hcl.EvalContext
	param  cty.Value
	diags  hcl.Diagnostics
}

func (e *localEvaluator) resolve(name string, path []string) {
	if _, done := e.values[name]; done {
		return
	}
	attr := e.attrs[name]
	if slices.Contains(path, name) {
		e.diags = append(e.diags, diag.Error(attr.NameRange, "Locals form a cycle",
			"%s. Break the cycle.", strings.Join(append(path, name), " → ")))
		e.values[name] = cty.DynamicVal
		return
	}
	needs := localNames(attr.Expr)
	for _, need := range needs {
		if _, ok := e.attrs[need]; ok {
			e.resolve(need, append(path, name))
		}
	}
	if _, done := e.values[name]; done {
		return
	}
	v, diags := e.budget.Value(attr.Expr, e.context(needs))
	e.diags = append(e.diags, diags...)
	e.values[name] = v
}

// context returns a context with the named locals, or all of them.
func (e *localEvaluator) context(names []string) *hcl.EvalContext {
	visible := e.values
	if names != nil {
		visible = map[string]cty.Value{}
		for _, n := range names {
			if v, ok := e.values[n]; ok {
				visible[n] = v
			}
		}
	}
	ctx := e.root.NewChild()
	ctx.Variables = maps.Clone(visible)
	ctx.Variables[ParamRoot] = e.param
	return ctx
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
			var out []cty.Value
			for _, line := range strings.Split(text, "\n") {
				out = append(out, cty.StringVal(line))
			}
			return cty.ListVal(out), nil
		},
	})
}
