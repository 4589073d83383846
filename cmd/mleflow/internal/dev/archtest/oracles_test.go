package archtest

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// notOracles are JSON files in testdata that no other program answered in.
var notOracles = []string{
	"cmd/mleflow/internal/view/testdata/events.jsonl",
	"competitions/testdata/golden/params.json",
	"competitions/testdata/thresholds.json",
	"plugins/models/dialect/testdata/clients.jsonl",
	"plugins/models/dialect/testdata/doors.jsonl",
}

// withoutScript are oracle files whose script was not kept: their header says
// in words how they were made. The list gets shorter, never longer.
var withoutScript = []string{
	"plugins/data/table/pyjson/testdata/python.jsonl",
	"plugins/data/table/testdata/pandas_csv.jsonl",
	"plugins/data/table/testdata/pandas_sort.jsonl",
}

// TestOraclesSayHowTheyWereMade looks at the head of each file in testdata that
// holds the answers of another program: the command that made it, with all of
// its arguments, the script beside it, and the versions of the libraries.
func TestOraclesSayHowTheyWereMade(t *testing.T) {
	const root = "../../../../.."
	found := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		if !strings.Contains(name, "/testdata/") || slices.Contains(notOracles, name) || !isJSON(name) {
			return nil
		}
		found++
		t.Run(name, func(t *testing.T) { checkOracle(t, path, slices.Contains(withoutScript, name)) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 20 {
		t.Errorf("found only %d files", found)
	}
}

func isJSON(name string) bool {
	return slices.Contains([]string{".json", ".jsonl"}, filepath.Ext(strings.TrimSuffix(name, ".gz")))
}

func checkOracle(t *testing.T, path string, scriptless bool) {
	var head struct {
		Command, How string
		MadeWith     json.RawMessage `json:"made_with"`
		Versions     json.RawMessage
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.NewDecoder(r).Decode(&head); err != nil { // of JSON lines the first
		t.Fatal(err)
	}
	if len(head.MadeWith)+len(head.Versions) < len(`"x 1"`) {
		t.Error(`neither "made_with" nor "versions" names the libraries and their versions`)
	}
	if scriptless {
		if len(head.How) < 40 {
			t.Errorf(`"how" is %q, want how it was made`, head.How)
		}
		return
	}
	words := strings.Fields(head.Command)
	if len(words) < 2 || words[0] != "python" {
		t.Fatalf(`"command" is %q, want python, a script of the same folder and its arguments`, head.Command)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), words[1])); err != nil {
		t.Errorf(`"command" names a script that is missing: %v`, err)
	}
}
