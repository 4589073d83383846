// Command benchreport runs the benchmarks that BENCHMARKS.md has tables of and
// writes these tables and their pictures again. From the root of the checkout:
//
//	go run ./cmd/mleflow/internal/benchreport [-render] [TABLE...]
//
// A table is the file .ci/bench-report/NAME.table, in lines of a word and what it
// is about:
//
//	run COMMAND                     prints lines of go test -bench; several add up
//	column HEAD | UNIT [| SUFFIX]   a metric, by the unit in these lines
//	row TEXT | BENCHMARK            a benchmark, without "Benchmark" and "-2"
//	chart TITLE | UNIT              also draws this metric, docs/bench-NAME.svg
//
// What the run printed goes into NAME.txt next to it, with machine, load and
// versions (lines of the output that begin with "versions:"), and the figures of
// the run before. The page shows the table between "<!-- bench NAME -->" and
// "<!-- end -->"; figures that moved by more than a fifth are shown with what
// they were. -render only writes the page again.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	folder = ".ci/bench-report"
	page   = "BENCHMARKS.md"
)

func main() {
	render := flag.Bool("render", false, "do not run benchmarks, only write the page and the pictures again")
	flag.Parse()
	if err := run(flag.Args(), *render); err != nil {
		fmt.Fprintln(os.Stderr, "benchreport:", err)
		os.Exit(1)
	}
}

func run(only []string, render bool) error {
	files, err := filepath.Glob(folder + "/*.table")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".table")
		t, err := readTable(file)
		if err != nil {
			return err
		}
		if !render && (len(only) == 0 || slices.Contains(only, name)) {
			if err := measure(t, name); err != nil {
				return err
			}
		}
		raw, err := os.ReadFile(filepath.Join(folder, name+".txt"))
		if err != nil {
			return fmt.Errorf("table %s was never measured: %w", name, err)
		}
		r := parseResults(string(raw))
		if text, err = replaceTable(text, name, t.markdown(name, r)); err != nil {
			return err
		}
		if t.chart.unit != "" {
			if err := os.WriteFile(picture(name), t.svg(r), 0o644); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(page, text, 0o644)
}

func picture(name string) string { return "docs/bench-" + name + ".svg" }

// replaceTable puts a table between its marks.
func replaceTable(text []byte, name, table string) ([]byte, error) {
	before, rest, found := strings.Cut(string(text), "<!-- bench "+name+" -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end -->")
	if !found || !ended {
		return nil, fmt.Errorf("%s has no place for the table %s: write <!-- bench %s --> and <!-- end --> into it", page, name, name)
	}
	return []byte(before + "<!-- bench " + name + " -->\n" + table + "<!-- end -->" + after), nil
}
