package step

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"
)

// decodable is a field of a struct with a name in its tag.
type decodable struct {
	name  string
	index []int
}

var decodables sync.Map // reflect.Type to []decodable

func fieldsOf(t reflect.Type) []decodable {
	if known, ok := decodables.Load(t); ok {
		return known.([]decodable)
	}
	var fields []decodable
	for _, f := range reflect.VisibleFields(t) {
		if name := f.Tag.Get("cty"); name != "" {
			fields = append(fields, decodable{name, f.Index})
		}
	}
	decodables.Store(t, fields)
	return fields
}

// decodeStruct stores n values in the fields of a struct by their names. value returns the
// value of the i-th field, or cty.NilVal if its name is not among names. decodeStruct is a
// faster gocty.FromCtyValue for objects, which takes null content as well.
func decodeStruct(to reflect.Value, n int, names iter.Seq[string], value func(i int, name string) cty.Value) error {
	fields := fieldsOf(to.Type())
	for i, f := range fields {
		field, v := to.FieldByIndex(f.index), value(i, f.name)
		switch kind := field.Kind(); {
		case v != cty.NilVal:
			n--
			if err := decodeField(v, field); err != nil {
				return err
			}
		case kind != reflect.Pointer && kind != reflect.Slice && kind != reflect.Map:
			return fmt.Errorf("missing required attribute %q", f.name)
		}
	}
	for name := range names {
		if n > 0 && !slices.ContainsFunc(fields, func(f decodable) bool { return f.name == name }) {
			return fmt.Errorf("unsupported attribute %q", name)
		}
	}
	return nil
}

// decodeField stores a value in a field of a struct.
func decodeField(v cty.Value, to reflect.Value) error {
	if to.Kind() == reflect.Pointer {
		if v.IsNull() {
			to.SetZero()
			return nil
		}
		if v.Type().IsObjectType() {
			to.Set(reflect.New(to.Type().Elem()))
			to = to.Elem()
		}
	}
	switch ty := v.Type(); {
	case plainly(v, to.Addr().Interface()):
		return nil
	case to.Kind() == reflect.Struct && ty.IsObjectType() && !v.IsNull() && v.IsKnown():
		attrs := ty.AttributeTypes()
		return decodeStruct(to, len(attrs), maps.Keys(attrs), func(_ int, name string) cty.Value {
			if !ty.HasAttribute(name) {
				return cty.NilVal
			}
			return v.GetAttr(name)
		})
	}
	return gocty.FromCtyValue(v, to.Addr().Interface())
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
