package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChanges keeps the examples those of the scripts that run them.
func TestChanges(t *testing.T) {
	for name, example := range map[string]string{"when.txtar": whenExample, "moved.txtar": movedExample} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "script", name))
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(example, "  # …\n") {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s does not run %q of the example", name, part)
			}
		}
	}
}
