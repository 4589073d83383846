package step

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/gocty"
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

// ArgError names the argument that caused an error of Kind.New, so that the
// message can show its place in the file.
type ArgError struct {
	// Arg is the name of an argument, or of a nested block.
	Arg string
	Err error
}

// Error returns the text of Err.
func (e *ArgError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ArgError) Unwrap() error { return e.Err }

// WrongArg returns err as an ArgError; nil stays nil.
func WrongArg(arg string, err error) error {
	if err == nil {
		return nil
	}
	return &ArgError{Arg: arg, Err: err}
}

// Mistakes splits an error of Kind.New that joins several errors.
func Mistakes(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // the outermost one counts
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, Mistakes(e)...)
	}
	return all
}
