package table

import "slices"

// Concat returns the rows of all tables one after the other, as pandas.concat
// does: columns in order of first appearance, missing where a table lacks one.
// Numbers of several kinds become doubles and booleans without gaps among numbers
// numbers; other kinds that differ give a Mixed column. Index columns are
// left out.
func Concat(tables ...*Table) (*Table, error) {
	n := 0
	var names []string
	seen := map[string]bool{}
	for _, t := range tables {
		n += t.n
		for _, c := range t.cols {
			if !seen[c.name] {
				seen[c.name] = true
				names = append(names, c.name)
			}
		}
	}
	cols := make([]*Column, len(names))
	for i, name := range names {
		cols[i] = concatColumn(name, tables)
	}
	return build(cols, nil, n)
}

func concatColumn(name string, tables []*Table) *Column {
	var parts []*Column
	for _, t := range tables {
		if c, err := t.Column(name); err == nil {
			parts = append(parts, c)
		} else {
			parts = append(parts, wrap(name, missingVector(Missing, t.n)))
		}
	}
	switch kind := concatKind(parts); kind {
	case Int64:
		return FromInts(name, concatCells(parts, (*Column).Ints))
	case Uint64:
		return FromUints(name, concatCells(parts, (*Column).Uints))
	case Float64:
		return FromFloats(name, concatCells(parts, (*Column).Floats))
	case Text:
		return concatTexts(name, parts)
	default:
		return FromKind(name, kind, concatCells(parts, (*Column).Values))
	}
}

func concatCells[T any](parts []*Column, cells func(*Column) []T) []T {
	all := make([][]T, len(parts))
	for i, c := range parts {
		all[i] = cells(c)
	}
	return slices.Concat(all...)
}

func concatTexts(name string, parts []*Column) *Column {
	var b textBuilder
	for _, c := range parts {
		for i := range c.n {
			if v, r := c.at(i); r < 0 || v.missing(r) {
				b.missing = append(b.missing, len(b.ends))
			} else {
				b.text = append(b.text, v.bytes(r)...)
			}
			b.ends = append(b.ends, len(b.text))
		}
	}
	return wrap(name, b.vector())
}

// concatKind returns the kind of the columns put together. Columns without
// rows do not count, those without values fit any kind but integers.
func concatKind(parts []*Column) Kind {
	empty, objects, kind := false, false, Missing
	for _, c := range parts {
		switch {
		case c.n == 0:
		case c.kind == Float64 && c.MissingCount() == c.n:
			empty = true
		case c.kind == Bool && c.MissingCount() > 0:
			objects, kind = true, joinKinds(kind, Bool)
		default:
			kind = joinKinds(kind, c.kind)
		}
	}
	switch {
	case kind == Missing && !empty && len(parts) > 0:
		return parts[0].kind
	case objects && kind.IsNumber():
		return Mixed
	case kind == Missing, empty && (kind == Int64 || kind == Uint64):
		return Float64
	}
	return kind
}

// joinKinds returns the kind of a column that continues one of kind a with
// one of kind b.
func joinKinds(a, b Kind) Kind {
	switch {
	case a == b || a == Missing:
		return b
	case a.IsNumber() && b == Bool:
		return a
	case a == Bool && b.IsNumber():
		return b
	case a.IsNumber() && b.IsNumber():
		return Float64
	}
	return Mixed
}

// FromKind returns a column of the given kind, to which the values fit.
func FromKind(name string, kind Kind, v []Value) *Column {
	switch kind {
	case Int64:
		return FromInts(name, mapValues(v, Value.Int))
	case Uint64:
		return FromUints(name, mapValues(v, func(x Value) uint64 { return x.bits }))
	case Float64, Missing:
		return FromFloats(name, mapValues(v, Value.Float))
	case Bool:
		return FromBools(name, mapValues(v, Value.Bool), validOf(v))
	case Text:
		return FromTexts(name, mapValues(v, Value.String), validOf(v))
	}
	return FromObjects(name, v)
}
