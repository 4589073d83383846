package config

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/engine/bounded"
	"github.com/mleflow/mleflow/engine/diag"
)

// envPrefix is the prefix of environment variables that set a variable.
const envPrefix = "MLEFLOW_VAR_"

// Assignment is one -var (File empty) or -var-file (File set), in the order
// of the command line; later ones win.
type Assignment struct {
	// Text is name=value.
	Text string
	// File is the path of a file of assignments in HCL.
	File string
}

// Inputs are the values given to a pipeline from outside. Assignments take
// precedence over the environment.
type Inputs struct {
	Environ     []string
	Assignments []Assignment
	// Files are the files that a past run recorded, by name, for a pipeline
	// that is expanded again; nil reads the pipeline's folder.
	Files map[string][]byte
}

// given is a value for a variable.
type given struct {
	// text is set if the value is plain text and must be parsed according to the
	// variable's type.
	text   string
	isText bool
	val    cty.Value
	rng    hcl.Range
	source string
}

// Values decides the value of every variable.
func (p *Pipeline) Values(in Inputs) (map[string]cty.Value, diag.List) {
	all, diags := p.collect(in)
	values := make(map[string]cty.Value, len(p.Variables))
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		v := p.Variables[name]
		g, ok := all[name]
		val, more := v.value(g, ok)
		diags = append(diags, more...)
		if g.isText && !more.HasErrors() {
			p.give(val)
		}
		if !more.HasErrors() {
			diags = append(diags, p.validate(v, val)...)
		}
		if v.Sensitive {
			val = val.Mark(sensitive)
		}
		values[name] = val
	}
	return values, diags
}

// give notes paths among the strings of a value that the user gave by the command line
// or the environment. A file of variables may be the repository's.
func (p *Pipeline) give(val cty.Value) {
	_ = cty.Walk(val, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
			p.local.Give(v.AsString())
		}
		return true, nil
	})
}

func (p *Pipeline) collect(in Inputs) (map[string]given, diag.List) {
	all := map[string]given{}
	var diags diag.List
	for _, kv := range in.Environ {
		name, text, ok := strings.Cut(kv, "=")
		if name, has := strings.CutPrefix(name, envPrefix); ok && has && p.Variables[name] != nil {
			all[name] = given{text: text, isText: true, source: "environment variable " + envPrefix + name}
		}
	}
	for _, a := range in.Assignments {
		if a.File != "" {
			diags = append(diags, p.assignFile(all, a.File)...)
			continue
		}
		diags = append(diags, p.assignText(all, a.Text)...)
	}
	return all, diags
}

func (p *Pipeline) assignText(all map[string]given, text string) diag.List {
	name, value, ok := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if !ok {
		return diag.List{diag.General("Invalid -var", "-var takes NAME=VALUE; the equals sign is missing.")}
	}
	if p.Variables[name] == nil {
		return diag.List{diag.General("Undeclared variable", "-var %s: the pipeline declares no variable %q.%s", name, name, diag.DidYouMean(name, p.variableNames()))}
	}
	all[name] = given{text: value, isText: true, source: "-var " + name}
	return nil
}

func (p *Pipeline) assignFile(all map[string]given, path string) diag.List {
	read := ReadSource
	if path == "/dev/stdin" || strings.HasPrefix(path, "/dev/fd/") { // a shell's <(…), which the user typed
		read = os.ReadFile
	}
	src, err := read(path)
	if err != nil {
		return diag.List{diag.General("Variables file cannot be read", "-var-file: %s", err)}
	}
	file, diags := p.budget.Parse(src, path)
	p.Files[path] = file
	attrs, more := file.Body.JustAttributes()
	diags = append(diags, more...)
	for _, a := range sortedAttrs(attrs) {
		if p.Variables[a.Name] == nil {
			diags = append(diags, diag.Error(a.NameRange, "Undeclared variable", "The pipeline declares no variable %q.%s", a.Name, diag.DidYouMean(a.Name, p.variableNames())))
			continue
		}
		val, more := p.budget.Value(a.Expr, nil)
		diags = append(diags, more...)
		all[a.Name] = given{val: val, rng: a.Expr.Range(), source: path}
	}
	return diags
}

func (p *Pipeline) variableNames() []string { return slices.Sorted(maps.Keys(p.Variables)) }

func (v *Variable) value(g given, ok bool) (cty.Value, diag.List) {
	if !ok || g.isText && g.text == "null" && v.Default != cty.NilVal && v.Default.IsNull() { // as Shown writes it
		if v.Default == cty.NilVal {
			return cty.UnknownVal(v.Type), diag.List{diag.Error(v.Range, "Missing value of a variable",
				"Variable %q has no default. Give it with -var %s=VALUE, in a -var-file, or as %s%s in the environment.", v.Name, v.Name, envPrefix, v.Name)}
		}
		return v.Default, nil
	}
	val := g.val
	if g.isText {
		parsed, err := v.parseText(g.text)
		if err != nil {
			return cty.UnknownVal(v.Type), diag.List{diag.General("Wrong value of a variable", "%s: %s.", g.source, err)}
		}
		val = parsed
	}
	out, err := bounded.Convert(val, v.Type)
	if err != nil {
		path, text := mismatch(val, v.Type)
		d := diag.General("Wrong value of a variable", "%s: variable %q%s %s.", g.source, v.Name, path, text)
		if !g.isText {
			d.Subject = g.rng.Ptr()
		}
		return cty.UnknownVal(v.Type), diag.List{d}
	}
	return out, nil
}

// parseText parses a string according to the variable's type: strings, numbers
// and booleans directly, anything else as an expression.
func (v *Variable) parseText(text string) (cty.Value, error) {
	if v.Type.IsPrimitiveType() || v.Type == cty.DynamicPseudoType {
		return cty.StringVal(text), nil
	}
	expr, diags := bounded.ParseExpression([]byte(text), "value of "+v.Name)
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("%q is not an expression of type %s", text, typeexpr.TypeString(v.Type))
	}
	new(bounded.Budget).Meter(expr)
	val, diags := bounded.Literal(expr)
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("%q: %s", text, diags[0].Detail)
	}
	return val, nil
}

func (p *Pipeline) validate(v *Variable, val cty.Value) (diags diag.List) {
	ctx := &hcl.EvalContext{
		Variables: map[string]cty.Value{"var": cty.ObjectVal(map[string]cty.Value{v.Name: val})},
		Functions: p.funcs,
	}
	for _, rule := range v.Validations {
		ok, more := p.budget.Value(rule.Condition, ctx)
		diags = append(diags, more...)
		if more.HasErrors() {
			continue
		}
		ok, err := convert.Convert(ok, cty.Bool)
		if err != nil || ok.IsNull() || !ok.IsKnown() {
			diags = append(diags, diag.Error(rule.Condition.Range(), "Boolean expected", "A condition must be true or false."))
			continue
		}
		if ok.False() {
			msg, more := p.budget.Value(rule.Message, ctx)
			diags = append(diags, more...)
			text := "The value is not allowed."
			if msg.Type() == cty.String && msg.IsKnown() && !msg.IsNull() {
				text = msg.AsString()
			}
			diags = append(diags, diag.Error(rule.Range, "Invalid value of variable "+v.Name, "%s", text))
		}
	}
	return diags
}
