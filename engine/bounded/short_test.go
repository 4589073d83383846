package bounded

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// TestShort compares short with scan for random texts of parts that nest, at sizes near
// the limits: scan must find nothing in a text that is short.
func TestShort(t *testing.T) {
	parts := []string{"[", "]", "{", "}", "(", ")", "${", "%{", "%{~", "~}", "if ", "for ", `"`, "\\", "<<E\n", "\nE\n", "\n", "\r\n", "\r", "\t", "\v",
		"\x00", "\x80", "\xef\xbb\xbf", "é", "\u0301", "#", "//", "/*", "*/", "::", "=", "==", "!=", "...", ".", ",", "?", ":", "-", "a", "_", "0", " ", "a-b", "1e9", "abc = "}
	random := rand.New(rand.NewPCG(1, 2))
	shorts, longs := 0, 0
	for range 3000 {
		some := make([]string, 1+random.IntN(4))
		for i := range some {
			some[i] = parts[random.IntN(len(parts))]
		}
		unit := strings.Join(some, "")
		text := []byte(strings.Repeat(unit, 1+random.IntN(1+2*maxDepth/len(unit))))
		tokens, _ := hclsyntax.LexConfig(text, "a.hcl", hcl.InitialPos)
		found := scan(tokens)
		if !short(text) {
			longs++
			continue
		}
		if shorts++; found != nil {
			t.Fatalf("%d times %q is short, but %v", len(text)/len(unit), unit, found)
		}
	}
	if shorts < 100 || longs < 100 {
		t.Errorf("%d short and %d long texts; want more of each", shorts, longs)
	}
}
