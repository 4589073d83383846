package config

import (
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/mleflow/mleflow/engine/step"
)

// block is the state of a step block: its instances, and its value in the
// language, built when it is first needed.
type block struct {
	instances []*Instance // in the order of their keys
	keyed     bool
	value     cty.Value
}

// valueOf returns the value of a block: the object of its outputs, or with for_each a map
// of these.
func (ev *evaluator) valueOf(s *Step) cty.Value {
	b := ev.blocks[s]
	switch {
	case b == nil:
		return cty.DynamicVal // its own expansion failed
	case b.value != cty.NilVal:
	case !b.keyed:
		b.value = b.instances[0].value()
	case len(b.instances) == 0:
		b.value = cty.MapValEmpty(outputsType(s.Kind))
	default:
		all := make(map[string]cty.Value, len(b.instances))
		for _, inst := range b.instances {
			all[inst.Addr.Key] = inst.value()
		}
		b.value = cty.MapVal(all)
	}
	return b.value
}

func outputsType(k *step.Kind) cty.Type {
	types := make(map[string]cty.Type, len(k.Outputs))
	for _, o := range k.Outputs {
		types[o.Name] = o.Type
	}
	return cty.Object(types)
}

// value is the object of the outputs, each with its mark.
func (inst *Instance) value() cty.Value {
	outs := inst.Step.Kind.Outputs
	attrs := make(map[string]cty.Value, len(outs))
	for o := range outs {
		v := cty.UnknownVal(outs[o].Type)
		if a := inst.artifacts[o]; a != nil {
			v = step.NewArtifact(a)
		} else if inst.outputs != nil {
			v = smallValue(inst.outputs[outs[o].Name].JSON, outs[o].Type)
		}
		attrs[outs[o].Name] = v.Mark(origin{inst: inst, out: o})
	}
	return cty.ObjectVal(attrs)
}

func smallValue(text []byte, ty cty.Type) cty.Value {
	if len(text) == 0 {
		return cty.NullVal(ty)
	}
	v, err := ctyjson.Unmarshal(text, ty)
	if err != nil {
		return cty.NullVal(ty) // recorded by another version of the kind
	}
	return v
}
