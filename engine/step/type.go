package step

import (
	"cmp"
	"reflect"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"
)

// TypeOf returns the type in the language of a Go type. A struct other than Artifact and
// SecretRef is an object. Its attributes are the fields with a cty tag, or else a json
// tag, which has the name. A field with the tag optional:"true" may be missing from a
// value that is converted to the type. TypeOf panics if a field has no type in the
// language, which is a programming error.
func TypeOf[T any]() cty.Type { return typeOf(reflect.TypeFor[T]()) }

func typeOf(t reflect.Type) cty.Type {
	switch t {
	case ArtifactType.EncapsulatedType():
		return ArtifactType
	case SecretRefType.EncapsulatedType():
		return SecretRefType
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeOf(t.Elem())
	case reflect.Slice:
		return cty.List(typeOf(t.Elem()))
	case reflect.Map:
		return cty.Map(typeOf(t.Elem()))
	case reflect.Struct:
		return objectOf(t)
	}
	ty, err := gocty.ImpliedType(reflect.Zero(t).Interface())
	if err != nil {
		panic(err)
	}
	return ty
}

func objectOf(t reflect.Type) cty.Type {
	attrs, optional := map[string]cty.Type{}, []string(nil)
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(cmp.Or(f.Tag.Get("cty"), f.Tag.Get("json")), ",")
		if name == "" || name == "-" {
			continue
		}
		attrs[name] = typeOf(f.Type)
		if f.Tag.Get("optional") == "true" {
			optional = append(optional, name)
		}
	}
	return cty.ObjectWithOptionalAttrs(attrs, optional)
}
