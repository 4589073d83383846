package prep

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"

	"github.com/mleflow/mleflow/competitions"
)

// TestOldVerbNamesTheNew writes every verb by the name that it had: Check says
// what to write instead, and at which place.
func TestOldVerbNamesTheNew(t *testing.T) {
	verbs := sortedKeys(verbsByName())
	for old, now := range renamed {
		if slices.Contains(verbs, old) {
			t.Errorf("%s is a verb, so no error names %s", old, now)
		}
		if !slices.Contains(verbs, now) {
			t.Errorf("%s is said to be called %s now, which is no verb", old, now)
		}
		text := "competition \"case\" {\n  title = \"case\"\n  complexity = \"demo\"\n  description = \"case\"\n  medals { scores = [1] }\n" +
			"  prepare {\n    public {\n      table \"a.csv\" { rows = " + old + "(csv(\"a.csv\")) }\n    }\n  }\n  grade {}\n}"
		def, diags := competitions.Parse([]byte(text), "case", fstest.MapFS{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		found := slices.ContainsFunc(Check(def), func(d *hcl.Diagnostic) bool {
			return d.Summary == "Unknown verb "+old && d.Detail == "It is called "+now+" now." && d.Subject.Start.Line == 8
		})
		if !found {
			t.Errorf("%s: no error names %s: %v", old, now, Check(def))
		}
	}
}
