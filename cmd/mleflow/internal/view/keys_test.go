package view

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

// TestWithoutKeys compares withoutKeys with an expression for random texts.
func TestWithoutKeys(t *testing.T) {
	keys := regexp.MustCompile(`\["(?:[^"\\]|\\.)*"\]`)
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{`["`, `"]`, `[`, `]`, `"`, `\`, "a", "é", "step.x"}
	for range 20_000 {
		text := ""
		for range random.IntN(9) {
			text += parts[random.IntN(len(parts))]
		}
		if got, want := withoutKeys(text), keys.ReplaceAllString(text, "[…]"); got != want {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	}
}
