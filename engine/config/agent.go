package config

import (
	"maps"
	"slices"

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
func (ev *evaluator) agentValue(a *Agent, name cty.Value, ctx *hcl.EvalContext) (cty.Value, diag.List) {
	var diags diag.List
	attrs := map[string]cty.Value{"name": name, "built": cty.NullVal(step.ArtifactType)}
	types := step.AgentType.AttributeTypes()
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if name == "name" || name == "built" {
			continue
		}
		attrs[name] = emptyOf(types[name])
		if e := a.Attrs[name]; e != nil {
			v, more := ev.agentAttr(name, e, types[name], ctx)
			diags = append(diags, more...)
			switch {
			case more.HasErrors():
			case name == "image" && v.Type() == step.ArtifactType:
				attrs["built"] = v
			default:
				attrs[name] = v
			}
		}
	}
	written, words := a.Attrs["command"], []string(nil)
	if e := a.Attrs["acp"]; e != nil {
		v, more := ev.agentAttr("acp", e, types["command"], ctx)
		diags, written, words = append(diags, more...), e, stringsIn(v)
		if !more.HasErrors() {
			attrs["command"] = viaClient(v)
		}
	} else {
		words = stringsIn(attrs["command"])
	}
	if !diags.HasErrors() {
		words = append(words, stringsIn(attrs["args"])...)
		diags = append(diags, checkCommand(ev.pipeline, written.Range(), words, namesIn(attrs["files"]), a.Attrs["image"] != nil)...)
	}
	return cty.ObjectVal(attrs), diags
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

func (ev *evaluator) agentAttr(name string, e hcl.Expression, want cty.Type, ctx *hcl.EvalContext) (v cty.Value, diags diag.List) {
	v, diags = ev.evaluate(e, ctx)
	defer func() {
		if len(diags) > 0 && concealed(marksOf(v)) {
			conceal(diags)
		}
	}()
	if diags.HasErrors() || name == "image" && v.Type() == step.ArtifactType {
		return v, diags
	}
	if name == "files" {
		var err error
		if v, err = localFiles(ev.pipeline.local, v); err != nil {
			return v, diag.List{diag.Error(e.Range(), "Invalid files", "%s", diag.Sentence(err.Error()))}
		}
	}
	out, err := convert.Convert(v, want)
	if err != nil {
		path, text := mismatch(v, want)
		if name == "models" {
			text = "must be a model block, such as model.NAME, in a list: models = [model.NAME]"
		}
		return v, diag.List{diag.Error(e.Range(), "Wrong type of argument", "%s%s of an agent %s.", name, path, text)}
	}
	switch plain, marks := out.Unmark(); {
	case plain.IsNull() && name != "command" && name != "acp":
		return emptyOf(want).WithMarks(marks), diags // as if it were not set
	case plain.IsNull(), (name == "command" || name == "acp") && plain.IsWhollyKnown() && plain.LengthInt() == 0:
		return v, diag.List{diag.Error(e.Range(), "Missing value", "%s of an agent must not be empty.", name)}
	case name == "secrets":
		diags = checkSecrets(e.Range(), plain)
	case name == "models":
		diags = checkModels(e.Range(), plain)
	}
	return out, diags
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
