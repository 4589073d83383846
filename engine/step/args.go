package step

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// Args are the arguments of an instance: a wholly known value for every Attr and
// Block of its kind. Missing optional arguments are null.
type Args struct {
	// names are those of the values. The instances of a block share them.
	names  []string
	values []cty.Value

	// Limits are the instance's limits, for kinds that enforce or report them.
	Limits Limits
	// Conditions are the conditions of everything that the instance consumes;
	// see Conditioned.
	Conditions []string
}

// NewArgs returns arguments with the names that Kind.ArgNames returned. It keeps
// both lists.
func NewArgs(names []string, values []cty.Value) Args { return Args{names: names, values: values} }

// ArgsOf returns the attributes of an object as arguments.
func ArgsOf(object cty.Value) (a Args) {
	attrs := object.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		a.names, a.values = append(a.names, name), append(a.values, attrs[name])
	}
	return a
}

// ArgNames returns the names of the kind's arguments and then of its blocks.
func (k *Kind) ArgNames() []string {
	names := make([]string, 0, len(k.Args)+len(k.Blocks))
	for i := range k.Args {
		names = append(names, k.Args[i].Name)
	}
	for i := range k.Blocks {
		names = append(names, k.Blocks[i].Name)
	}
	return names
}

// Get returns the value of an argument or block, or cty.NilVal if there is none of
// that name.
func (a Args) Get(name string) cty.Value {
	if i := slices.Index(a.names, name); i >= 0 {
		return a.values[i]
	}
	return cty.NilVal
}

// Text returns a string or number of the arguments as a string: that at a path of
// attributes and keys of maps. It is "" if there is none or it is not known.
func (a Args) Text(name string, path ...string) string {
	v := a.Get(name)
	for _, name := range path {
		if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
			return ""
		}
		switch ty := v.Type(); {
		case ty.IsObjectType() && ty.HasAttribute(name):
			v = v.GetAttr(name)
		case ty.IsMapType() && v.HasIndex(cty.StringVal(name)).True():
			v = v.Index(cty.StringVal(name))
		default:
			return ""
		}
	}
	if v == cty.NilVal {
		return ""
	}
	v, err := convert.Convert(v, cty.String)
	if err != nil || v.IsNull() || !v.IsKnown() {
		return ""
	}
	return v.AsString()
}

// Object returns all arguments as one object. Making it is slow.
func (a Args) Object() cty.Value {
	attrs := make(map[string]cty.Value, len(a.names))
	for i, name := range a.names {
		attrs[name] = a.values[i]
	}
	return cty.ObjectVal(attrs)
}

// Decode stores the arguments in the struct to which dst points. Its fields
// carry `cty:"name"` tags for exactly the kind's arguments and blocks.
// Artifacts are decoded into *Artifact, optional arguments into pointers.
func (a Args) Decode(dst any) error {
	value := func(i int, name string) cty.Value {
		if i < len(a.names) && a.names[i] == name { // the fields usually have the order of the arguments
			return a.values[i]
		}
		return a.Get(name)
	}
	if err := decodeStruct(reflect.ValueOf(dst).Elem(), len(a.names), slices.Values(a.names), value); err != nil {
		return fmt.Errorf("decode arguments: %w", err)
	}
	return nil
}

// Text returns the value of an optional argument, or "".
func Text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Type returns the type of the block as an attribute of Args.Value.
func (b *Block) Type() cty.Type {
	atys := make(map[string]cty.Type, len(b.Args))
	for _, a := range b.Args {
		atys[a.Name] = a.Type
	}
	return cty.Object(atys)
}
