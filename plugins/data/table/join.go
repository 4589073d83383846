package table

import "slices"

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
	switch {
	case a.kind == b.kind && a.kind == Int64:
		return intVector(slices.Concat(a.allInts(), b.allInts()))
	case a.kind == b.kind && a.kind == Uint64:
		return uintVector(slices.Concat(a.uints, b.uints))
	case a.kind == b.kind && a.kind == Float64:
		return floatVector(slices.Concat(a.allFloats(), b.allFloats()))
	case a.kind == b.kind && a.kind == Text:
		return concatTexts("", []*Column{wrap("", a), wrap("", b)}).vecs[0]
	case a.kind == b.kind && a.kind == Bool:
		return FromKind("", Bool, slices.Concat(a.values(), b.values())).vecs[0]
	}
	v := mixedVector(slices.Concat(a.values(), b.values()))
	v.mix = &tally{}
	v.mix.add(a)
	v.mix.add(b)
	return v
}

func (v *vector) values() []Value { return Collect(v.len(), v.value) }
