package minheap_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mleflow/mleflow/engine/internal/minheap"
)

// TestOrder: elements leave in order, also while others arrive.
func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	h := minheap.New(cmp.Less[int])
	var held []int
	for range 20000 {
		if h.Len() != len(held) {
			t.Fatalf("%d elements, want %d", h.Len(), len(held))
		}
		if len(held) == 0 || random.IntN(5) < 3 {
			v := random.IntN(500)
			h.Push(v)
			held = append(held, v)
			continue
		}
		want := slices.Min(held)
		if least := h.Least(); least != want {
			t.Fatalf("the least is %d, want %d", least, want)
		}
		if got := h.Pop(); got != want {
			t.Fatalf("got %d, want %d", got, want)
		}
		at := slices.Index(held, want)
		held = slices.Delete(held, at, at+1)
	}
}
