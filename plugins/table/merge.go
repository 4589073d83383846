package table

// mergeKinds returns the kind of a column whose chunks have been typed one
// by one and adapts the chunks to it, as pandas' concatenation does: numbers
// of several kinds become doubles, truth values beside numbers become numbers
// in a Mixed column, anything else keeps its values.
func mergeKinds(parts []*vector) Kind {
	var seen [Mixed + 1]bool
	object := false
	for _, v := range parts {
		seen[v.kind] = true
		object = object || v.kind == Text || v.kind == Bool && v.valid != nil
	}
	kinds := 0
	last := Float64
	for k, ok := range seen {
		if ok {
			kinds++
			last = Kind(k)
		}
	}
	switch {
	case kinds <= 1:
		return last
	case object:
		return mergeObjects(parts, seen)
	}
	target := Float64
	if !seen[Float64] && seen[Int64] != seen[Uint64] {
		target = Int64
		if seen[Uint64] {
			target = Uint64
		}
	}
	for i, v := range parts {
		parts[i] = v.convert(target)
	}
	if seen[Bool] {
		return Mixed
	}
	return target
}

// mergeObjects merges chunks of which at least one is an object array. Chunks
// without any value take the kind of the others.
func mergeObjects(parts []*vector, seen [Mixed + 1]bool) Kind {
	for _, kind := range []Kind{Text, Bool} {
		fits := seen[kind]
		for _, v := range parts {
			fits = fits && (v.kind == kind || v.empty())
		}
		if !fits {
			continue
		}
		for i, v := range parts {
			if v.kind != kind {
				parts[i] = missingVector(kind, v.len())
			}
		}
		return kind
	}
	return Mixed
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
		return textVector(make([]int, n), nil, none)
	case Bool:
		return boolVector(none, none, n)
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = nan()
	}
	return floatVector(out)
}

// convert returns numbers or truth values as numbers of another kind.
func (v *vector) convert(kind Kind) *vector {
	if v.kind == kind {
		return v
	}
	n := v.len()
	switch kind {
	case Int64:
		out := make([]int64, n)
		for i := range out {
			out[i] = v.value(i).Int()
		}
		return intVector(out)
	case Uint64:
		out := make([]uint64, n)
		for i := range out {
			out[i] = uint64(v.value(i).Int())
		}
		return uintVector(out)
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = v.value(i).Float()
	}
	return floatVector(out)
}
