package dialect

import (
	"slices"
	"strings"
	"testing"
)

// TestTables reads the tables: no name is twice in an object, every shape is used, and abilities
// and tools are those that there are.
func TestTables(t *testing.T) {
	abilities := map[string]bool{"": true}
	for _, a := range Abilities() {
		abilities[string(a.Ability)] = true
	}
	var phrases, values []string
	for _, d := range dialects() {
		file, err := tables.ReadFile(d.name + ".jsonc")
		if err != nil {
			t.Fatal(err)
		}
		doc, err := parse(comment.Regexp().ReplaceAll(file, nil))
		if err != nil {
			t.Fatalf("%s.jsonc: %v", d.name, err)
		}
		for i := range doc.nodes {
			if doc.nodes[i].keyEnd > 0 {
				phrases = append(phrases, doc.name(i))
			}
			values = append(values, doc.text(i)) // "" of what is no string
		}
		for _, e := range d.Guarded {
			if !abilities[string(e.Ability)] || e.Ability == "" || e.Operation != "raw" {
				t.Errorf("%s: endpoint %+v", d.name, e)
			}
		}
	}
	for _, phrase := range append(phrases, values...) {
		words := strings.Fields(phrase)
		if len(words) < 2 || !slices.Contains([]string{"needs", "offers", "words"}, words[0]) {
			continue
		}
		if !abilities[words[1]] || words[0] == "offers" && !slices.Contains(Tools(), Tool(words[2])) {
			t.Errorf("%q", phrase)
		}
	}
	for _, d := range dialects() {
		for operations, r := range d.Reports {
			if readers[r.Reader] == nil {
				t.Errorf("%s: the report %q names the reader %q, which readers lacks", d.name, operations, r.Reader)
			}
		}
		for name := range d.Shapes {
			if !slices.Contains(values, name) {
				t.Errorf("the shape %s is not used", name)
			}
		}
	}
}
