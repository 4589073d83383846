package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const spec = `# a comment
run go test -bench A ./a
column time | ms-cpu | ms
column times | x-ninja
row no-op, 1,500 steps | Noop
row first | First/large
row new | New
chart times of ninja | x-ninja
`

const measured = `fact: 2026-11-23
fact: 2 cores of a processor
BenchmarkNoop-2   	       5	  10 ns/op	 50.04 ms-cpu	 4.5 x-ninja
BenchmarkFirst/large-2 	 1	 12345.6 ms-cpu	 0.0421 x-ninja
before: BenchmarkNoop-4 	 1	 158 ms-cpu	 4.4 x-ninja
`

const page1 = `| | time | times |
|---|---:|---:|
| no-op, 1,500 steps | **50.0 ms** (158 ms) | 4.50 |
| first | 12,346 ms | 0.0421 |
| new | – | – |

![times of ninja](docs/bench-engine.svg)

From one run of ` + "`go test -bench A ./a`" + `; 2026-11-23; 2 cores of a processor. In bold: more than a fifth away from the run before.
`

func TestMarkdown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.table")
	if err := os.WriteFile(file, []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	tab, err := readTable(file)
	if err != nil {
		t.Fatal(err)
	}
	r := parseResults(measured)
	if got := tab.markdown("engine", r); got != page1 {
		t.Errorf("got\n%s", got)
	}
	svg := string(tab.svg(r))
	if strings.Count(svg, "<rect") != 2 || !strings.Contains(svg, "times of ninja (logarithmic)") {
		t.Errorf("got\n%s", svg)
	}
}

// The page shows what the results say.
func TestPage(t *testing.T) {
	t.Chdir("../../../..")
	files, _ := filepath.Glob(folder + "/*.table")
	text, err := os.ReadFile(page)
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".table")
		tab, err := readTable(file)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(filepath.Join(folder, name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		r := parseResults(string(raw))
		want, err := replaceTable(text, name, tab.markdown(name, r))
		if err != nil || string(want) != string(text) {
			t.Errorf("the table %s is not what its results say (%v); run: go run ./cmd/mleflow/internal/benchreport -render", name, err)
		}
		if svg, _ := os.ReadFile(picture(name)); tab.chart.unit != "" && string(svg) != string(tab.svg(r)) {
			t.Errorf("the picture %s is not what its results say", picture(name))
		}
	}
}
