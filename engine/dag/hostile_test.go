package dag_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine/dag"
	"github.com/mleflow/mleflow/engine/hostiletest"
)

// TestHostileDrawings sees that a text stays between its quotes, whatever it is.
func TestHostileDrawings(t *testing.T) {
	dotLine := regexp.MustCompile(`^ *(label=|n\d+ \[label=)"([^"\\]|\\.)*"(;|\];)$`)
	mermaidLine := regexp.MustCompile(`^ *(subgraph g\d+|n\d+)\["([^"\\<>` + "`" + `#&]|<br/>|#(quot|amp|lt|gt|\d+);)*"\]$`)
	for _, h := range hostiletest.Texts() {
		d := &dag.Drawing{Nodes: []dag.DrawnNode{{Label: h.Text, Group: h.Text}}}
		var dot, mermaid strings.Builder
		if err := d.WriteDOT(&dot); err != nil {
			t.Fatal(err)
		}
		if err := d.WriteMermaid(&mermaid); err != nil {
			t.Fatal(err)
		}
		for language, text := range map[string]string{"DOT": dot.String(), "Mermaid": mermaid.String()} {
			if err := hostiletest.Terminal(text); err != nil {
				t.Errorf("%s: %s: %v", h.Name, language, err)
			}
		}
		for _, check := range []struct {
			text, holds string
			shape       *regexp.Regexp
		}{{dot.String(), "label=", dotLine}, {mermaid.String(), "[", mermaidLine}} {
			found := 0
			for line := range strings.Lines(check.text) {
				line = strings.TrimSuffix(line, "\n")
				if strings.Contains(line, check.holds) && !strings.Contains(line, "shape=box") {
					found++
					if !check.shape.MatchString(line) {
						t.Errorf("%s: the text leaves its quotes: %s", h.Name, line)
					}
				}
			}
			if found != 2 {
				t.Errorf("%s: %d lines with a text, want 2:\n%s", h.Name, found, check.text)
			}
		}
	}
}
