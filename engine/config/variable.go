package config

import (
	"fmt"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/diag"
)

func (l *loader) settings(b *hcl.Block) diag.List {
	content, diags := b.Body.Content(settingsSchema)
	a := content.Attributes["required_version"]
	text, more := literalString(a)
	diags = append(diags, more...)
	if a == nil || diags.HasErrors() {
		return diags
	}
	want, err := version.NewConstraint(text)
	if err != nil {
		return append(diags, diag.Error(a.Expr.Range(), "Invalid version constraint", "%q is not a version constraint; write for example \">= 0.1\".", text))
	}
	have, err := version.NewVersion(l.opts.Version)
	if err != nil || !want.Check(have.Core()) {
		return append(diags, diag.Error(a.Expr.Range(), "Unsupported mleflow version", "This pipeline needs mleflow %s; this is %s.", text, l.opts.Version))
	}
	return diags
}

func (l *loader) variable(b *hcl.Block) diag.List {
	name := b.Labels[0]
	diags := checkName("variable", name, b.LabelRanges[0])
	content, more := b.Body.Content(variableSchema)
	diags = append(diags, more...)
	if old := l.p.Variables[name]; old != nil {
		return append(diags, duplicate("variable", name, b.LabelRanges[0], old.Range))
	}
	v := &Variable{Name: name, Type: cty.DynamicPseudoType, Default: cty.NilVal, Range: b.DefRange}
	l.p.Variables[name] = v
	v.Description, more = literalString(content.Attributes["description"])
	diags = append(diags, more...)
	diags = append(diags, v.decodeType(content.Attributes["type"], content.Attributes["default"])...)
	if a := content.Attributes["sensitive"]; a != nil {
		val, more := a.Expr.Value(nil)
		diags = append(diags, more...)
		if val.Type() != cty.Bool || val.IsNull() {
			diags = append(diags, diag.Error(a.Expr.Range(), "Truth value expected", "sensitive must be true or false."))
		} else {
			v.Sensitive = val.True()
		}
	}
	for _, vb := range content.Blocks {
		c, more := vb.Body.Content(validationSchema)
		diags = append(diags, more...)
		if !more.HasErrors() {
			v.Validations = append(v.Validations, Validation{c.Attributes["condition"].Expr, c.Attributes["error_message"].Expr, vb.DefRange})
		}
	}
	return diags
}

func (v *Variable) decodeType(typ, def *hcl.Attribute) (diags diag.List) {
	var defaults *typeexpr.Defaults
	if typ != nil {
		v.Type, defaults, diags = typeexpr.TypeConstraintWithDefaults(typ.Expr)
		if diags.HasErrors() {
			v.Type = cty.DynamicPseudoType
			return diags
		}
	}
	if def == nil {
		return diags
	}
	val, more := def.Expr.Value(nil)
	diags = append(diags, more...)
	if more.HasErrors() {
		return diags
	}
	if defaults != nil {
		val = defaults.Apply(val)
	}
	val, err := convert.Convert(val, v.Type)
	if err != nil {
		return append(diags, diag.Error(def.Expr.Range(), "Wrong type of default", "The default of variable %q must be %s: %s.", v.Name, typeexpr.TypeString(v.Type), convertMessage(err)))
	}
	v.Default = val
	return diags
}

// convertMessage tells a conversion error with the path to the wrong part.
func convertMessage(err error) string {
	if pe, ok := err.(cty.PathError); ok && len(pe.Path) > 0 {
		return fmt.Sprintf("%s: %s", pathString(pe.Path), err)
	}
	return err.Error()
}

func pathString(path cty.Path) string {
	s := ""
	for _, p := range path {
		switch p := p.(type) {
		case cty.GetAttrStep:
			s += "." + p.Name
		case cty.IndexStep:
			if p.Key.Type() == cty.String && p.Key.IsKnown() {
				s += fmt.Sprintf("[%q]", p.Key.AsString())
			} else if p.Key.Type() == cty.Number && p.Key.IsKnown() {
				s += "[" + p.Key.AsBigFloat().Text('f', -1) + "]"
			}
		}
	}
	return s
}
