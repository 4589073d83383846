package table

import (
	"math"
	"strings"
	"testing"
)

// TestEachPair goes through columns whose cells are stored in several ways,
// block by block: they must be those of the bulk accessors, and stay what
// they are.
func TestEachPair(t *testing.T) {
	const rows = 3*fewRows + 5
	var csv strings.Builder
	csv.WriteString("small,wide,decimal,float,gap\n")
	for i := range rows {
		csv.WriteString(strings.Join([]string{
			IntValue(int64(i % 9)).String(), IntValue(int64(i) * 1e9).String(), FloatValue(float64(i%100) / 100).String(),
			FloatValue(math.Sqrt(float64(i))).String(), []string{"", "1.5"}[i%2]}, ",") + "\n")
	}
	whole, err := ReadCSV(strings.NewReader(csv.String()), ReadOptions{chunkCells: 5 * 4 * 2048})
	if err != nil {
		t.Fatal(err)
	}
	shuffled := make([]int, rows)
	for i := range shuffled {
		shuffled[i] = i * 7 % rows
	}
	for _, tb := range []*Table{whole, whole.Slice(100, rows-100), whole.Take(shuffled)} {
		for _, c := range tb.Columns() {
			for _, d := range tb.Columns() {
				samePairs(t, c, d, (*Column).FloatsInto, c.Floats(), d.Floats(), func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
				samePairs(t, c, d, (*Column).IntsInto, c.Ints(), d.Ints(), func(a, b int64) bool { return a == b })
			}
		}
	}
}

func samePairs[T any](t *testing.T, a, b *Column, into func(*Column, []T) []T, x, y []T, same func(T, T) bool) {
	t.Helper()
	next := 0
	EachPair(a, b, into, func(at int, v, w []T) bool {
		for i := range v {
			if at != next || !same(v[i], x[at+i]) || !same(w[i], y[at+i]) {
				t.Fatalf("columns %s and %s: row %d is %v and %v; expected %v and %v", a.name, b.name, at+i, v[i], w[i], x[at+i], y[at+i])
			}
		}
		next = at + len(v)
		return true
	})
	if next != len(x) {
		t.Errorf("columns %s and %s: %d rows; expected %d", a.name, b.name, next, len(x))
	}
}
