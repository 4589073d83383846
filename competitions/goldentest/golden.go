// Package goldentest opens the golden cases for tests: one for each competition, with a
// miniature raw data set, submissions, and what the reference's preparer and grader
// (openai/mle-bench at the commit that the definitions name) made of them, with pandas
// 1.5.3, numpy 1.24.2 and scikit-learn 1.2.1 made to behave as pandas 2.2 and
// scikit-learn 1.5.
package goldentest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/plugins/transfer/archive"
)

const ending = ".tar.zst"

// folder finds the cases in the module that the test belongs to.
func folder(t testing.TB) string {
	t.Helper()
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, "competitions", "testdata", "golden")
		}
		if filepath.Dir(root) == root {
			t.Fatal("no go.mod above the test")
		}
		root = filepath.Dir(root)
	}
}

// IDs returns the competitions that have a case, in order: all that are shipped with the
// reference.
func IDs(t testing.TB) (ids []string) {
	t.Helper()
	cases, err := filepath.Glob(filepath.Join(folder(t), "*"+ending))
	if err != nil || len(cases) < 82 {
		t.Fatalf("%d golden cases (%v)", len(cases), err)
	}
	for _, path := range cases {
		ids = append(ids, strings.TrimSuffix(filepath.Base(path), ending))
	}
	return ids
}

// Unpack unpacks a competition's case into a folder of the test and returns the case's:
// raw/, prepared/, submissions/, prepared.json and expected.json.
func Unpack(t testing.TB, id string) string {
	t.Helper()
	f, err := os.Open(filepath.Join(folder(t), id+ending))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	src := archive.Source{ReaderAt: f, Size: info.Size()}
	if err := archive.Unpack(t.Context(), src, archive.TarZstd, archive.DefaultLimits(), dir); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, id)
}

// AllParams returns the file of the sizes that the cases scale down: names and values by
// competition, as JSON.
func AllParams(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder(t), "params.json"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Params returns the sizes that a competition's case scales down.
func Params(t testing.TB, id string) map[string]cty.Value {
	t.Helper()
	var all map[string]map[string]string
	if err := json.Unmarshal(AllParams(t), &all); err != nil {
		t.Fatal(err)
	}
	out := map[string]cty.Value{}
	for name, value := range all[id] {
		out[name] = cty.StringVal(value)
	}
	return out
}
