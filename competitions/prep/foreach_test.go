package prep_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/prep"
)

// parseForEach reads a definition with two parts and the given outputs.
func parseForEach(t *testing.T, public string) *competitions.Definition {
	t.Helper()
	text := `competition "case" {
  title       = "case"
  complexity  = "demo"
  description = "case"
  medals { scores = [1] }
  locals {
    parts = ["a", "b"]
    kinds = { x = "csv", y = "txt" }
  }
  prepare {
    locals { all = { a = csv("a.csv"), b = csv("b.csv") } }
    public {
` + public + `
    }
  }
  grade {}
}`
	def, diags := competitions.Parse([]byte(text), "case", fstest.MapFS{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return def
}

func TestForEach(t *testing.T) {
	def := parseForEach(t, `
      table "{each.key}_new.csv" {
        for_each = parts
        rows     = all[each.value]
      }
      text "{each.key}.{each.value}" {
        for_each = kinds
        lines    = ["${each.key} is ${each.value}"]
      }`)
	if diags := prep.Check(def); diags.HasErrors() {
		t.Fatal(diags)
	}
	outputs, diags := prep.Outputs(def)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var declared []string
	for _, o := range outputs {
		declared = append(declared, o.Path)
	}
	want := []string{"public/a_new.csv", "public/b_new.csv", "public/x.csv", "public/y.txt"}
	if diff := cmp.Diff(want, declared); diff != "" {
		t.Errorf("declared (-want +got):\n%s", diff)
	}
	out, err := prep.NewFolder(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	if err := prep.Run(t.Context(), def, prep.Options{Raw: rawFiles(map[string]string{"a.csv": "n\n1\n", "b.csv": "n\n2\n"}), Out: out}); err != nil {
		t.Fatal(err)
	}
}

func TestForEachMistakes(t *testing.T) {
	for _, tt := range []struct{ name, public, want string }{
		{"data", "for_each = all", "all is a local of the prepare block"},
		{"number", "for_each = 3", "Expected a list of strings or an object, not a number"},
		{"twice", `for_each = ["a", "a"]`, `"a" is there twice`},
		{"same destination", `for_each = parts`, "Duplicate output same.csv"},
		{"without", "", "each.key and each.value exist only in an output with for_each"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			label := "{each.key}.csv"
			if strings.HasPrefix(tt.want, "Duplicate output") {
				label = "same.csv"
			}
			diags := prep.Check(parseForEach(t, "table \""+label+"\" {\n"+tt.public+"\nrows = all[each.key]\n}"))
			if !strings.Contains(diags.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", diags, tt.want)
			}
		})
	}
}
