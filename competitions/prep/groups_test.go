package prep_test

import (
	"archive/zip"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions/prep"
)

// TestGroupMistakes asks that a mistake with groups, words or days is told with
// its row or column.
func TestGroupMistakes(t *testing.T) {
	raw := rawFiles(map[string]string{
		"a.csv":    "k,v,box,day\nx,1,a b,2020-01-01\ny,,a b c,2020-1-1\n",
		"gaps.csv": "k,box,day\nx,,\n",
	})
	for _, tt := range []struct{ name, rows, want string }{
		{"no column", `group_first(csv("a.csv"), ["k", "w"])`, `no column "w"`},
		{"join a missing cell", `group_join(csv("a.csv"), "k", "v", " ")`, `column "v" is missing in row 1; use fillna first`},
		{"join what is no column", `group_join(csv("a.csv"), "k", "w", " ")`, `no column "w"`},
		{"option", `group_first(csv("a.csv"), "k", { sorted = false })`, "no option \"sorted\". Did you mean sort?"},
		{"few rows", `sample_each(csv("a.csv"), "k", { count = 2 })`, "group x: sample: cannot draw 2 of 1 rows"},
		{"words too few", `explode_words(csv("a.csv"), "box", ["p", "q"])`, `row 1 of column "box" has 3 words, which is not a multiple of 2`},
		{"no names", `explode_words(csv("a.csv"), "box", [])`, "name at least one new column"},
		{"words missing", `explode_words(csv("gaps.csv"), "box", ["p"])`, `row 0 of column "box" is not a string`},
		{"words of numbers", `explode_words(csv("a.csv"), "v", ["p"])`, `row 0 of column "v" is not a string`},
		{"empty separator", `multi_hot(csv("a.csv"), "box", ["a"], "")`, "the separator is empty"},
		{"no date", `table({ d = date_ordinal(csv("a.csv").day) })`, `row 1 of column "day": "2020-1-1" is not a date such as 2020-09-22`},
		{"missing date", `table({ d = date_ordinal(csv("gaps.csv").day) })`, `row 0 of column "day" is missing`},
		{"seed", `table({ r = random_uniform(csv("a.csv"), 0, 1, { random_state = -1 }) })`, "random_state -1 is negative"},
		{"decimals", `table({ r = round(csv("a.csv").v, -1) })`, "decimals = -1 is not between 0 and 22"},
		{"round texts", `table({ r = round(csv("a.csv").k, 1) })`, `column "k" holds text cells, not numbers`},
		{"both sides", `join_on(csv("a.csv"), csv("a.csv"), ["k", "v"])`, `both tables have a column "box"`},
		{"fill a list", `fillna([1, 2], 0)`, "works on a column or a table"},
	} {
		t.Run(tt.name, func(t *testing.T) { mistake(t, raw, "table \"o.csv\" { rows = "+tt.rows+" }", tt.want) })
	}
}

// TestCopyWhole copies all raw data, except what is left out, next to other
// outputs and into an archive.
func TestCopyWhole(t *testing.T) {
	raw := rawFiles(map[string]string{"a.csv": "id\n1\n", "sub/b.txt": "b", "meta.zip": "no archive", "sub/meta.x": "m"})
	out := prepare(t, define(t, `public {
  copy "." {
    from   = "."
    except = ["meta*"]
  }
  table "t.csv" { rows = csv("a.csv") }
  archive "all.zip" {
    copy "." { from = "." }
  }
}`), prep.Options{Raw: raw})
	var got []string
	for name := range allSums(t, out) {
		got = append(got, name)
	}
	want := []string{"public/a.csv", "public/all.zip", "public/sub/b.txt", "public/t.csv"}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	z, err := zip.OpenReader(filepath.Join(out, "public", "all.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	got = nil
	for _, f := range z.File {
		if !f.FileInfo().IsDir() {
			got = append(got, f.Name)
		}
	}
	if diff := cmp.Diff([]string{"a.csv", "meta.zip", "sub/b.txt", "sub/meta.x"}, slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}
