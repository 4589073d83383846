package export

import (
	"maps"
	"math"
	"slices"

	"github.com/mleflow/mleflow/competitions/grading"
	"github.com/mleflow/mleflow/plugins/data/table"
)

// rows builds columns of a table from rows of any type.
type rows[T any] struct {
	of      []T
	columns []*table.Column
}

// text adds a column of texts; an empty one is missing.
func (r *rows[T]) text(name string, value func(T) string) {
	texts, valid := make([]string, len(r.of)), make([]bool, len(r.of))
	for i, row := range r.of {
		texts[i] = value(row)
		valid[i] = texts[i] != ""
	}
	r.columns = append(r.columns, table.FromTexts(name, texts, valid))
}

// typed adds a column of texts that is of another type in Parquet and Arrow.
func (r *rows[T]) typed(name string, as table.As, value func(T) string) {
	r.text(name, value)
	last := &r.columns[len(r.columns)-1]
	*last = (*last).As(as)
}

func (r *rows[T]) whole(name string, value func(T) int) {
	ints := make([]int64, len(r.of))
	for i, row := range r.of {
		ints[i] = int64(value(row))
	}
	r.columns = append(r.columns, table.FromInts(name, ints))
}

// number adds a column of doubles; nil is missing, and so is NaN.
func (r *rows[T]) number(name string, value func(T) *float64) {
	floats := make([]float64, len(r.of))
	for i, row := range r.of {
		floats[i] = math.NaN()
		if v := value(row); v != nil {
			floats[i] = *v
		}
	}
	r.columns = append(r.columns, table.FromFloats(name, floats))
}

func (r *rows[T]) truth(name string, value func(T) bool) {
	bools := make([]bool, len(r.of))
	for i, row := range r.of {
		bools[i] = value(row)
	}
	r.columns = append(r.columns, table.FromBools(name, bools, nil))
}

// maxWords is the largest number of labels or tags that become columns.
const maxWords = 100

// each adds a column for each name that fits and that a row has a text of.
func (r *rows[T]) each(prefix string, of func(T) map[string]string, fits func(name string) bool) {
	names := map[string]bool{}
	for _, row := range r.of {
		for name := range of(row) {
			names[name] = fits(name)
		}
	}
	maps.DeleteFunc(names, func(_ string, fits bool) bool { return !fits })
	sorted := slices.Sorted(maps.Keys(names))
	for _, name := range sorted[:min(len(sorted), maxWords)] {
		r.text(prefix+name, func(row T) string { return of(row)[name] })
	}
}

func known(n grading.Number) *float64 { return (*float64)(&n) }

func knownInt(n *int) *float64 {
	if n == nil {
		return nil
	}
	v := float64(*n)
	return &v
}
