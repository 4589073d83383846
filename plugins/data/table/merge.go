package table

import "slices"

// tally gathers the facts that decide the kind of a column whose chunks are typed
// one by one.
type tally struct {
	seen           [Mixed + 1]bool
	object         bool // a chunk is an object array to pandas
	noText, noBool bool // a chunk that is not of that kind has values
}

func (t *tally) add(v *vector) {
	if v.mix != nil {
		t.merge(v.mix)
		return
	}
	t.seen[v.kind] = true
	t.object = t.object || v.kind == Text || v.kind == Bool && v.valid != nil
	t.noText = t.noText || v.kind != Text && !v.empty()
	t.noBool = t.noBool || v.kind != Bool && !v.empty()
}

func (t *tally) merge(u *tally) {
	for k, ok := range u.seen {
		t.seen[k] = t.seen[k] || ok
	}
	t.object = t.object || u.object
	t.noText = t.noText || u.noText
	t.noBool = t.noBool || u.noBool
}

// merger adapts the chunks of a column to one another.
type merger struct {
	kind Kind // of the column
	as   Kind // what chunks become, Missing if they stay as they are
}

// merger decides as pandas' concatenation does: numbers of several kinds
// become doubles, booleans among numbers become numbers in a Mixed
// column, anything else keeps its values. A chunk without any value takes the
// kind of the others.
func (t *tally) merger() merger {
	kinds, last := 0, Float64
	for k, ok := range t.seen {
		if ok {
			kinds++
			last = Kind(k)
		}
	}
	switch {
	case kinds <= 1:
		return merger{kind: last}
	case t.object && !t.noText:
		return merger{kind: Text, as: Text}
	case t.object && !t.noBool:
		return merger{kind: Bool, as: Bool}
	case t.object:
		return merger{kind: Mixed}
	}
	as := Float64
	if !t.seen[Float64] && t.seen[Int64] != t.seen[Uint64] {
		as = Int64
		if t.seen[Uint64] {
			as = Uint64
		}
	}
	if t.seen[Bool] {
		return merger{kind: Mixed, as: as}
	}
	return merger{kind: as, as: as}
}

// adapt returns the chunk as the column needs it.
func (m merger) adapt(v *vector) *vector {
	switch {
	case m.as == Missing || m.as == v.kind:
		return v
	case m.as.IsNumber() || v.kind == Mixed:
		return FromKind("", m.as, v.values()).vecs[0]
	}
	return missingVector(m.as, v.len())
}

// empty reports whether all values are missing.
func (v *vector) empty() bool {
	for i := range v.len() {
		if !v.missing(i) {
			return false
		}
	}
	return true
}

// missingVector returns n missing values.
func missingVector(kind Kind, n int) *vector {
	none := make([]byte, (n+7)/8)
	switch kind {
	case Text:
		return textVector(make([]int, n), nil, none, true)
	case Bool:
		return boolVector(none, none, n)
	}
	return floatVector(slices.Repeat([]float64{nan()}, n))
}
