package config

import (
	"maps"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// agentsFunc gathers agents and sweeps, so that a pipeline need not know which of the two
// a block is.
var agentsFunc = function.New(&function.Spec{
	Description: "Returns a map of agents by name, of those of a sweep each: agents(agent.a, agent.sweep) has a and sweep[KEY]. An argument is an agent, a sweep, or a list or map of these.",
	VarParam:    &function.Parameter{Name: "agents", Type: cty.DynamicPseudoType, AllowMarked: true},
	Type: func(args []cty.Value) (cty.Type, error) {
		v, err := gather(args)
		return v.Type(), err
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return gather(args) },
})

func gather(args []cty.Value) (cty.Value, error) {
	all, marks, known := map[string]cty.Value{}, cty.ValueMarks{}, true
	var add func(v cty.Value) bool
	add = func(v cty.Value) bool {
		plain, own := v.Unmark()
		if isAgent(plain) {
			name, of := plain.GetAttr("name").Unmark()
			all[name.AsString()] = v
			maps.Copy(marks, of)
			return true
		}
		maps.Copy(marks, own)
		if !plain.IsKnown() {
			known = false
			return true
		}
		if plain.IsNull() || !plain.CanIterateElements() {
			return false
		}
		for it := plain.ElementIterator(); it.Next(); {
			if _, v := it.Element(); !add(v) {
				return false
			}
		}
		return true
	}
	for i, arg := range args {
		if !add(arg) {
			return cty.DynamicVal, function.NewArgErrorf(i, "it must be an agent or a sweep, such as agent.NAME, or a list of these")
		}
	}
	if !known {
		return cty.DynamicVal.WithMarks(marks), nil
	}
	return cty.ObjectVal(all).WithMarks(marks), nil
}

// isAgent reports whether a value is that of an agent block which is no sweep.
func isAgent(v cty.Value) bool {
	ty := v.Type()
	if v.IsNull() || !v.IsKnown() || !ty.IsObjectType() || !ty.HasAttribute("command") || !ty.HasAttribute("built") || !ty.HasAttribute("name") {
		return false
	}
	name, _ := v.GetAttr("name").Unmark()
	return name.Type() == cty.String && name.IsKnown() && !name.IsNull()
}
