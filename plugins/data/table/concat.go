package table

import (
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"
)

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
	return build(lists.Of(names, func(name string) *Column { return concatColumn(name, tables) }), nil, n)
}

func concatColumn(name string, tables []*Table) *Column {
	parts := lists.Of(tables, func(t *Table) *Column {
		if i, ok := t.by[name]; ok {
			return t.cols[i]
		}
		return wrap(name, missingVector(Missing, t.n))
	})
	return concatParts(name, concatKind(parts), parts)
}

// concatParts returns the cells of all parts as a column of a kind to which they fit.
func concatParts(name string, kind Kind, parts []*Column) *Column {
	switch kind {
	case Int64:
		return FromInts(name, concatCells(parts, (*Column).Ints))
	case Uint64:
		return FromUints(name, concatCells(parts, (*Column).Uints))
	case Float64:
		return FromFloats(name, concatCells(parts, (*Column).Floats))
	case Text:
		return concatTexts(name, parts)
	}
	return FromKind(name, kind, concatCells(parts, (*Column).Values))
}

func concatCells[T any](parts []*Column, cells func(*Column) []T) []T {
	return slices.Concat(lists.Of(parts, cells)...)
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
		return FromInts(name, lists.Of(v, Value.Int))
	case Uint64:
		return FromUints(name, lists.Of(v, func(x Value) uint64 { return x.bits }))
	case Float64, Missing:
		return FromFloats(name, lists.Of(v, Value.Float))
	case Bool:
		return FromBools(name, lists.Of(v, Value.Bool), validOf(v))
	case Text:
		return FromTexts(name, lists.Of(v, Value.String), validOf(v))
	}
	return FromObjects(name, v)
}

// tallRows is how many rows a chunk has where its vectors are worth keeping
// apart. Wide tables have chunks of few rows, whose vectors would take more
// memory than their cells.
const tallRows = 1024

// gatherer collects the chunks of a table in order.
type gatherer struct {
	chunks []*chunk
	joined []int // of wide tables: how many chunks each of them was joined from
	wide   bool
}

// add takes the next chunk. In wide tables it joins equal numbers of chunks,
// so that a cell is copied as often as the logarithm of their number.
func (g *gatherer) add(c *chunk) {
	g.chunks, g.joined = append(g.chunks, c), append(g.joined, 1)
	for n := len(g.joined); g.wide && n > 1 && g.joined[n-1] == g.joined[n-2]; n-- {
		g.joinLast()
	}
}

func (g *gatherer) joinLast() {
	n := len(g.chunks)
	a, b := g.chunks[n-2], g.chunks[n-1]
	for i := range a.cols {
		a.cols[i] = join(a.cols[i], b.cols[i])
	}
	a.rows += b.rows
	g.joined[n-2] += g.joined[n-1]
	g.chunks, g.joined = g.chunks[:n-1], g.joined[:n-1]
}

// finish returns the chunks, of wide tables joined to one.
func (g *gatherer) finish() []*chunk {
	for g.wide && len(g.chunks) > 1 {
		g.joinLast()
	}
	return g.chunks
}

// join returns the values of a and b in one vector. If their kinds differ, it
// remembers them, since the kind of the column depends on all chunks.
func join(a, b *vector) *vector {
	if a.kind == b.kind && a.kind != Mixed {
		return concatParts("", a.kind, []*Column{wrap("", a), wrap("", b)}).vecs[0]
	}
	v := mixedVector(slices.Concat(a.values(), b.values()))
	v.mix = &tally{}
	v.mix.add(a)
	v.mix.add(b)
	return v
}

func (v *vector) values() []Value { return Collect(v.n, v.value) }

// tally gathers the facts that decide the kind of a column whose chunks are typed
// one by one.
type tally struct {
	seen           [Mixed + 1]bool
	object         bool // a chunk is an object array to pandas
	noText, noBool bool // a chunk that is not of that kind has values
}

func (t *tally) add(v *vector) {
	if v.mix != nil {
		for k, ok := range v.mix.seen {
			t.seen[k] = t.seen[k] || ok
		}
		t.object, t.noText, t.noBool = t.object || v.mix.object, t.noText || v.mix.noText, t.noBool || v.mix.noBool
		return
	}
	t.seen[v.kind] = true
	t.object = t.object || v.kind == Text || v.kind == Bool && v.valid != nil
	t.noText = t.noText || v.kind != Text && !v.empty()
	t.noBool = t.noBool || v.kind != Bool && !v.empty()
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
	return missingVector(m.as, v.n)
}

// empty reports whether all values are missing.
func (v *vector) empty() bool {
	for i := range v.n {
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
