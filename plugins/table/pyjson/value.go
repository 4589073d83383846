package pyjson

import (
	"math"
	"slices"
	"strconv"
)

// Kind is the type of a Value.
type Kind uint8

// The kinds. The zero Value is null.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	Array
	Object
)

var kindNames = [...]string{"null", "bool", "int", "float", "string", "array", "object"}

// String returns the kind's name.
func (k Kind) String() string { return kindNames[k] }

// A Value is a JSON value.
type Value struct {
	kind Kind
	bits uint64 // Bool, Int in 64 bits, Float
	text string // String; the digits of an Int beyond 64 bits
	box  *box   // Array, Object
}

type box struct {
	names []string // Object
	items []Value
	at    map[string]int // of large objects: the place of every name
}

// A Member is a name and value of an object.
type Member struct {
	Name  string
	Value Value
}

// OfBool returns true or false.
func OfBool(v bool) Value {
	if v {
		return Value{kind: Bool, bits: 1}
	}
	return Value{kind: Bool}
}

// OfInt returns an integer.
func OfInt(v int64) Value { return Value{kind: Int, bits: uint64(v)} }

// OfFloat returns a float.
func OfFloat(v float64) Value { return Value{kind: Float, bits: math.Float64bits(v)} }

// OfString returns a string.
func OfString(v string) Value { return Value{kind: String, text: v} }

// OfArray returns an array that owns items.
func OfArray(items ...Value) Value { return Value{kind: Array, box: &box{items: items}} }

// OfObject returns an object of the members in that order. A name that comes
// twice keeps its first place and its last value.
func OfObject(members ...Member) Value {
	b := &box{}
	for _, m := range members {
		b.set(m.Name, m.Value)
	}
	return Value{kind: Object, box: b}
}

// Kind returns the value's kind.
func (v Value) Kind() Kind { return v.kind }

// Bool reports whether v is true.
func (v Value) Bool() bool { return v.kind == Bool && v.bits != 0 }

// Int returns an integer that fits an int64; ok is false for all else.
func (v Value) Int() (n int64, ok bool) {
	return int64(v.bits), v.kind == Int && v.text == ""
}

// Float returns a number as a double; ok is false for other kinds.
func (v Value) Float() (f float64, ok bool) {
	switch {
	case v.kind == Float:
		return math.Float64frombits(v.bits), true
	case v.kind != Int:
		return 0, false
	case v.text == "":
		return float64(int64(v.bits)), true
	}
	f, _ = strconv.ParseFloat(v.text, 64)
	return f, true
}

// Text returns the text of a string and "" for other kinds.
func (v Value) Text() string {
	if v.kind == String {
		return v.text
	}
	return ""
}

// Len returns the number of items of an array or members of an object.
func (v Value) Len() int {
	if v.box == nil {
		return 0
	}
	return len(v.box.items)
}

// Items returns the items of an array or the values of an object. The slice
// must not be changed.
func (v Value) Items() []Value {
	if v.box == nil {
		return nil
	}
	return v.box.items
}

// Names returns the names of an object in order. The slice must not be
// changed.
func (v Value) Names() []string {
	if v.box == nil {
		return nil
	}
	return v.box.names
}

// Get returns the member of that name.
func (v Value) Get(name string) (Value, bool) {
	if v.kind == Object {
		if i := v.box.find(name); i >= 0 {
			return v.box.items[i], true
		}
	}
	return Value{}, false
}

// With returns the object with the member set: in its place if there is one
// of that name, else at the end.
func (v Value) With(name string, x Value) Value {
	b := &box{names: slices.Clone(v.Names()), items: slices.Clone(v.Items())}
	b.index()
	b.set(name, x)
	return Value{kind: Object, box: b}
}

// Select returns an object of the named members in that order; names that v
// lacks are left out.
func (v Value) Select(names ...string) Value {
	b := &box{}
	for _, name := range names {
		if x, ok := v.Get(name); ok {
			b.set(name, x)
		}
	}
	return Value{kind: Object, box: b}
}

// Without returns the object without the named members.
func (v Value) Without(names ...string) Value {
	b := &box{}
	for i, name := range v.Names() {
		if !slices.Contains(names, name) {
			b.set(name, v.box.items[i])
		}
	}
	return Value{kind: Object, box: b}
}

const smallObject = 16

// find returns the place of a name, -1 if there is none.
func (b *box) find(name string) int {
	if b.at == nil {
		return slices.Index(b.names, name)
	}
	if i, ok := b.at[name]; ok {
		return i
	}
	return -1
}

func (b *box) set(name string, x Value) {
	if i := b.find(name); i >= 0 {
		b.items[i] = x
		return
	}
	b.names, b.items = append(b.names, name), append(b.items, x)
	if b.at != nil {
		b.at[name] = len(b.names) - 1
	} else {
		b.index()
	}
}

// index makes names of large objects quick to find.
func (b *box) index() {
	if len(b.names) <= smallObject {
		return
	}
	b.at = make(map[string]int, len(b.names))
	for i, name := range b.names {
		b.at[name] = i
	}
}
