package aggregate

import (
	"slices"
	"testing"
)

// Numbers come first and by value, whatever order the seeds come in.
func TestCompareSeeds(t *testing.T) {
	want := []string{"-1", "2", "10", "", "1a", "a", "b"}
	got := slices.Clone(want)
	slices.Reverse(got)
	for range len(got) {
		got = append(got[1:], got[0])
		if sorted := slices.SortedFunc(slices.Values(got), CompareSeeds); !slices.Equal(sorted, want) {
			t.Fatalf("%q is sorted to %q, want %q", got, sorted, want)
		}
	}
}
