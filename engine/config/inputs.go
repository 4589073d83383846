package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
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
	// Recorded means that Text has the value as Shown wrote it. Otherwise the
	// variable's type says how to read it.
	Recorded bool
	// File is the path of a file of assignments in HCL, or in JSON if that is its
	// extension.
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
	// Withheld leaves required sensitive variables that are not given unknown, for a
	// run that was recorded. Nothing that is stored depends on them.
	Withheld bool
}

// given is a value for a variable. The last one counts, and only that is parsed.
type given struct {
	parse  func() (cty.Value, error)
	rng    *hcl.Range // nil if it is not in a file
	source string
	byUser bool // of the command line or the environment
}

// known is a value that needs no parsing.
func known(val cty.Value) func() (cty.Value, error) {
	return func() (cty.Value, error) { return val, nil }
}

// Values decides the value of every variable.
func (p *Pipeline) Values(in Inputs) (map[string]cty.Value, diag.List) {
	all, diags := p.collect(in)
	values := make(map[string]cty.Value, len(p.Variables))
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		v := p.Variables[name]
		g, ok := all[name]
		val, more := v.value(g, ok)
		if !ok && v.Default == cty.NilVal && v.Sensitive && in.Withheld {
			val, more = cty.UnknownVal(v.Type), nil
		} else if !more.HasErrors() {
			if g.byUser {
				p.give(val)
			}
			more = p.validate("var", v, v.marked(val))
		}
		diags = append(diags, more...)
		val = v.marked(val)
		values[name] = val
	}
	return values, diags
}

// give notes paths among the strings of a value that the user gave by the command line
// or the environment. A file of variables may be the repository's.
func (p *Pipeline) give(val cty.Value) {
	for _, text := range texts(val) {
		p.local.Give(text)
	}
}

func (p *Pipeline) collect(in Inputs) (map[string]given, diag.List) {
	all := map[string]given{}
	var diags diag.List
	for _, kv := range in.Environ {
		name, text, ok := strings.Cut(kv, "=")
		name, has := strings.CutPrefix(cty.NormalizeString(name), envPrefix)
		if v := p.Variables[name]; ok && has && v != nil {
			all[name] = given{parse: func() (cty.Value, error) { return v.parseText(text) }, source: "environment variable " + envPrefix + name, byUser: true}
		}
	}
	for _, a := range in.Assignments {
		assign := p.assignText
		if a.File != "" {
			assign = p.assignFile
		}
		diags = append(diags, assign(all, a)...)
	}
	return all, diags
}

func (p *Pipeline) assignText(all map[string]given, a Assignment) diag.List {
	name, text, ok := strings.Cut(a.Text, "=")
	name = cty.NormalizeString(strings.TrimSpace(name))
	if !ok {
		return diag.List{diag.General("Invalid -var", "-var takes NAME=VALUE; the equals sign is missing.")}
	}
	v := p.Variables[name]
	if v == nil {
		return diag.List{diag.General("Undeclared variable", "-var %s: the pipeline declares no variable %q.%s", name, name, diag.DidYouMean(name, p.variableNames()))}
	}
	parse := func() (cty.Value, error) { return v.parseText(text) }
	if a.Recorded {
		parse = func() (cty.Value, error) { return p.recorded(v, text), nil }
	}
	all[name] = given{parse: parse, source: "-var " + name, byUser: !a.Recorded}
	return nil
}

func (p *Pipeline) assignFile(all map[string]given, a Assignment) diag.List {
	read := ReadSource
	if a.File == "/dev/stdin" || strings.HasPrefix(a.File, "/dev/fd/") { // a shell's <(…), which the user typed
		read = os.ReadFile
	}
	src, err := read(a.File)
	if err != nil {
		return diag.List{diag.General("Variables file cannot be read", "-var-file: %s", err)}
	}
	if filepath.Ext(a.File) == ".json" {
		return p.assignJSON(all, a.File, src)
	}
	file, diags := p.budget.Parse(src, a.File)
	if !slices.ContainsFunc(slices.Collect(maps.Values(p.Variables)), func(v *Variable) bool { return v.Sensitive }) {
		p.Files[a.File] = file // a snippet could show a secret
	}
	attrs, more := file.Body.JustAttributes()
	diags = append(diags, more...)
	for _, attr := range sortedAttrs(attrs) {
		if p.Variables[attr.Name] == nil {
			diags = append(diags, diag.Error(attr.NameRange, "Undeclared variable", "The pipeline declares no variable %q.%s", attr.Name, diag.DidYouMean(attr.Name, p.variableNames())))
			continue
		}
		val, more := p.budget.Value(attr.Expr, nil)
		diags = append(diags, more...)
		all[attr.Name] = given{parse: known(val), rng: attr.Expr.Range().Ptr(), source: a.File}
	}
	return diags
}

// assignJSON takes values from an object in JSON.
func (p *Pipeline) assignJSON(all map[string]given, path string, src []byte) (diags diag.List) {
	object, err := p.decodeJSON(string(src))
	if err == nil && !object.Type().IsObjectType() {
		err = errors.New("the file must have an object, from names of variables to values")
	}
	if err != nil {
		return diag.List{diag.General("Variables file cannot be read", "-var-file %s: %s", path, diag.Sentence(err.Error()))}
	}
	for name, val := range object.AsValueMap() {
		if p.Variables[name] == nil {
			diags = append(diags, diag.General("Undeclared variable", "%s: the pipeline declares no variable %q.%s", path, name, diag.DidYouMean(name, p.variableNames())))
			continue
		}
		all[name] = given{parse: known(val), source: path}
	}
	return diags
}

// decodeJSON decodes JSON within the budget.
func (p *Pipeline) decodeJSON(text string) (v cty.Value, err error) {
	diags := p.budget.Do(hcl.Range{}, func() hcl.Diagnostics {
		v, err = p.funcs["jsondecode"].Call([]cty.Value{cty.StringVal(text)})
		return nil
	})
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	return v, err
}

func (p *Pipeline) variableNames() []string { return slices.Sorted(maps.Keys(p.Variables)) }

func (v *Variable) value(g given, ok bool) (cty.Value, diag.List) {
	switch {
	case !ok && v.Default == cty.NilVal:
		return cty.UnknownVal(v.Type), diag.List{diag.Error(v.Range, "Missing value of a variable",
			"Variable %q has no default. Give it with -var %s=VALUE, in a -var-file, or as %s%s in the environment.", v.Name, v.Name, envPrefix, v.Name)}
	case !ok:
		return v.Default, nil
	}
	val, err := g.parse()
	if err != nil && v.Sensitive {
		err = fmt.Errorf("the value is not an expression of type %s; it is not shown, because the variable is sensitive", typeexpr.TypeString(v.Type))
	}
	if err != nil {
		return cty.UnknownVal(v.Type), diag.List{diag.General("Wrong value of a variable", "%s: %s.", g.source, err)}
	}
	out, wrong := v.accept(val)
	if wrong != "" {
		d := diag.General("Wrong value of a variable", "%s: variable %q%s.", g.source, v.Name, wrong)
		d.Subject = g.rng
		return out, diag.List{d}
	}
	return out, nil
}

// parseText parses text from the command line or the environment: the value itself,
// or an expression.
func (v *Variable) parseText(text string) (cty.Value, error) {
	if v.plain {
		return cty.StringVal(text), nil
	}
	hint := ""
	if v.Type == cty.DynamicPseudoType {
		hint = `; write a string in quotes, as in '` + v.Name + `="text"'`
	}
	expr, diags := bounded.ParseExpression([]byte(text), "value of "+v.Name)
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("%q is not an expression of type %s%s", text, typeexpr.TypeString(v.Type), hint)
	}
	new(bounded.Budget).Meter(expr)
	val, diags := bounded.Literal(expr)
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("%q: %s%s", text, strings.TrimSuffix(diags[0].Detail, "."), hint)
	}
	return val, nil
}

// marked marks a value of the variable, if that is sensitive.
func (v *Variable) marked(val cty.Value) cty.Value {
	if v.Sensitive {
		return val.Mark(sensitive)
	}
	return val
}

func (p *Pipeline) validate(root string, v *Variable, val cty.Value) diag.List {
	ctx := &hcl.EvalContext{
		Variables: map[string]cty.Value{root: cty.ObjectVal(map[string]cty.Value{v.Name: val})},
		Functions: p.funcs,
	}
	return p.check(v.Validations, "Invalid value of variable "+v.Name, func(e hcl.Expression) (cty.Value, diag.List) { return p.value(e, ctx) })
}

// check evaluates the conditions of rules. One that is not known is an error.
func (p *Pipeline) check(rules []Validation, summary string, value func(hcl.Expression) (cty.Value, diag.List)) (diags diag.List) {
	for _, rule := range rules {
		ok, more := value(rule.Condition)
		diags = append(diags, more...)
		if more.HasErrors() {
			continue
		}
		ok, _ = ok.Unmark()
		ok, err := convert.Convert(ok, cty.Bool)
		if err != nil || ok.IsNull() || !ok.IsKnown() {
			diags = append(diags, diag.Error(rule.Condition.Range(), "Boolean expected", "A condition must be true or false."))
			continue
		}
		if ok.False() {
			msg, more := value(rule.Message)
			diags = append(diags, more...)
			text := "The value is not allowed."
			msg, marks := msg.Unmark()
			if concealed(marks) {
				text += " Its error_message is not shown, because it contains a sensitive or private value."
			} else if msg.Type() == cty.String && msg.IsKnown() && !msg.IsNull() {
				text = msg.AsString()
			}
			diags = append(diags, diag.Error(rule.Range, summary, "%s", text))
		}
	}
	return diags
}
