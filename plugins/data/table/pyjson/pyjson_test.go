package pyjson

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var vectorFile = flag.String("vectors", "testdata/python.jsonl", "answers of Python to compare with")

// TestPython compares with Python's json. The file's first line says how it
// was made.
func TestPython(t *testing.T) {
	for i, c := range pythonCases(t) {
		var got [2]string
		if v, err := Parse([]byte(c.In)); err == nil {
			got[0] = written(v, Style{})
			got[1] = written(v, Style{Indent: 2, SortKeys: true})
		}
		if diff := cmp.Diff([2]string(c.Load[:2]), got); diff != "" {
			t.Errorf("line %d: %q: -want +got\n%s", i+2, c.In, diff)
		}
	}
}

type pythonCase struct {
	In   string
	Load [3]string // by default; indented and sorted; compact, which nobody writes
}

func pythonCases(t *testing.T) []pythonCase {
	f, err := os.Open(*vectorFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []pythonCase
	for s := bufio.NewScanner(f); s.Scan(); {
		var c pythonCase
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases[1:]
}

func written(v Value, s Style) string {
	var b strings.Builder
	_ = Write(&b, v, s)
	return b.String()
}
