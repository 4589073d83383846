package transform

import (
	"errors"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// members are the distinct values of a column or a list; integers, of
// which there may be millions, take little memory.
type members struct {
	whole map[uint64]struct{}
	other map[key]struct{}
}

// memberSetOf returns the values of a column or a list.
func memberSetOf(values Rows) (members, error) {
	m := members{whole: map[uint64]struct{}{}, other: map[key]struct{}{}}
	switch r := values.(type) {
	case ColumnRows:
		for i := range r.Len() {
			m.add(r.Value(i))
		}
	case ListRows:
		for _, v := range r {
			m.add(v)
		}
	default:
		return m, errors.New("the values must be a column or a list")
	}
	return m, nil
}

func (m members) add(v table.Value) {
	if k := keyOf(v); k.kind == table.Int64 {
		m.whole[k.bits] = struct{}{}
	} else {
		m.other[k] = struct{}{}
	}
}

// has reports whether a value is one of them.
func (m members) has(v table.Value) bool {
	k := keyOf(v)
	if k.kind == table.Int64 {
		_, ok := m.whole[k.bits]
		return ok
	}
	_, ok := m.other[k]
	return ok
}
