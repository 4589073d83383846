package prep_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/prep"
	"github.com/mleflow/mleflow/plugins/data/transform"
)

// verbCases are expressions and what pandas gives for the same thing; made by
// testdata/verbs/make.py with the versions that the file names.
type verbCases struct {
	Versions map[string]string
	Raw      map[string]string
	Binary   map[string][]byte
	Base64   map[string][]byte // raw files that are not text
	Cases    []verbCase
}

// verbCase is an expression and what it gives: the text of a CSV file, or of a
// JSON file.
type verbCase struct {
	Name, Expr, Want string
	JSON             bool
}

// define returns a definition with the given prepare block.
func define(t *testing.T, prepare string) *competitions.Definition {
	t.Helper()
	text := fmt.Sprintf(`competition "case" {
  title = "case"
  complexity = "demo"
  description = "case"
  answers = "private/test.csv"
  sample = "public/sample.csv"
  medals { scores = [1] }
  grade {}
  prepare {
%s
  }
}`, prepare)
	def, diags := competitions.Parse([]byte(text), "case", fstest.MapFS{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return def
}

func rawFiles(files map[string]string) fstest.MapFS {
	raw := fstest.MapFS{}
	for name, text := range files {
		raw[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return raw
}

// TestVerbsAgainstPandas evaluates the expressions of every file of cases; what
// is expected comes from pandas, numpy, scikit-learn or Python.
func TestVerbsAgainstPandas(t *testing.T) {
	paths, err := filepath.Glob("testdata/verbs/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases (%v)", err)
	}
	used := strings.Builder{}
	for _, path := range paths {
		var file verbCases
		readJSON(t, path, &file)
		verbsAgainstPandas(t, file, &used)
	}
	for _, v := range transform.Verbs() {
		if !strings.Contains(used.String(), v.Name+"(") && !testedElsewhere[v.Name] {
			t.Errorf("verb %s has no case", v.Name)
		}
	}
}

func verbsAgainstPandas(t *testing.T, file verbCases, used *strings.Builder) {
	t.Helper()
	raw := rawFiles(file.Raw)
	for name, data := range file.Binary {
		raw[name] = &fstest.MapFile{Data: data}
	}
	for name, data := range file.Base64 {
		raw[name] = &fstest.MapFile{Data: data}
	}
	for _, c := range file.Cases {
		used.WriteString(c.Expr + "\n")
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			output := "table \"out\" {\n rows = " + c.Expr
			if c.JSON {
				output = "json \"out\" {\n value = " + c.Expr
			}
			def := define(t, "public {\n"+output+"\n }\n}")
			out := prepare(t, def, prep.Options{Raw: raw})
			got, err := os.ReadFile(filepath.Join(out, "public", "out"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.Want, string(got)); diff != "" {
				t.Errorf("%s (-%v +got):\n%s", c.Expr, file.Versions, diff)
			}
		})
	}
}

// testedElsewhere are verbs whose result is no table, or whose input is no
// text: the golden cases of competitions use them.
var testedElsewhere = map[string]bool{
	"npy": true, "column": true, "tfrecord_texts": true, "pixels": true, "json_lines": true, "names_of": true, "list": true,
}
