package board_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mleflow/mleflow/competitions/board"
)

// TestCompareNames puts names in their order from any other.
func TestCompareNames(t *testing.T) {
	for _, want := range [][]string{
		{"k1", "k3", "k27"},
		{"sweep[k1]", "sweep[k3]", "sweep[k27]"},
		{"lr=0.001", "lr=1e-2", "lr=0.1", "lr=1e-1", "lr=1", "lr=1e3"},
		{"lr=-2", "lr=-1", "lr=0", "lr=1"},
		{"s[depth=3,lr=0.01]", "s[depth=3,lr=0.1]", "s[depth=10,lr=0.01]"},
		{"", "1", "02", "2", "10", "a", "a1", "aa", "b"},
		{"gpt-4", "gpt-4.1", "gpt-5", "gpt-10"},
		{"x", "x1e999", "x2e999"},
	} {
		for range 20 {
			got := slices.Clone(want)
			rand.Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
			slices.SortFunc(got, board.CompareNames)
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
}
