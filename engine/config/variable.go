package config

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
)

func (l *loader) settings(b *hcl.Block) {
	before := len(l.diags)
	content, _ := l.content(b, schemas[b.Type])
	for name, a := range content.Attributes {
		if l.in != nil && name != "required_version" {
			l.fail(a.NameRange, notInModule, "A module sets only required_version. Write %s in the pipeline.", name)
			return
		}
	}
	l.p.RemoteCache = cmp.Or(l.text(literalString(content.Attributes["remote_cache"])), l.p.RemoteCache)
	for _, name := range stepSettings {
		if a := content.Attributes[name]; a != nil {
			l.p.Settings[name] = a.Expr
		}
	}
	_, more := competitionFolders(l.p.Path, content.Attributes["competitions"])
	l.add(more)
	a := content.Attributes["required_version"]
	text := l.text(literalString(a))
	if a == nil || l.diags[before:].HasErrors() {
		return
	}
	want, err := version.NewConstraint(text)
	if err != nil {
		l.fail(a.Expr.Range(), "Invalid version constraint", "%q is not a version constraint; write one such as \">= 0.1\".", text)
		return
	}
	have, err := version.NewVersion(l.opts.Version)
	if err != nil || !want.Check(have.Core()) {
		l.fail(a.Expr.Range(), "Unsupported mleflow version", "This pipeline needs mleflow %s; this is %s.", text, l.opts.Version)
	}
}

// variable declares a variable, or changes the declaration in a base file. What
// the block leaves out stays as it was.
func (l *loader) variable(b *hcl.Block) {
	name := l.name("variable", b)
	content, _ := l.content(b, schemas[b.Type])
	vars := l.p.Variables
	if l.in != nil {
		vars = l.in.vars
	}
	v := vars[name]
	switch {
	case v == nil:
		v = &Variable{Name: name, Type: cty.DynamicPseudoType, Default: cty.NilVal, plain: true}
		vars[name] = v
	case v.Range.Filename == b.DefRange.Filename:
		l.duplicate("variable", name, b.LabelRanges[0], v.Range)
		return
	}
	v.Range = b.DefRange
	if a := content.Attributes["description"]; a != nil {
		v.Description = l.text(literalString(a))
	}
	if a := content.Attributes["sensitive"]; a != nil {
		val, more := bounded.Literal(a.Expr)
		l.add(more)
		if val.Type() != cty.Bool || val.IsNull() {
			l.fail(a.Expr.Range(), "Boolean expected", "sensitive must be true or false.")
		} else {
			v.Sensitive = val.True()
		}
	}
	l.add(v.decodeType(content.Attributes["type"], content.Attributes["default"], l.p.budget))
	v.Validations = append(v.Validations, l.rules(content.Blocks)...)
}

// ruleSchema is the schema of a rule.
var ruleSchema = schemaOf(required("condition", ""), required("error_message", ""))

// rules reads the rules of a variable or a step.
func (l *loader) rules(blocks hcl.Blocks) (rules []Validation) {
	for _, b := range blocks {
		if c, valid := l.content(b, ruleSchema); valid {
			rules = append(rules, Validation{c.Attributes["condition"].Expr, c.Attributes["error_message"].Expr, b.DefRange})
		}
	}
	return rules
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
			place = v.Range
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
		if v.Sensitive {
			path, text = "", "must be "+typeexpr.TypeString(v.Type)
		}
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

// Shown returns the values of variables as strings that may be stored: a string as
// it is, anything else in JSON, and sensitive values left out. A string that would
// be read as something else, such as "null", is in JSON too.
func (p *Pipeline) Shown(values map[string]cty.Value) map[string]string {
	shown := make(map[string]string, len(values))
	for name, v := range values {
		if v.IsMarked() || v.ContainsMarked() {
			continue
		}
		text := Text(v)
		if v.Type() == cty.String && !v.IsNull() && !p.recorded(p.Variables[name], text).RawEquals(v) {
			quoted, _ := json.Marshal(text) // of a string, which cannot fail
			text = string(quoted)
		}
		shown[name] = text
	}
	return shown
}

// recorded reads what Shown wrote.
func (p *Pipeline) recorded(v *Variable, text string) cty.Value {
	val, err := p.decodeJSON(text)
	if err != nil || v.Type == cty.String && val.Type() != cty.String && !val.IsNull() {
		return cty.StringVal(text)
	}
	return val
}

// Hidden returns the strings in sensitive values, at any depth, sorted: they
// must not be stored even where a person wrote them, such as on the command
// line. The defaults of sensitive variables are included even if another value
// was given.
func (p *Pipeline) Hidden(values map[string]cty.Value) []string {
	all := slices.Collect(maps.Values(values))
	for _, v := range p.Variables {
		if v.Sensitive && v.Default != cty.NilVal {
			all = append(all, v.Default.Mark(sensitive))
		}
	}
	var hidden []string
	for _, v := range all {
		if v.ContainsMarked() {
			hidden = append(hidden, texts(v)...)
		}
	}
	slices.Sort(hidden)
	return slices.Compact(hidden)
}

// texts returns the known strings in a value, at any depth.
func texts(v cty.Value) (list []string) {
	plain, _ := v.UnmarkDeep()
	_ = cty.Walk(plain, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
			list = append(list, v.AsString())
		}
		return true, nil
	})
	return list
}

// CheckSensitive warns of sensitive variables with values that cannot be masked.
func (p *Pipeline) CheckSensitive(values map[string]cty.Value) (diags diag.List) {
	for _, v := range p.Variables {
		if value, given := values[v.Name]; v.Sensitive && given && slices.ContainsFunc(texts(value), secret.Bare) {
			diags = append(diags, diag.Warning(v.Range, "Sensitive value too weak to be masked",
				"The value of variable %q stays readable wherever the same text is; %s. Plans and records do not show it.", v.Name, secret.WeakText))
		}
	}
	return diags
}

// HideSensitive returns arguments of the command line without the values that they
// give to sensitive variables.
func (p *Pipeline) HideSensitive(args []string) []string {
	shown := slices.Clone(args)
	for i, arg := range shown {
		flag, _ := strings.CutPrefix(strings.TrimLeft(arg, "-"), "var=")
		name, _, assigns := strings.Cut(flag, "=")
		if v := p.Variables[name]; assigns && v != nil && v.Sensitive {
			shown[i] = strings.TrimSuffix(arg, strings.TrimPrefix(flag, name+"=")) + "***"
		}
	}
	return shown
}

// Text formats a known value without marks: a string as it is, anything else in
// JSON.
func Text(v cty.Value) string {
	if v.Type() == cty.String && !v.IsNull() {
		return v.AsString()
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return "null"
	}
	return string(text)
}
