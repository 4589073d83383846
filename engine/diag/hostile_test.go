package diag_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"

	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/hostiletest"
)

// TestHostileSnippets shows diagnostics of files that somebody else wrote, as
// those of a bundle are.
func TestHostileSnippets(t *testing.T) {
	for _, h := range hostiletest.Texts() {
		p := hclparse.NewParser()
		file, found := p.ParseHCL([]byte("a = b # "+h.Text+"\nc = \""+h.Text+"\"\n"), "x.hcl")
		list := append(found, diag.General(h.Text, "%s", h.Text))
		if file != nil {
			at := hcl.Range{Filename: "x.hcl", Start: hcl.Pos{Line: 1, Column: 5, Byte: 4}, End: hcl.Pos{Line: 1, Column: 6, Byte: 5}}
			list = append(list, diag.Error(at, "Wrong", "It is %s.", h.Text))
		}
		var out strings.Builder
		if err := diag.WriteText(&out, p.Files(), list, 80, false); err != nil {
			t.Fatal(err)
		}
		if err := hostiletest.Terminal(out.String()); err != nil {
			t.Errorf("%s: %v", h.Name, err)
		}
	}
}
