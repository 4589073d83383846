package transform

import (
	"errors"

	"github.com/mleflow/mleflow/plugins/data/table"
)

// members are the distinct values of a column or a list; integers, of
// which there may be millions, take little memory.
type members struct {
	low   []bool // by integer, of those below the number of values
	whole map[uint64]struct{}
	other map[key]struct{}
}

// memberSetOf returns the values of a column or a list.
func memberSetOf(values Rows) (members, error) {
	m := members{low: make([]bool, values.Len()), whole: map[uint64]struct{}{}, other: map[key]struct{}{}}
	switch r := values.(type) {
	case ColumnRows:
		ints := intsOf(r.Column)
		for _, v := range ints {
			m.add(table.IntValue(v))
		}
		for i := len(ints); i < r.Len(); i++ {
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
	switch k := keyOf(v); {
	case k.kind != table.Int64:
		m.other[k] = struct{}{}
	case k.bits < uint64(len(m.low)):
		m.low[k.bits] = true
	default:
		m.whole[k.bits] = struct{}{}
	}
}

// has reports whether a value is one of them.
func (m members) has(v table.Value) (ok bool) {
	switch k := keyOf(v); {
	case k.kind != table.Int64:
		_, ok = m.other[k]
	case k.bits < uint64(len(m.low)):
		ok = m.low[k.bits]
	default:
		_, ok = m.whole[k.bits]
	}
	return ok
}
