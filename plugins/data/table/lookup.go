package table

// A Lookup says how pandas finds cells among others, as in merge and isin.
type Lookup struct {
	Floats bool // numbers are compared as doubles, not exactly
}

// LookupIn returns how cells of two columns of these kinds are found in one
// another: numbers of two types as doubles.
func LookupIn(a, b Kind) Lookup { return Lookup{a != b && a.IsNumber() && b.IsNumber()} }

// Key returns the same value for cells that are equal.
func (l Lookup) Key(v Value) Value {
	if l.Floats && v.kind.IsNumber() {
		v = FloatValue(v.Float())
	}
	return v.Exact()
}
