package table

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
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
			Quick, Stable, Two []int
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		tb := sortTable(t, c.V, c.L)
		k, _ := tb.Column("k")
		got := map[string][]int{}
		for name, sort := range map[string]func() ([]int, error){
			"quick":  func() ([]int, error) { return tb.ArgSort("k") },
			"two":    func() ([]int, error) { return tb.ArgSort("k", "l") },
			"stable": func() ([]int, error) { return k.ArgSort(true) },
		} {
			if got[name], err = sort(); err != nil {
				t.Fatal(err)
			}
		}
		want := map[string][]int{"quick": c.Quick, "stable": c.Stable, "two": c.Two}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("line %d: -want +got\n%s", i+2, diff)
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
