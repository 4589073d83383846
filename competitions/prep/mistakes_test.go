package prep_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/competitions/prep"
)

// TestMistakes runs broken prepare blocks: each is a diagnostic with a place,
// and nothing is published.
func TestMistakes(t *testing.T) {
	raw := rawFiles(map[string]string{
		"a.csv": "id,label\n1,x\n2,\n3,z\n", "bad.csv": "a,b\n1,2,3\n4,5,6,7\n", "bad.json": "{\n \"a\": }", "x/1.txt": "one", "text.zip": "no zip",
		"long.csv": "id,label\n" + strings.Repeat("1,x\n", 300_000),
	})
	tests := []struct{ name, block, want string }{
		{"unknown column", `table "o.csv" { rows = csv("a.csv").labl }`, "No column labl; Did you mean label?"},
		{"unknown verb", `table "o.csv" { rows = cvs("a.csv") }`, "Unknown verb cvs; Did you mean csv?"},
		{"unknown local", `table "o.csv" { rows = nothing }`, "Unknown name nothing"},
		{"unknown root", `table "o.csv" { rows = loc.x }`, "Unknown name loc"},
		{"wrong argument", `table "o.csv" { rows = drop("a.csv", "x") }`, "Wrong argument rows of drop; expected a table, a column or a list, not a string."},
		{"unknown option", `table "o.csv" { rows = csv("a.csv", { seperator = ";" }) }`, `no option "seperator". Did you mean separator?`},
		{"wrong option", `table "o.csv" { rows = sample(csv("a.csv"), { count = "many" }) }`, "option count: expected a number"},
		{"missing file", `table "o.csv" { rows = csv("none.csv") }`, "Cannot csv; csv: open none.csv"},
		{"ragged file", `table "o.csv" { rows = csv("bad.csv") }`, "bad.csv"},
		{"broken JSON", `json "o.json" { value = json("bad.json") }`, "line 2"},
		{"split too large", `table "o.csv" { rows = train_test_split(csv("a.csv"), { test_size = 3 }).test }`, "Cannot train_test_split"},
		{"lengths differ", `table "o.csv" { rows = assign(csv("a.csv"), { n = head(csv("a.csv").id, 1) }) }`, `column "n" has 1 rows, the table has 3`},
		{"template with a gap", `table "o.csv" { rows = table({ t = "<${csv("a.csv").label}>" }) }`, `column "label" is missing in row 1; use fillna first`},
		{"text arithmetic", `table "o.csv" { rows = table({ t = csv("a.csv").label + 1 }) }`, "works on numbers"},
		{"not a condition", `table "o.csv" { rows = filter(csv("a.csv"), csv("a.csv").id) }`, "it must have 3 booleans"},
		{"not a table", `table "o.csv" { rows = "x" }`, "expected a table, a column or a list, not a string"},
		{"file that is not there", `files "{id}.txt" { 
 from = "x/{id}.txt"
 each = csv("a.csv")
}`, "Cannot copy files; open x/"},
		{"path column", `files "{idd}.txt" {
 from = "x/{id}.txt"
 each = csv("a.csv")
}`, `no column "idd"`},
		{"path leaves", `files "{id}" {
 from = "../{id}"
 each = csv("a.csv")
}`, "is not a path inside the folder"},
		{"two sources", `files "same.txt" {
 from = "x/{id}.txt"
 each = csv("a.csv")
}`, "same.txt would be both x/1.txt (row 0) and x/2.txt (row 1)"},
		{"destination leaves", `copy "../o" { from = "x" }`, "is not a path inside the folder"},
		{"unknown output", `tabel "o.csv" { rows = 1 }`, "Unknown output tabel; Did you mean table?"},
		{"missing attribute", `table "o.csv" { }`, "Missing attribute rows"},
		{"bad quote", `table "o.csv" {
 rows = csv("a.csv")
 quote = "some"
}`, `write "minimal", "nonnumeric" or "all"`},
		{"failure while an earlier output is written", `archive "o.zip" {
 table "a.csv" { rows = csv("long.csv") }
}
table "b.csv" { rows = csv("none.csv") }`, "open none.csv"},
		{"bad archive", `archive "o.rar" {
 table "a" { rows = csv("a.csv") }
}`, `format "" is not one of`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { mistake(t, raw, tt.block, tt.want) })
	}
}

// mistake runs the outputs of a broken block and compares the diagnostic.
func mistake(t *testing.T, raw fs.FS, block, want string) {
	t.Helper()
	def := define(t, "public {\n"+block+"\n}")
	final := filepath.Join(t.TempDir(), "prepared")
	out, err := prep.NewFolder(final)
	if err != nil {
		t.Fatal(err)
	}
	err = prep.Run(context.Background(), def, prep.Options{Raw: raw, Out: out})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if err != nil && !strings.Contains(err.Error(), "case/competition.hcl:") {
		t.Errorf("no place: %v", err)
	}
	if err := out.Discard(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(final)); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestExtractMistakes(t *testing.T) {
	raw := rawFiles(map[string]string{"text.zip": "no zip"})
	for block, want := range map[string]string{
		`extract = ["none.zip"]`:           "Cannot unpack none.zip",
		`extract = ["text.zip"]`:           "not a readable archive",
		`extract = { "text.zip" = "../x"}`: "is not a relative folder",
		`extrac = []`:                      "Unknown attribute extrac; Did you mean extract?",
	} {
		err := prep.Run(context.Background(), define(t, block), prep.Options{Raw: raw, Work: t.TempDir()})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", block, err, want)
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	out, err := prep.NewFolder(filepath.Join(t.TempDir(), "prepared"))
	if err != nil {
		t.Fatal(err)
	}
	def := define(t, "public {\ntable \"o.csv\" { rows = csv(\"a.csv\") }\n}")
	if err := prep.Run(ctx, def, prep.Options{Raw: rawFiles(map[string]string{"a.csv": "id\n1\n"}), Out: out}); err == nil {
		t.Error("a cancelled run succeeded")
	}
	if err := out.Discard(); err != nil {
		t.Error(err)
	}
}
