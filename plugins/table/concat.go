package table

// Concat returns the rows of all tables one after the other, as pandas.concat
// does: columns in order of first appearance, missing where a table lacks one.
// Numbers of several kinds become doubles, other kinds that differ Mixed.
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
		cols[i] = concatColumn(name, tables, n)
	}
	return build(cols, nil, n)
}

func concatColumn(name string, tables []*Table, n int) *Column {
	kind, gap := Missing, false
	for _, t := range tables {
		c, err := t.Column(name)
		if err != nil {
			gap = gap || t.n > 0
			continue
		}
		if c.n > 0 || kind == Missing {
			kind = joinKinds(kind, c.kind)
		}
	}
	if gap && (kind == Int64 || kind == Uint64) {
		kind = Float64
	}
	values := make([]Value, 0, n)
	for _, t := range tables {
		if c, err := t.Column(name); err == nil {
			values = append(values, c.Values()...)
		} else {
			values = append(values, make([]Value, t.n)...)
		}
	}
	return fromKind(name, kind, values)
}

// joinKinds returns the kind of a column that continues one of kind a with
// one of kind b.
func joinKinds(a, b Kind) Kind {
	switch {
	case a == b || a == Missing:
		return b
	case a.IsNumber() && b.IsNumber():
		return Float64
	}
	return Mixed
}

// fromKind returns a column of the given kind, to which the values fit.
func fromKind(name string, kind Kind, v []Value) *Column {
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
	return wrap(name, mixedVector(v))
}
