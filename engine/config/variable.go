package config

import (
	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
)

func (l *loader) settings(b *hcl.Block) diag.List {
	content, diags := b.Body.Content(schemas[b.Type])
	remote, more := literalString(content.Attributes["remote_cache"])
	diags = append(diags, more...)
	if remote != "" {
		l.p.RemoteCache = remote
	}
	for _, name := range stepSettings {
		if a := content.Attributes[name]; a != nil {
			l.p.Settings[name] = a.Expr
		}
	}
	_, more = competitionFolders(l.p.Path, content.Attributes["competitions"])
	diags = append(diags, more...)
	a := content.Attributes["required_version"]
	text, more := literalString(a)
	diags = append(diags, more...)
	if a == nil || diags.HasErrors() {
		return diags
	}
	want, err := version.NewConstraint(text)
	if err != nil {
		return append(diags, diag.Error(a.Expr.Range(), "Invalid version constraint", "%q is not a version constraint; write one such as \">= 0.1\".", text))
	}
	have, err := version.NewVersion(l.opts.Version)
	if err != nil || !want.Check(have.Core()) {
		return append(diags, diag.Error(a.Expr.Range(), "Unsupported mleflow version", "This pipeline needs mleflow %s; this is %s.", text, l.opts.Version))
	}
	return diags
}

// variable declares a variable, or changes the declaration in a base file. What
// the block leaves out stays as it was.
func (l *loader) variable(b *hcl.Block) diag.List {
	name := b.Labels[0]
	diags := checkName("variable", name, b.LabelRanges[0])
	content, more := b.Body.Content(schemas[b.Type])
	diags = append(diags, more...)
	v := l.p.Variables[name]
	switch {
	case v == nil:
		v = &Variable{Name: name, Type: cty.DynamicPseudoType, Default: cty.NilVal, plain: true}
		l.p.Variables[name] = v
	case v.Range.Filename == b.DefRange.Filename:
		return append(diags, duplicate("variable", name, b.LabelRanges[0], v.Range))
	}
	v.Range = b.DefRange
	if a := content.Attributes["description"]; a != nil {
		v.Description, more = literalString(a)
		diags = append(diags, more...)
	}
	if a := content.Attributes["sensitive"]; a != nil {
		val, more := bounded.Literal(a.Expr)
		diags = append(diags, more...)
		if val.Type() != cty.Bool || val.IsNull() {
			diags = append(diags, diag.Error(a.Expr.Range(), "Boolean expected", "sensitive must be true or false."))
		} else {
			v.Sensitive = val.True()
		}
	}
	diags = append(diags, v.decodeType(content.Attributes["type"], content.Attributes["default"], l.p.budget)...)
	for _, vb := range content.Blocks {
		c, more := vb.Body.Content(blockIn(argDocs(b.Type), vb.Type))
		diags = append(diags, more...)
		if !more.HasErrors() {
			v.Validations = append(v.Validations, Validation{c.Attributes["condition"].Expr, c.Attributes["error_message"].Expr, vb.DefRange})
		}
	}
	return diags
}

// decodeType sets the type and the default if they are written. The default of
// a base file must also have the type.
func (v *Variable) decodeType(typ, def *hcl.Attribute, budget *bounded.Budget) (diags diag.List) {
	if typ != nil {
		diags = budget.Do(typ.Expr.Range(), func() (diags hcl.Diagnostics) {
			v.Type, v.optional, diags = typeexpr.TypeConstraintWithDefaults(typ.Expr)
			v.plain = v.Type.IsPrimitiveType()
			return diags
		})
		if diags.HasErrors() {
			v.Type, v.optional = cty.DynamicPseudoType, nil
			return explainTypes(typ.Expr, diags)
		}
	}
	val, at := v.Default, typ
	if def != nil {
		var more diag.List
		val, more = budget.Value(def.Expr, nil)
		diags, at = append(diags, more...), def
		if more.HasErrors() {
			return diags
		}
	}
	if val == cty.NilVal || at == nil {
		return diags
	}
	out, wrong := v.accept(val)
	if wrong != "" {
		place := at.Expr.Range()
		if v.Sensitive { // a snippet would show it
			place, wrong = v.Range, " must be "+typeexpr.TypeString(v.Type)
		}
		return append(diags, diag.Error(place, "Wrong type of default", "The default of variable %q%s.", v.Name, wrong))
	}
	v.Default = out
	return diags
}

// accept gives a value the type of the variable, with the defaults of optional
// attributes. Every value does this, whichever way it came. wrong says, after the
// variable's name, why the value cannot have the type.
func (v *Variable) accept(val cty.Value) (out cty.Value, wrong string) {
	if v.optional != nil && !val.IsNull() {
		if bounded.Filled(val, v.Type) > bounded.MaxElements {
			return cty.UnknownVal(v.Type), " has more than a million elements with the defaults of its type"
		}
		val = v.optional.Apply(val)
	}
	out, err := bounded.Convert(val, v.Type)
	if err != nil {
		path, text := mismatch(val, v.Type)
		return cty.UnknownVal(v.Type), path + " " + text
	}
	return out, ""
}

// explainTypes adds the known types to the error for an unknown one.
func explainTypes(typ hcl.Expression, diags diag.List) diag.List {
	hclsyntax.VisitAll(typ.(hclsyntax.Expression), func(n hclsyntax.Node) hcl.Diagnostics {
		if x, ok := n.(*hclsyntax.ScopeTraversalExpr); ok && len(x.Traversal) == 1 {
			addDetail(diags, x.Range(), diag.DidYouMean(x.Traversal.RootName(), []string{"string", "number", "bool", "any"})+
				" The types are string, number, bool, any, list(…), set(…), map(…), tuple([…]) and object({…}).")
		}
		return nil
	})
	return diags
}
