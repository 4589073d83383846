package pyjson

import (
	"math"
	"strconv"
	"unsafe"
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
	// ref points to the bytes of a String (bits is their number), to the digits
	// of an Int beyond int64 (*string), or to the box of an Array or Object.
	ref  unsafe.Pointer
	bits uint64 // Bool, Int in 64 bits, Float; the length of a String
	kind Kind
}

// box holds the items of an Array, or the values of an Object in the order of
// its shape.
type box struct {
	shape *shape
	items []Value
}

func ofBox(k Kind, b *box) Value { return Value{kind: k, ref: unsafe.Pointer(b)} }

// box returns the box of an Array or Object, nil for other kinds.
func (v Value) box() *box {
	if v.kind == Array || v.kind == Object {
		return (*box)(v.ref)
	}
	return nil
}

// text returns the text of a String.
func (v Value) text() string { return unsafe.String((*byte)(v.ref), v.bits) }

// digits returns the digits of an Int beyond int64, "" for others.
func (v Value) digits() string {
	if v.kind != Int || v.ref == nil {
		return ""
	}
	return *(*string)(v.ref)
}

func ofDigits(digits string) Value { return Value{kind: Int, ref: unsafe.Pointer(&digits)} }

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

// OfUint returns an integer.
func OfUint(v uint64) Value {
	if v <= math.MaxInt64 {
		return OfInt(int64(v))
	}
	return ofDigits(strconv.FormatUint(v, 10))
}

// OfString returns a string.
func OfString(v string) Value {
	return Value{kind: String, ref: unsafe.Pointer(unsafe.StringData(v)), bits: uint64(len(v))}
}

// OfArray returns an array that owns items.
func OfArray(items ...Value) Value { return ofBox(Array, &box{items: items}) }

// OfObject returns an object of the members in that order. A name that comes
// twice keeps its first place and its last value.
func OfObject(members ...Member) Value {
	return ofBox(Object, &box{shape: noNames}).WithAll(members...)
}

// Kind returns the value's kind.
func (v Value) Kind() Kind { return v.kind }

// Bool reports whether v is true.
func (v Value) Bool() bool { return v.kind == Bool && v.bits != 0 }

// Int returns an integer that fits an int64; ok is false for all else.
func (v Value) Int() (n int64, ok bool) {
	if v.kind != Int || v.ref != nil {
		return 0, false
	}
	return int64(v.bits), true
}

// Uint returns an integer that fits a uint64; ok is false for all else.
func (v Value) Uint() (n uint64, ok bool) {
	if n, ok := v.Int(); ok {
		return uint64(n), n >= 0
	}
	n, err := strconv.ParseUint(v.digits(), 10, 64)
	return n, err == nil
}

// Float returns a number as a double; ok is false for other kinds.
func (v Value) Float() (f float64, ok bool) {
	switch {
	case v.kind == Float:
		return math.Float64frombits(v.bits), true
	case v.kind != Int:
		return 0, false
	case v.ref == nil:
		return float64(int64(v.bits)), true
	}
	f, _ = strconv.ParseFloat(v.digits(), 64)
	return f, true
}

// Text returns the text of a string and "" for other kinds.
func (v Value) Text() string {
	if v.kind == String {
		return v.text()
	}
	return ""
}

// Len returns the number of items of an array or members of an object.
func (v Value) Len() int { return len(v.Items()) }

// Items returns the items of an array or the values of an object. The slice
// must not be changed.
func (v Value) Items() []Value {
	if b := v.box(); b != nil {
		return b.items
	}
	return nil
}

// Names returns the names of an object in order. The slice must not be
// changed.
func (v Value) Names() []string {
	if v.kind == Object {
		return v.box().shape.names
	}
	return nil
}

// Get returns the member of that name.
func (v Value) Get(name string) (Value, bool) {
	if v.kind == Object {
		b := v.box()
		if i := b.shape.find(name); i >= 0 {
			return b.items[i], true
		}
	}
	return Value{}, false
}

// WithAll returns the object with the members set one after the other: in its
// place if there is one of that name, else at the end. A value that is not an
// object counts as an empty one.
func (v Value) WithAll(members ...Member) Value {
	if v.kind != Object {
		v = OfObject()
	}
	names := make([]string, 0, smallObject)
	for _, m := range members {
		names = append(names, m.Name)
	}
	return v.derive(setMembers, names, members)
}

// Select returns an object of the named members in that order; names that v
// lacks are left out.
func (v Value) Select(names ...string) Value { return v.derive(selectMembers, names, nil) }

// Without returns the object without the named members.
func (v Value) Without(names ...string) Value { return v.derive(dropMembers, names, nil) }

// derive returns an object made of v's members and the given ones.
func (v Value) derive(how change, names []string, members []Member) Value {
	if v.kind != Object {
		return OfObject()
	}
	old := v.box()
	d := old.shape.derive(how, names)
	b := &box{shape: d.shape, items: make([]Value, len(d.from))}
	for i, from := range d.from {
		if from >= 0 {
			b.items[i] = old.items[from]
		} else {
			b.items[i] = members[-1-from].Value
		}
	}
	return ofBox(Object, b)
}
