package competitions

import (
	"testing"

	"github.com/mleflow/mleflow/competitions/shipped"
)

// TestFactsWithoutDecoding compares the facts that a catalog reads without
// decoding a definition with what decoding it gives.
func TestFactsWithoutDecoding(t *testing.T) {
	cat, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	if len(cat.IDs()) == 0 {
		t.Fatal("no competitions")
	}
	for _, id := range cat.IDs() {
		def, err := cat.Get(id)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := cat.Complexity(id); got != def.Complexity || got == "" {
			t.Errorf("%s: complexity %q, decoded %q", id, got, def.Complexity)
		}
		if got := cat.Category(id); got != def.Category {
			t.Errorf("%s: category %q, decoded %q", id, got, def.Category)
		}
	}
}

func BenchmarkShipped(b *testing.B) {
	for b.Loop() {
		def, diags := LoadOne(shipped.FS, "leaf-classification")
		if diags.HasErrors() || def == nil {
			b.Fatal(diags)
		}
	}
}
