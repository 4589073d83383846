package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const spec = `# a comment
size SCALE 0.1 1
run go test -bench A ./a
column time | ms-cpu | ms
column times | x-ninja
row no-op, 1,500 steps | Noop | ms-cpu <= 50 | x-ninja >= 2.4
row first | First/large
row new | New
wait do nothing | Noop | ms-cpu | make | First/large | ms-cpu
wait do something | First/large | ms-cpu
chart ninja | x-ninja
`

const printed = `date: 2026-11-23
took: 5s
machine: 2 cores of a processor
load: 0.1, 1.2
size: SCALE=1
versions: mleflow 1
BenchmarkNoop-2   	       5	  10 ns/op	 50.04 ms-cpu	 4.5 x-ninja
BenchmarkFirst/large-2 	 1	 12345.6 ms-cpu	 0.0421 x-ninja
before date: 2026-11-22
before machine: 2 cores of a processor
before size: SCALE=1
before BenchmarkNoop-4 	 1	 158 ms-cpu	 4.4 x-ninja
`

const rendered = `<a id="x"></a>

|  | time | times | aim |
|---|---:|---:|---|
| no-op, 1,500 steps | **50.0 ms** (158 ms) | 4.50 | time ≤ 50 ms: missed<br>times ≥ 2.4: reached |
| first | 12,346 ms | 0.0421 |  |
| new | – | – |  |

From ` + "`go test -bench A ./a` with `SCALE=1`" + `, the full size, in 5s; 2026-11-23, load average 0.1, 1.2; mleflow 1. In bold: more than a fifth away from the run before.
`

const firstPage = `| what a user waits for | mleflow | another program | times less |
|---|---:|---:|---:|
| do nothing | 50.0 ms | make: 12.3 s | 247 |
| do something | 12.3 s | – | – |

![how many times faster or leaner mleflow is than each of the others](docs/bench.svg)

1 of the 2 aims that these sizes can judge are reached. Missed, with the reason on the page behind the link:

| table | | measured | aim |
|---|---|---:|---|
| [x](docs/benchmarks.md#x) | no-op, 1,500 steps | **50.0 ms** (158 ms) | time ≤ 50 ms |

Measured on 2 cores of a processor, in 5s.
`

func specified(t *testing.T) table {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.table")
	if err := os.WriteFile(file, []byte(spec), 0o644); err != nil {
		t.Fatal(err)
	}
	tab, err := readTable(file)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestMarkdown(t *testing.T) {
	tab := specified(t)
	if got := tab.markdown(parseResults(printed)); got != rendered {
		t.Errorf("got\n%s", got)
	}
	// Figures of another machine or size are no drift.
	for old, now := range map[string]string{
		"before machine: 2":    "The run before was on another machine.",
		"before size: SCALE=1": "The run before was at another size.",
	} {
		got := tab.markdown(parseResults(strings.Replace(printed, old, old+"0", 1)))
		if strings.Contains(got, "**") || !strings.Contains(got, now) {
			t.Errorf("got\n%s", got)
		}
	}
	// An aim holds at the full size.
	small := strings.Replace(printed, "\nsize: SCALE=1", "\nsize: SCALE=0.1", 1)
	if got := tab.markdown(parseResults(small)); strings.Contains(got, "missed") || !strings.Contains(got, "a small size") {
		t.Errorf("got\n%s", got)
	}
	all := map[string]results{"x": parseResults(printed)}
	if svg := string(draw([]table{tab}, all)); strings.Count(svg, "<rect") != 4 {
		t.Errorf("got\n%s", svg)
	}
	if got := summary([]table{tab}, all); got != firstPage {
		t.Errorf("got\n%s", got)
	}
	all["x"] = parseResults(small)
	if got := summary([]table{tab}, all); !strings.Contains(got, "| do nothing (small size) | 50.0 ms |") || !strings.Contains(got, "0 of the 0 aims") {
		t.Errorf("got\n%s", got)
	}
}

func TestEnvironment(t *testing.T) {
	tab := specified(t)
	for full, want := range map[bool]string{false: "SCALE=0.1", true: "SCALE=1"} {
		if got := tab.environment(full); !slices.Equal(got, []string{want}) {
			t.Errorf("full %v: %v", full, got)
		}
	}
	t.Setenv("SCALE", "3")
	if got := tab.environment(true); !slices.Equal(got, []string{"SCALE=3"}) {
		t.Errorf("got %v", got)
	}
}

func TestWrongLines(t *testing.T) {
	for _, line := range []string{"row a", "wait a | B", "wait a | B | ms | other | C", "row a | B | ms >= 1", "column a", "rows a | B", "size A 1", "named"} {
		var tab table
		if word, rest, _ := strings.Cut(line, " "); tab.add(word, rest) {
			t.Errorf("%q is taken for a line", line)
		}
	}
}

// The page shows what the results say: every table once, and all rows of what
// was measured.
func TestPage(t *testing.T) {
	t.Chdir("../../../../..")
	tables, err := readTables()
	if err != nil || len(tables) == 0 {
		t.Fatal(err, tables)
	}
	all, err := readResults(tables)
	if err != nil {
		t.Fatal(err)
	}
	const render = "; run: go run ./cmd/mleflow/internal/dev/benchreport -render"
	text := map[string]string{front: read(t, front), page: read(t, page)}
	shown := func(page, mark, with string) {
		if want, err := replace([]byte(text[page]), mark, with); err != nil || string(want) != text[page] {
			t.Errorf("%s: %q is not followed by what the results say (%v)%s", page, mark, err, render)
		}
	}
	for _, tab := range tables {
		r := all[tab.name]
		shown(page, mark(tab.name), tab.markdown(r))
		for _, row := range tab.rows {
			known := func(c column) bool { _, ok := r.now.figures[row.benchmark][c.unit]; return ok }
			if !slices.ContainsFunc(tab.columns, known) && !r.empty() {
				t.Errorf("table %s: the last run gave nothing for %q, %s", tab.name, row.text, row.benchmark)
			}
		}
	}
	for _, tab := range tables {
		for _, w := range tab.waits {
			if tab.waited(w, all[tab.name]) == "" {
				t.Errorf("table %s: the last run gave nothing for %q", tab.name, w.text)
			}
		}
	}
	shown(front, overview, summary(tables, all))
	if svg, _ := os.ReadFile(picture); string(svg) != string(draw(tables, all)) {
		t.Errorf("%s is not what the results say%s", picture, render)
	}
	for _, found := range marks.FindAllStringSubmatch(text[page], -1) {
		if !slices.ContainsFunc(tables, func(tab table) bool { return tab.name == found[1] }) {
			t.Errorf("%s has a place for a table %s, which is not in %s", page, found[1], folder)
		}
	}
}

var marks = regexp.MustCompile(`<!-- bench (.*) -->`)

// measurement is a number with a unit of time, memory or rate, or a ratio.
var measurement = regexp.MustCompile(`[0-9](\s|-)?([nµm]?s|seconds?|minutes?|hours?|[KMGT]i?B|%|×|[a-z]+/s|/s|times)\b|[0-9]\s?[%×]`)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Between the tables, the pages have no figures: nothing would renew them.
func TestNoFiguresInProse(t *testing.T) {
	generated := regexp.MustCompile(`(?s)(<!-- bench [^>]* -->|` + strings.TrimSpace(overview) + `).*?` + endMark)
	for _, page := range []string{front, page} {
		prose := generated.ReplaceAllString(read(t, "../../../../../"+page), "")
		for line := range strings.Lines(prose) {
			if found := measurement.FindString(line); found != "" {
				t.Errorf("%s: %q is a figure outside of a table: %s", page, found, line)
			}
		}
	}
	for _, figure := range []string{"0.5 ms", "12s", "3 seconds", "42 MiB", "313 MB/s", "100 files/s", "45 %", "2.4 times", "3 ×", "1.6×"} {
		if !measurement.MatchString(figure) {
			t.Errorf("%q is not taken for a figure", figure)
		}
	}
	for _, plain := range []string{"1,500 steps", "two times", "Python 3.11", "SCALE=1", "100 sentences", "3D mAP"} {
		if measurement.MatchString(plain) {
			t.Errorf("%q is taken for a figure", plain)
		}
	}
}
