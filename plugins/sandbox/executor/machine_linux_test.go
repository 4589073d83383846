package executor

import "testing"

func TestProcessors(t *testing.T) {
	all := Processors(1 << 20)
	for limit, want := range map[float64]int{0: 0, 0.5: 1, 1: 1, 1.5: min(2, len(all))} {
		if got := Processors(limit); len(got) != want {
			t.Errorf("%v: %v, want %d of %v", limit, got, want, all)
		}
	}
}
