package view

import (
	"slices"
	"testing"
)

// TestInOrder keeps blocks where they begin, and sorts the instances of each by value.
func TestInOrder(t *testing.T) {
	list := []string{`step.b.x["k27"]`, `step.a.y`, `step.b.x["k3"]`, `step.a.z["lr=0.1"]`, `step.b.x["k1"]`, `step.a.z["lr=0.01"]`}
	want := []string{`step.b.x["k1"]`, `step.b.x["k3"]`, `step.b.x["k27"]`, `step.a.y`, `step.a.z["lr=0.01"]`, `step.a.z["lr=0.1"]`}
	if got := InOrder(list, func(s string) string { return s }); !slices.Equal(got, want) || list[0] != `step.b.x["k27"]` {
		t.Errorf("got %q, want %q; the list itself is %q", got, want, list)
	}
}
