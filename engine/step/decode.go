package step

import (
	"reflect"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"
)

// decodable are the fields of a struct by the names in their tags.
type decodable map[string]int

var decodables sync.Map // reflect.Type to decodable

func fieldsOf(t reflect.Type) decodable {
	if known, ok := decodables.Load(t); ok {
		return known.(decodable)
	}
	fields := decodable{}
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("cty"); name != "" {
			fields[name] = i
		}
	}
	decodables.Store(t, fields)
	return fields
}

// decode does what gocty.FromCtyValue does for an object and a struct, in a third
// of the time for what most arguments are. What it does not know it leaves to
// gocty, and all errors.
func decode(object cty.Value, dst any) error {
	to := reflect.ValueOf(dst)
	if to.Kind() != reflect.Pointer || to.Elem().Kind() != reflect.Struct || !object.Type().IsObjectType() || object.IsNull() || !object.IsKnown() {
		return gocty.FromCtyValue(object, dst)
	}
	to = to.Elem()
	fields := fieldsOf(to.Type())
	if len(fields) != object.LengthInt() {
		return gocty.FromCtyValue(object, dst)
	}
	for it := object.ElementIterator(); it.Next(); {
		name, v := it.Element()
		i, ok := fields[name.AsString()]
		if !ok || !plainly(v, to.Field(i).Addr().Interface()) && gocty.FromCtyValue(v, to.Field(i).Addr().Interface()) != nil {
			return gocty.FromCtyValue(object, dst) // for its error
		}
	}
	return nil
}

// plainly stores a value in a variable of exactly its type, and reports whether it
// could.
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

func texts(v cty.Value, to *[]string) bool {
	list := make([]string, 0, v.LengthInt())
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		if e.IsNull() || !e.IsKnown() {
			return false
		}
		list = append(list, e.AsString())
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
