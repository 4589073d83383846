package transform

import (
	"iter"
	"math/bits"
	"slices"
)

// selection is numbers of rows of a file: all, a set in the order of the file,
// or a list in any order. The zero value is none.
type selection struct {
	n    int
	set  []uint64
	list []int32
}

// all picks the rows 0 to n-1.
func all(n int) selection { return selection{n: n} }

// pick picks those of p for whose position in p keep holds.
func (p selection) pick(keep func(position int) bool) selection {
	b := newSelector(p.last() + 1)
	position := 0
	for row := range p.rows() {
		if keep(position) {
			b.add(row)
		}
		position++
	}
	return b.selection
}

// take picks the rows of p at the given places.
func (p selection) take(places []int) selection {
	list := p.list
	if p.set != nil {
		list = p.expand(p.n)
	}
	b := newSelector(p.last() + 1)
	for _, at := range places {
		if list != nil {
			at = int(list[at])
		}
		b.add(at)
	}
	return b.selection
}

// expand returns the rows as a list.
func (p selection) expand(capacity int) []int32 {
	out := make([]int32, 0, capacity)
	for row := range p.rows() {
		out = append(out, int32(row))
	}
	return out
}

// last is no less than the greatest row; -1 without any.
func (p selection) last() int {
	switch {
	case len(p.list) > 0:
		return int(slices.Max(p.list))
	case p.list != nil:
		return -1
	case p.set != nil:
		return 64*len(p.set) - 1
	}
	return p.n - 1
}

// ordered reports whether the rows are in the order of the file, each once.
func (p selection) ordered() bool { return p.list == nil }

// has reports whether a row is selected; it is for ordered ones.
func (p selection) has(row int) bool {
	if p.set == nil {
		return row < p.n
	}
	return row>>6 < len(p.set) && p.set[row>>6]>>(row&63)&1 == 1
}

// rows walks the selected rows in their order.
func (p selection) rows() iter.Seq[int] {
	switch {
	case p.list != nil:
		return func(yield func(int) bool) {
			for _, row := range p.list {
				if !yield(int(row)) {
					return
				}
			}
		}
	case p.set != nil:
		return p.members
	}
	return func(yield func(int) bool) {
		for row := range p.n {
			if !yield(row) {
				return
			}
		}
	}
}

// members walks a set.
func (p selection) members(yield func(int) bool) {
	for i, word := range p.set {
		for ; word != 0; word &= word - 1 {
			if !yield(i<<6 + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}

// selector collects numbers of rows: a set as long as they ascend, then a list.
type selector struct {
	selection
	at int
}

// newSelector returns a selector of rows below a number.
func newSelector(below int) *selector {
	return &selector{selection: selection{set: make([]uint64, (max(below, 1)+63)/64)}, at: -1}
}

func (b *selector) add(row int) {
	switch {
	case b.list != nil:
	case row > b.at:
		b.set[row>>6] |= 1 << (row & 63)
		b.at, b.n = row, b.n+1
		return
	default:
		b.list = b.expand(2*b.n + 1)
		b.set = nil
	}
	b.list = append(b.list, int32(row))
	b.n++
}
