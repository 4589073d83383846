package step

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
)

// Args are the decoded arguments of an instance: a wholly known object with one
// attribute for every Attr and Block of its kind.
type Args struct {
	// Value is the object. Missing optional arguments are null.
	Value cty.Value
	// Limits are the instance's limits, for kinds that enforce or report them.
	Limits Limits
	// Conditions are the conditions of everything that the instance consumes;
	// see Conditioned.
	Conditions []string
}

// Decode stores the arguments in the struct to which dst points. Its fields
// carry `cty:"name"` tags for exactly the kind's arguments and blocks.
// Artifacts are decoded into *Artifact, optional arguments into pointers.
func (a Args) Decode(dst any) error {
	if err := decode(a.Value, dst); err != nil {
		return fmt.Errorf("decode arguments: %w", err)
	}
	return nil
}

// untypedNulls replaces null content in arguments and blocks by untyped nulls,
// because gocty v1.19 rejects a null capsule for a pointer. A value without
// such nulls is returned unchanged.
func untypedNulls(v cty.Value) cty.Value {
	if v.IsNull() || !v.Type().IsObjectType() {
		return v
	}
	var changed map[string]cty.Value
	for name, ty := range v.Type().AttributeTypes() {
		if !ty.IsCapsuleType() && !ty.IsObjectType() {
			continue
		}
		a := v.GetAttr(name)
		switch {
		case ty.IsCapsuleType() && a.IsNull():
			a = cty.NullVal(cty.DynamicPseudoType)
		case ty.IsObjectType():
			inner := untypedNulls(a)
			if inner.Type().Equals(ty) {
				continue
			}
			a = inner
		default:
			continue
		}
		if changed == nil {
			changed = v.AsValueMap()
		}
		changed[name] = a
	}
	if changed == nil {
		return v
	}
	return cty.ObjectVal(changed)
}

// Type returns the type of the block as an attribute of Args.Value.
func (b *Block) Type() cty.Type {
	atys := make(map[string]cty.Type, len(b.Args))
	for _, a := range b.Args {
		atys[a.Name] = a.Type
	}
	return cty.Object(atys)
}
