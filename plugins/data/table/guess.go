package table

// A builder types a column while it is cut into fields, on the guess that
// this chunk has the kind of the one before. It promises the very result of
// rules.infer or none.
type builder interface {
	// add adds a column's cells of a batch and reports whether the guess may
	// still hold.
	add(b *batch, col, width int) bool
	// finish returns the vector, nil if the guess did not hold.
	finish() *vector
}

// newBuilder returns a builder for a chunk of n rows of the guessed kind, nil
// if there is none for it.
func newBuilder(kind Kind, r rules, n int, scratch *textBuilder) builder {
	switch kind {
	case Int64:
		return &intGuess{r: r, out: make([]int64, 0, n)}
	case Float64:
		return &floatGuess{r: r, out: make([]float64, 0, n)}
	case Text:
		scratch.reset()
		return &textGuess{r: r, b: scratch}
	}
	return nil
}

type intGuess struct {
	r   rules
	out []int64
}

func (g *intGuess) add(b *batch, col, width int) bool {
	for i := col; i < len(b.spans); i += width {
		v, res := parseInt(b.cell(b.spans[i]))
		if res != okay {
			return false
		}
		g.out = append(g.out, v)
	}
	return true
}

func (g *intGuess) finish() *vector { return intVector(g.out) }

// floatGuess holds for columns with at least one number that has a point or
// an exponent before any integer that is too large, or with a gap and small
// integers.
type floatGuess struct {
	r          rules
	out        []float64
	gap        bool
	fractional bool
}

// maxWhole bounds the integers that any parser turns into the same double.
const maxWhole = 1 << 53

func (g *floatGuess) add(b *batch, col, width int) bool {
	for i := col; i < len(b.spans); i += width {
		if !g.cell(b.cell(b.spans[i])) {
			return false
		}
	}
	return true
}

func (g *floatGuess) cell(b []byte) bool {
	f, whole, ok := g.r.float(b)
	switch {
	case !ok:
		if !g.r.missing(b) {
			return false
		}
		g.gap = true
		f = nan()
	case !whole && !g.fractional:
		if _, res := parseInt(b); res != invalid {
			return false // pandas takes too many digits before the point for text
		}
		g.fractional = true
	case !whole:
	case !(-maxWhole < f && f < maxWhole):
		return false
	}
	g.out = append(g.out, f)
	return true
}

func (g *floatGuess) finish() *vector {
	if !g.fractional && !g.gap {
		return nil
	}
	return floatVector(g.out)
}

// textGuess holds for columns in which some cell is not an integer, some no
// number and some no boolean, if no integer too large comes before them.
type textGuess struct {
	r                      rules
	b                      *textBuilder
	noInt, noFloat, noBool bool
	sure                   bool
}

func (g *textGuess) add(b *batch, col, width int) bool {
	for i := col; i < len(b.spans); i += width {
		cell := b.cell(b.spans[i])
		if !g.sure && !g.r.missing(cell) && !g.decide(cell) {
			return false
		}
		g.b.add(g.r, cell)
	}
	return true
}

// decide looks at a cell while the column may be something else than text.
func (g *textGuess) decide(b []byte) bool {
	if !g.noInt {
		_, res := parseInt(b)
		if res == overflow {
			return false
		}
		g.noInt = res == invalid
	}
	if !g.noFloat {
		_, _, ok := g.r.float(b)
		g.noFloat = !ok
	}
	if !g.noBool {
		_, ok := parseBool(b)
		g.noBool = !ok
	}
	g.sure = g.noInt && g.noFloat && g.noBool
	return true
}

func (g *textGuess) finish() *vector {
	if !g.sure {
		return nil
	}
	return g.b.vector()
}
