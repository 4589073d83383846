package step

import (
	"reflect"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"
)

// decodable is a field of a struct with a name in its tag.
type decodable struct {
	name  string
	index int
}

var decodables sync.Map // reflect.Type to []decodable

func fieldsOf(t reflect.Type) []decodable {
	if known, ok := decodables.Load(t); ok {
		return known.([]decodable)
	}
	var fields []decodable
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("cty"); name != "" {
			fields = append(fields, decodable{name, i})
		}
	}
	decodables.Store(t, fields)
	return fields
}

// decode is a faster gocty.FromCtyValue for an object and a struct, which takes
// null content as well. It leaves what it does not know and all errors to gocty.
func (a Args) decode(dst any) error {
	if to := reflect.ValueOf(dst); to.Kind() == reflect.Pointer && a.decodeEach(to.Elem()) {
		return nil
	}
	return gocty.FromCtyValue(untypedNulls(a.Object()), dst)
}

// decodeEach stores the arguments in a struct. It reports whether it could. The
// fields usually have the order of the arguments.
func (a Args) decodeEach(to reflect.Value) bool {
	if to.Kind() != reflect.Struct {
		return false
	}
	fields := fieldsOf(to.Type())
	if len(fields) != len(a.names) {
		return false
	}
	for i, f := range fields {
		at := i
		if a.names[i] != f.name {
			at = slices.Index(a.names, f.name)
		}
		if at < 0 || !decodeField(a.values[at], to.Field(f.index)) {
			return false
		}
	}
	return true
}

// decodeObject stores an object in a struct. It reports whether it could.
func decodeObject(object cty.Value, to reflect.Value) bool {
	ty := object.Type()
	if to.Kind() != reflect.Struct || !ty.IsObjectType() || object.IsNull() || !object.IsKnown() {
		return false
	}
	fields := fieldsOf(to.Type())
	if len(fields) != len(ty.AttributeTypes()) {
		return false
	}
	return !slices.ContainsFunc(fields, func(f decodable) bool {
		return !ty.HasAttribute(f.name) || !decodeField(object.GetAttr(f.name), to.Field(f.index))
	})
}

// decodeField stores one attribute in a field. It reports whether it could.
func decodeField(v cty.Value, to reflect.Value) bool {
	switch pointer := to.Kind() == reflect.Pointer; {
	case pointer && v.IsNull():
		to.SetZero()
		return true
	case plainly(v, to.Addr().Interface()):
		return true
	case pointer && v.Type().IsObjectType():
		inner := reflect.New(to.Type().Elem())
		if decodeObject(v, inner.Elem()) {
			to.Set(inner)
			return true
		}
	case decodeObject(v, to):
		return true
	}
	return gocty.FromCtyValue(v, to.Addr().Interface()) == nil
}

// plainly stores a value in a variable of exactly its type. It reports whether
// it could.
func plainly(v cty.Value, dst any) bool {
	if v.IsNull() || !v.IsKnown() {
		return false
	}
	ty := v.Type()
	switch to := dst.(type) {
	case *string:
		if ty == cty.String {
			*to = v.AsString()
			return true
		}
	case *bool:
		if ty == cty.Bool {
			*to = v.True()
			return true
		}
	case **Artifact:
		if ty == ArtifactType {
			*to = v.EncapsulatedValue().(*Artifact)
			return true
		}
	case *[]string:
		return ty.IsListType() && ty.ElementType() == cty.String && texts(v, to)
	case *map[string]string:
		return ty.IsMapType() && ty.ElementType() == cty.String && mapped(v, to)
	case *map[string]*Artifact:
		return ty.IsMapType() && ty.ElementType() == ArtifactType && mapped(v, to)
	}
	return false
}

// indexes are the first numbers as values. Without them, iterating over a list
// would allocate a number for each element.
var indexes = sync.OnceValue(func() (list [16]cty.Value) {
	for i := range list {
		list[i] = cty.NumberIntVal(int64(i))
	}
	return list
})

func texts(v cty.Value, to *[]string) bool {
	list := make([]string, v.LengthInt())
	known := indexes()
	for i := range list {
		index := known[i%len(known)]
		if i >= len(known) {
			index = cty.NumberIntVal(int64(i))
		}
		e := v.Index(index)
		if e.IsNull() || !e.IsKnown() {
			return false
		}
		list[i] = e.AsString()
	}
	*to = list
	return true
}

func mapped[T any](v cty.Value, to *map[string]T) bool {
	all := make(map[string]T, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		key, e := it.Element()
		var one T
		if !plainly(e, &one) {
			return false
		}
		all[key.AsString()] = one
	}
	*to = all
	return true
}
