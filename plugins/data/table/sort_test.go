package table

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var sortFile = flag.String("sorts", "testdata/pandas_sort.jsonl", "pandas' orders to compare with")

// TestSort compares with pandas. The file's first line says how it was made.
func TestSort(t *testing.T) {
	data, err := os.ReadFile(*sortFile)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n")[1:] {
		var c struct {
			V, L               []int64
			Quick, Stable, Two []int32
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		tb := sortTable(t, c.V, c.L)
		k, _ := tb.Column("k")
		got := map[string][]int32{}
		for name, sort := range map[string]func() ([]int32, error){
			"quick":  func() ([]int32, error) { return tb.ArgSort("k") },
			"two":    func() ([]int32, error) { return tb.ArgSort("k", "l") },
			"stable": func() ([]int32, error) { return k.ArgSort(true) },
		} {
			if got[name], err = sort(); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string][]int32{"quick": c.Quick, "stable": c.Stable, "two": c.Two}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("line %d: -want +got\n%s", i+2, diff)
		}
	}
}

// TestSortInts compares the order of integers with that of introsort, which
// knows no shortcuts: increasing, dense, sparse, repeated, and at both ends of
// the range.
func TestSortInts(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for name, value := range map[string]func(i int) int64{
		"increasing": func(i int) int64 { return int64(i) * 1e6 },
		"dense":      func(i int) int64 { return int64(i*7919%20011) - 300 },
		"small":      func(i int) int64 { return int64(i * 37 % 101) },
		"sparse":     func(int) int64 { return int64(r.Uint64()) },
		"repeated":   func(int) int64 { return r.Int64N(30_000) },
		"ends":       func(i int) int64 { return []int64{math.MinInt64, math.MaxInt64, 0, math.MinInt64}[i%4] },
	} {
		for _, n := range []int{0, 1, 2, 101, 20_011} {
			v := Collect(n, value)
			want := ascending(n)
			introsort(v, want)
			got, err := FromInts("k", v).ArgSort(false)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, %d rows: the order is not that of introsort (%v)", name, n, err)
			}
		}
	}
}

// sortTable has strings in the order of v, missing where it is negative.
func sortTable(t *testing.T, v, l []int64) *Table {
	texts, valid := make([]string, len(v)), make([]bool, len(v))
	for i, x := range v {
		texts[i], valid[i] = fmt.Sprintf("k%06d", x), x >= 0
	}
	tb, err := New(FromTexts("k", texts, valid), FromInts("l", l))
	if err != nil {
		t.Fatal(err)
	}
	return tb
}
