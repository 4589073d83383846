package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/local"
	"github.com/mleflow/mleflow/engine/step"
)

// agentValue evaluates an agent block:
//
//	agent "baseline" {
//	  command = ["mleflow", "agent", "baseline"]
//	  secrets = { API_KEY = "env:API_KEY" }
//	  models  = [model.main]
//	}
//
// The image may be the output of another step, which then is done first.
func (ev *evaluator) agentValue(a *Block, name cty.Value, ctx *hcl.EvalContext) (cty.Value, diag.List) {
	e := blockEval{ev: ev, ctx: ctx, wrong: wrongAgent}
	attrs := map[string]cty.Value{"name": name, "built": cty.NullVal(step.ArtifactType), "secrets_in": emptyOf(cty.Map(cty.String))}
	types := step.AgentType.AttributeTypes()
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if _, own := attrs[name]; !own {
			attrs[name] = e.agentArg(name, a.Args[name], types[name])
		}
	}
	if image := attrs["image"]; image.Type() == step.ArtifactType {
		attrs["built"], attrs["image"] = image, emptyOf(types["image"])
	}
	if secrets := a.Args["secrets"]; secrets != nil {
		attrs["secrets_in"] = a.secretDirs(secrets, attrs["secrets"])
	}
	written, words := a.Args["command"], attrs["command"]
	if acp := a.Args["acp"]; acp != nil {
		written, words = acp, e.agentArg("acp", acp, types["command"])
		attrs["command"] = viaClient(words)
	}
	if !e.diags.HasErrors() {
		command := append(texts(words), texts(attrs["args"])...)
		e.diags = append(e.diags, checkCommand(ev.pipeline, written.Range(), command, namesIn(attrs["files"]), a.Args["image"] != nil)...)
	}
	return cty.ObjectVal(attrs), e.diags
}

// wrongAgent says what is wrong with the type of an argument of an agent.
func wrongAgent(name string, _ cty.Value, _ cty.Type, text string) string {
	if name == "models" {
		text = "must be a model block, such as model.NAME, in a list: models = [model.NAME]. One with for_each is a map: write model.NAME[KEY]"
	}
	return "of an agent " + text
}

// viaClient returns the command that runs a program by the client of ACP in the running
// binary.
func viaClient(acp cty.Value) cty.Value {
	plain, marks := acp.Unmark()
	if !plain.IsKnown() {
		return acp
	}
	return cty.ListVal(append([]cty.Value{cty.StringVal("mleflow"), cty.StringVal("acp")}, plain.AsValueSlice()...)).WithMarks(marks)
}

// localFiles reads a map of content that is copied to where a command runs. A
// string is the path of a file or folder; a single folder instead of a map
// stands for everything in it.
func localFiles(files *local.Files, v cty.Value) (cty.Value, error) {
	plain, marks := v.Unmark()
	if plain.Type() == step.ArtifactType && !plain.IsNull() {
		return cty.MapVal(map[string]cty.Value{".": plain}).WithMarks(marks), nil
	}
	if plain.IsNull() || !plain.IsKnown() || !plain.Type().IsObjectType() && !plain.Type().IsMapType() {
		return v, nil
	}
	all := plain.AsValueMap()
	for name, e := range all {
		text, own := e.Unmark()
		if text.Type() != cty.String || text.IsNull() || !text.IsKnown() {
			continue
		}
		content, err := artifactValue(files.Any(text.AsString()))
		if err != nil {
			return v, err
		}
		all[name] = content.WithMarks(own)
	}
	if len(all) == 0 {
		return cty.MapValEmpty(step.ArtifactType).WithMarks(marks), nil
	}
	return cty.ObjectVal(all).WithMarks(marks), nil
}

func (e *blockEval) agentArg(name string, expr hcl.Expression, want cty.Type) cty.Value {
	return e.arg(expr, emptyOf(want), func(v cty.Value) cty.Value {
		if name == "image" && v.Type() == step.ArtifactType {
			return v
		}
		if name == "files" {
			var err error
			if v, err = localFiles(e.ev.pipeline.local, v); err != nil {
				e.fail(expr, "Invalid files", "%s", diag.Sentence(err.Error()))
				return emptyOf(want)
			}
		}
		before := len(e.diags)
		out := e.converted(name, expr, v, want)
		switch plain, _ := out.Unmark(); {
		case len(e.diags) > before:
		case (name == "command" || name == "acp") && plain.IsWhollyKnown() && plain.LengthInt() == 0:
			e.fail(expr, "Missing value", "%s of an agent must not be empty.", name)
		case name == "secrets":
			e.diags = append(e.diags, checkSecrets(expr.Range(), plain)...)
		case name == "models":
			e.diags = append(e.diags, checkModels(expr.Range(), plain)...)
		}
		return out
	})
}

// checkSecrets rejects values that are not references. It does not quote them:
// they may be secrets written there by mistake.
func checkSecrets(r hcl.Range, secrets cty.Value) (diags diag.List) {
	if !secrets.IsKnown() {
		return nil
	}
	all := secrets.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		ref, _ := all[name].Unmark()
		if !ref.IsKnown() {
			continue
		}
		if ref.IsNull() || notReference(ref.AsString()) {
			diags = append(diags, diag.Error(r, "Secret not by reference",
				"The secret %s must say where its value is, not contain it: write \"env:NAME\", \"file:PATH\" or \"command:LINE\".", name))
		}
	}
	return diags
}

// checkModels refuses the same block twice.
func checkModels(r hcl.Range, models cty.Value) diag.List {
	if !models.IsKnown() {
		return nil
	}
	seen := map[string]bool{}
	for it := models.ElementIterator(); it.Next(); {
		_, m := it.Element()
		if m, _ = m.Unmark(); !m.IsKnown() || m.IsNull() {
			continue
		}
		name, _ := m.GetAttr("name").Unmark()
		if seen[name.AsString()] {
			return diag.List{diag.Error(r, "Duplicate model", "The model %q is in the list of the agent's models twice. Remove one of them.", name.AsString())}
		}
		seen[name.AsString()] = true
	}
	return nil
}

func notReference(s string) bool {
	_, err := secret.ParseRef(s)
	return err != nil
}

func emptyOf(ty cty.Type) cty.Value {
	switch {
	case ty.IsListType():
		return cty.ListValEmpty(ty.ElementType())
	case ty.IsMapType():
		return cty.MapValEmpty(ty.ElementType())
	case ty == cty.Number:
		return cty.Zero
	case ty == cty.Bool:
		return cty.False
	case ty == step.ArtifactType:
		return cty.NullVal(ty)
	default:
		return cty.StringVal("")
	}
}

// maxSweep is the largest number of models or agents of one block; maxLists that of the lists
// of a matrix, and maxMatrixText the bytes of a name or element there.
const maxSweep, maxLists, maxMatrixText = 10_000, 20, 200

// sweep returns the expression that makes a model or an agent block a sweep, or nil.
func sweep(a *Block) hcl.Expression {
	if e := a.Args["for_each"]; e != nil {
		return e
	}
	return a.Args["matrix"]
}

// sweptValue evaluates a model or an agent block. That of a sweep is an object with a model
// or an agent for each key.
func (ev *evaluator) sweptValue(b *Block, what string, name func(key string) string, one func(name cty.Value, ctx *hcl.EvalContext) (cty.Value, diag.List)) (cty.Value, diag.List) {
	ctx := ev.scope(b.expressions())
	e := sweep(b)
	if e == nil {
		return one(cty.StringVal(b.Name), ctx)
	}
	expand := ev.elements
	if e == b.Args["matrix"] {
		expand = ev.matrix
	} else if m := b.Args["matrix"]; m != nil {
		return cty.DynamicVal, diag.List{diag.Error(m.Range(), "Two sweeps", "An agent has for_each or matrix, not both. Remove one of the two.")}
	}
	elements, diags := expand(e)
	if len(elements) > maxSweep {
		diags = diag.List{diag.Error(e.Range(), "Too many "+what+"s", "The sweep %q would have more than %d %ss. Split it into several blocks.", b.Name, maxSweep, what)}
	}
	all, marks := make(map[string]cty.Value, len(elements)), cty.ValueMarks{}
	for _, each := range elements {
		if diags.HasErrors() {
			return cty.DynamicVal, diags // the others would have the same mistakes
		}
		var more diag.List
		all[each.key], more = one(withMarks(cty.StringVal(name(each.key)), each.marks), each.context(ctx))
		maps.Copy(marks, each.marks)
		diags = append(diags, more...)
	}
	return cty.ObjectVal(all).WithMarks(marks), diags
}

func (ev *evaluator) agentsValue(a *Block) (cty.Value, diag.List) {
	return ev.sweptValue(a, "agent", func(key string) string { return a.Name + "[" + key + "]" },
		func(name cty.Value, ctx *hcl.EvalContext) (cty.Value, diag.List) { return ev.agentValue(a, name, ctx) })
}

// matrix returns all combinations of the elements of a map of lists.
func (ev *evaluator) matrix(e hcl.Expression) ([]element, diag.List) {
	v, diags := ev.alone(e)
	if diags.HasErrors() {
		return nil, diags
	}
	r := e.Range()
	plain, marks := v.UnmarkDeep()
	if diags := checkKeys(r, marks); diags != nil {
		return nil, diags
	}
	if !plain.IsWhollyKnown() {
		return nil, diag.List{unknownForEach(r, v, marks)}
	}
	if ty := plain.Type(); plain.IsNull() || !ty.IsObjectType() && !ty.IsMapType() {
		return nil, diag.List{notMatrix(r, "it is "+ty.FriendlyName())}
	}
	lists := plain.AsValueMap()
	if len(lists) == 0 || len(lists) > maxLists {
		return nil, diag.List{notMatrix(r, fmt.Sprintf("it has %d lists, and can have 1 to %d", len(lists), maxLists))}
	}
	rows := []map[string]cty.Value{{}}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		list := lists[name]
		if ty := list.Type(); list.IsNull() || !ty.IsTupleType() && !ty.IsListType() && !ty.IsSetType() {
			return nil, diag.List{notMatrix(r, name+" is "+ty.FriendlyName())}
		}
		if len(rows)*list.LengthInt() > maxSweep {
			return nil, diag.List{diag.Error(r, "Too many agents", "The matrix has more than %d combinations. Split it into several blocks.", maxSweep)}
		}
		var next []map[string]cty.Value
		for _, row := range rows {
			for it := list.ElementIterator(); it.Next(); {
				_, elem := it.Element()
				longer := maps.Clone(row)
				longer[name] = elem
				next = append(next, longer)
			}
		}
		rows = next
	}
	return combined(r, rows, marks)
}

// combined makes the keys of a matrix: "depth=3,lr=0.1".
func combined(r hcl.Range, rows []map[string]cty.Value, marks cty.ValueMarks) ([]element, diag.List) {
	list, seen := make([]element, 0, len(rows)), make(map[string]bool, len(rows))
	for _, row := range rows {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(row)) {
			text, err := convert.Convert(row[name], cty.String)
			if err != nil || text.IsNull() {
				return nil, diag.List{notMatrix(r, "an element of "+name+" is "+row[name].Type().FriendlyName())}
			}
			if len(name) > maxMatrixText || len(text.AsString()) > maxMatrixText {
				return nil, diag.List{notMatrix(r, fmt.Sprintf("a name or element is longer than %d bytes", maxMatrixText))}
			}
			parts = append(parts, name+"="+text.AsString())
		}
		key := strings.Join(parts, ",")
		if seen[key] {
			return nil, diag.List{diag.Error(r, "Duplicate address", "Two combinations of the matrix have the key %q. Remove the value that is there twice.", key)}
		}
		seen[key] = true
		list = append(list, element{key, withMarks(cty.ObjectVal(row), marks), marks})
	}
	return list, nil
}

func notMatrix(r hcl.Range, why string) *hcl.Diagnostic {
	return diag.Error(r, "Invalid matrix", "matrix must be a map from names to lists of strings, numbers or booleans, such as { lr = [0.1, 0.01], depth = [3, 5] }; %s.", why)
}
