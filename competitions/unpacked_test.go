package competitions_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
)

func TestUnpacked(t *testing.T) {
	tests := []struct {
		name, prepare, more string
		want                []string
	}{
		{"list", `extract = ["b.zip", "a.7z"]`, "", []string{"a.7z", "b.zip"}},
		{"object", `extract = { "sub/train.zip" = "train" }`, "", []string{"sub/train.zip"}},
		{"nothing", ``, "", nil},
		{"computed", `extract = [name]`, `locals { name = "a.zip" }`, nil},
		{"inside another", `extract = { "a.zip" = "x", "a.zip/b.zip" = "y" }`, "", []string{"a.zip"}},
		{"also copied", "extract = [\"a.zip\", \"b.zip\"]\npublic {\n copy \"c.zip\" { from = \"a.zip\" }\n}", "", []string{"b.zip"}},
		{"its folder copied", "extract = [\"sub/a.zip\", \"b.zip\"]\npublic {\n copy \"c\" { from = \"sub\" }\n}", "", []string{"b.zip"}},
		{"everything copied", "extract = [\"a.zip\"]\npublic {\n copy \"c\" { from = \".\" }\n}", "", nil},
		{"listed", "extract = [\"a.zip\", \"b.7z\"]\nlocals {\n all = files(\"*.zip\")\n}", "", []string{"b.7z"}},
		{"listed by a local", `extract = ["a.zip"]`, `locals { p = "a.???" }`, nil},
		{"put together", "extract = [\"a.zip\", \"b.7z\"]\nlocals {\n x = \"a\"\n all = files(\"${x}.zip\")\n}", "", []string{"b.7z"}},
		{"the destination only", "extract = [\"a.zip\"]\npublic {\n copy \"a.zip\" { from = \"other\" }\n}", "", []string{"a.zip"}},
		{"copied in another version", `extract = ["a.zip"]`, "errata \"v2\" {\n reason = \"n\"\n reference = \"r\"\n prepare {\n public {\n copy \"x\" { from = \"a.zip\" }\n }\n }\n}", nil},
		{"names from data", "extract = [\"a.zip\"]\npublic {\n files \"{n}\" {\n from = \"{n}\"\n each = csv(\"x.csv\")\n }\n}", "", []string{"a.zip"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			folder := fstest.MapFS{"toy/competition.hcl": {Data: []byte(`competition "toy" {
	  title       = "Toy"
	  complexity  = "demo"
	  description = "A toy."
	  answers     = "private/test.csv"
	  sample      = "public/sample_submission.csv"
	  ` + tt.more + `
	  prepare {
	  ` + strings.ReplaceAll(tt.prepare, "\n", "\n\t") + `
	  }
	  grade { metric = "accuracy" }
	  medals { scores = [1, 0.5] }
	}`)}}
			cat, err := competitions.Load(folder)
			if err != nil {
				t.Fatal(err)
			}
			def, err := cat.Get("toy")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, def.Unpacked()); diff != "" && len(tt.want)+len(def.Unpacked()) > 0 {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
