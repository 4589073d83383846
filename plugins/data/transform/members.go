package transform

import (
	"errors"
	"slices"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// members are the distinct values of a column or a list; integers, of
// which there may be millions, take little memory.
type members struct {
	table.Lookup
	whole map[int64]struct{}
	other map[table.Value]struct{}
}

// memberSetOf returns the values of a column or a list to look cells of a kind up
// in. As in pandas, numbers of different types are compared as floats, but in a
// list only with those of int64.
func memberSetOf(values Rows, of table.Kind) (members, error) {
	m := members{whole: map[int64]struct{}{}, other: map[table.Value]struct{}{}}
	switch r := values.(type) {
	case ColumnRows:
		m.Lookup = table.LookupIn(of, r.Kind())
		for i := range r.Len() {
			m.add(r.Value(i))
		}
	case ListRows:
		if of == table.Int64 {
			m.Lookup = table.LookupIn(of, arrayKind(r))
		}
		for _, v := range r {
			m.add(v)
		}
	default:
		return m, errors.New("the values must be a column or a list")
	}
	return m, nil
}

// arrayKind returns the kind of numpy's array of the values.
func arrayKind(v []table.Value) table.Kind {
	kind := table.CommonKind(v)
	if kind == table.Mixed && !slices.ContainsFunc(v, func(x table.Value) bool { return !x.Kind().IsNumber() }) {
		return table.Float64
	}
	return kind
}

func (m members) add(v table.Value) {
	if k := m.Key(v); k.Kind() == table.Int64 {
		m.whole[k.Int()] = struct{}{}
	} else {
		m.other[k] = struct{}{}
	}
}

// has reports whether a value is one of them.
func (m members) has(v table.Value) bool {
	k := m.Key(v)
	if k.Kind() == table.Int64 {
		_, ok := m.whole[k.Int()]
		return ok
	}
	_, ok := m.other[k]
	return ok
}
