package competitions

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestBlockExamples parses the example of every block, which must have each of its
// attributes; every block and every attribute of a source is documented.
func TestBlockExamples(t *testing.T) {
	named := map[string]bool{"locals": true, "prepare": true, "grade": true, "lint": true} // which other pages have
	for _, b := range BlockDocs() {
		named[b.Name] = true
		facts := "title = \"x\"\ndescription = \"x\"\ncomplexity = \"low\"\n"
		if b.Name == "competition" {
			facts = ""
		}
		files := fstest.MapFS{"labels.csv": {Data: []byte("id\n1\n")}, "python/prepare.py": {Data: []byte("def prepare(raw, public, private):\n")}, "python/grade.py": {Data: []byte("def grade(submission, answers):\n")}}
		if _, diags := Parse([]byte("competition \"x\" {\n"+facts+b.Example+"\nprepare {}\ngrade {}\n}\n"), "x", files); diags.HasErrors() {
			t.Errorf("%s: %v", b.Name, diags)
		}
		for _, a := range b.Attributes {
			if found, _ := regexp.MatchString(`(?m)(^|[ #])`+a[0]+` += `, b.Example); !found || !strings.HasSuffix(a[1], ".") {
				t.Errorf("%s: attribute %s is not in the example, or its meaning is no sentence", b.Name, a[0])
			}
		}
	}
	for name := range competitionBlocks {
		if !named[name] {
			t.Errorf("block %s is not documented", name)
		}
	}
	for kind, attrs := range sourceKinds {
		for _, a := range attrs {
			if !slices.Contains(attributesOf("source"), a) {
				t.Errorf("source %s: attribute %s is not documented", kind, a)
			}
		}
	}
}
