package document

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/plugins/table"
)

// Kind is the kind of a value.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Bool
	Number
	Text
	List
	Object
)

var kindNames = [...]string{"null", "a condition", "a number", "a text", "a list", "an object"}

// String names the kind for messages.
func (k Kind) String() string { return kindNames[k] }

// Value is a JSON value. The zero Value is null.
type Value struct {
	kind Kind
	// raw is the value's text where it was read; a value that was built has
	// items or members instead.
	raw     string
	items   []Value
	members []Member
}

// Member is a named value of an object.
type Member struct {
	Name  string
	Value Value
}

// ListOf returns a list. It owns the slice.
func ListOf(items []Value) Value { return Value{kind: List, items: items} }

// ObjectOf returns an object with members in that order. It owns the slice;
// names must be unique.
func ObjectOf(members []Member) Value { return Value{kind: Object, members: members} }

// CellOf returns a cell of a table as a value; a missing cell is NaN, as
// Python writes a missing number.
func CellOf(v table.Value) Value {
	switch v.Kind() {
	case table.Text:
		return Value{kind: Text, raw: string(appendQuoted(nil, v.String()))}
	case table.Bool:
		return Value{kind: Bool, raw: strconv.FormatBool(v.Bool())}
	case table.Missing:
		return Value{kind: Number, raw: "NaN"}
	}
	return Value{kind: Number, raw: v.String()}
}

// Kind returns the kind of v.
func (v Value) Kind() Kind { return v.kind }

// Items returns the members of a list, nil for anything else.
func (v Value) Items() []Value {
	if v.kind != List || v.raw == "" {
		return v.items
	}
	var out []Value
	s := scanner{text: v.raw}
	_ = s.list(func(item Value) { out = append(out, item) })
	return out
}

// Members returns the members of an object, nil for anything else. Of members
// with one name the last value counts, at the place of the first.
func (v Value) Members() []Member {
	if v.kind != Object || v.raw == "" {
		return v.members
	}
	var out []Member
	s := scanner{text: v.raw}
	_ = s.object(func(name string, item Value) {
		for i := range out {
			if out[i].Name == name {
				out[i].Value = item
				return
			}
		}
		out = append(out, Member{name, item})
	})
	return out
}

// Get returns a member of an object.
func (v Value) Get(name string) (Value, bool) {
	for _, m := range v.Members() {
		if m.Name == name {
			return m.Value, true
		}
	}
	return Value{}, false
}

// Cell returns a text, number, condition or null as a cell of a table. Whole
// numbers beyond 64 bits become floats.
func (v Value) Cell() (table.Value, error) {
	switch v.kind {
	case Null:
		return table.Value{}, nil
	case Bool:
		return table.BoolValue(v.raw == "true"), nil
	case Text:
		return table.TextValue(unquote(v.raw)), nil
	case Number:
		return v.number(), nil
	}
	return table.Value{}, fmt.Errorf("%s is no single value", v.kind)
}

func (v Value) number() table.Value {
	if !strings.ContainsAny(v.raw, ".eEnNI") {
		if n, err := strconv.ParseInt(v.raw, 10, 64); err == nil {
			return table.IntValue(n)
		}
		if n, err := strconv.ParseUint(v.raw, 10, 64); err == nil {
			return table.UintValue(n)
		}
	}
	f, _ := strconv.ParseFloat(v.raw, 64)
	return table.FloatValue(f)
}
