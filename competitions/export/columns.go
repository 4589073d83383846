package export

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"

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
	texts := lists.Of(r.of, value)
	valid := lists.Of(texts, func(text string) bool { return text != "" })
	r.columns = append(r.columns, table.FromTexts(name, texts, valid))
}

// typed adds a column of texts that is of another type in Parquet and Arrow.
func (r *rows[T]) typed(name string, as table.As, value func(T) string) {
	r.text(name, value)
	last := &r.columns[len(r.columns)-1]
	*last = (*last).As(as)
}

func (r *rows[T]) whole(name string, value func(T) int) {
	ints := lists.Of(r.of, func(row T) int64 { return int64(value(row)) })
	r.columns = append(r.columns, table.FromInts(name, ints))
}

// number adds a column of doubles; nil is missing, and so is NaN.
func (r *rows[T]) number(name string, value func(T) *float64) {
	none := math.NaN()
	floats := lists.Of(r.of, func(row T) float64 { return *cmp.Or(value(row), &none) })
	r.columns = append(r.columns, table.FromFloats(name, floats))
}

func (r *rows[T]) truth(name string, value func(T) bool) {
	r.columns = append(r.columns, table.FromBools(name, lists.Of(r.of, value), nil))
}

// maxWords is the largest number of labels or tags that become columns.
const maxWords = 100

// each adds a column for each name that fits and that a row has a text of.
func (r *rows[T]) each(prefix string, of func(T) map[string]string, fits func(name string) bool) {
	names := map[string]bool{}
	for _, row := range r.of {
		for name := range of(row) {
			if fits(name) {
				names[name] = true
			}
		}
	}
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
