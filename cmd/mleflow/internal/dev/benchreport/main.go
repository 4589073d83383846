// Command benchreport runs the benchmarks that BENCHMARKS.md has tables of and
// writes these tables and their picture again. From the root of the checkout:
//
//	go run ./cmd/mleflow/internal/dev/benchreport [-render] [-full] [TABLE...]
//
// A table is the file .ci/bench-report/NAME.table, in lines of a word and what it
// is about:
//
//	named WHY                            run only when it is named: "it" and this is said instead of figures
//	size VARIABLE USUAL FULL             sets a variable of the environment, unless it is set
//	run COMMAND                          prints lines of go test -bench; several add up
//	versions COMMAND                     prints the versions of others
//	column HEAD | UNIT [| SUFFIX]        a metric, by the unit in these lines
//	row TEXT | BENCHMARK [| UNIT >= N]…  a benchmark, without "Benchmark" and "-2", and its aims (>= or <=)
//	chart TITLE | UNIT                   draws this metric, a ratio to others, in docs/bench.svg
//
// What the run printed goes into NAME.txt next to it, with machine, load, sizes and
// versions (lines of the output that begin with "versions:"), and the figures of
// the run before. The page shows the table between "<!-- bench NAME -->" and
// "<!-- end -->", and machines, aims and the picture after "<!-- overview -->".
// Figures that moved by more than a fifth are shown with what they were, if machine
// and sizes are the same. -render only writes the page again.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	folder   = ".ci/bench-report"
	page     = "BENCHMARKS.md"
	picture  = "docs/bench.svg"
	overview = "<!-- overview -->\n"
)

func main() {
	render := flag.Bool("render", false, "do not run benchmarks, only write the page and the picture again")
	full := flag.Bool("full", false, "run at the full sizes")
	flag.Parse()
	if err := run(flag.Args(), *render, *full); err != nil {
		fmt.Fprintln(os.Stderr, "benchreport:", err)
		os.Exit(1)
	}
}

// run measures the tables that are asked for and writes page and picture. A table
// that fails keeps its former results and does not keep the others from running.
func run(only []string, render, full bool) error {
	tables, err := readTables()
	if err != nil {
		return err
	}
	for _, name := range only {
		if !slices.ContainsFunc(tables, func(t table) bool { return t.name == name }) {
			return fmt.Errorf("there is no table %s in %s", name, folder)
		}
	}
	var failed []error
	program := version()
	for _, t := range tables {
		if !render && (slices.Contains(only, t.name) || len(only) == 0 && t.named == "") {
			if err := measure(t, program, full); err != nil {
				failed = append(failed, fmt.Errorf("table %s: %w", t.name, err))
			}
		}
	}
	return errors.Join(append(failed, write(tables))...)
}

// write writes the page and the picture.
func write(tables []table) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	all, err := readResults(tables)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if text, err = replace(text, mark(t.name), t.markdown(all[t.name])); err != nil {
			return err
		}
	}
	if text, err = replace(text, overview, summary(tables, all)); err != nil {
		return err
	}
	if err := os.WriteFile(picture, draw(tables, all), 0o644); err != nil {
		return err
	}
	return os.WriteFile(page, text, 0o644)
}

// readTables reads all tables, in the order of the page.
func readTables() (tables []table, err error) {
	files, err := filepath.Glob(folder + "/*.table")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		t, err := readTable(file)
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	place := func(t table) int { return bytes.Index(text, []byte(mark(t.name))) }
	slices.SortStableFunc(tables, func(a, b table) int { return place(a) - place(b) })
	return tables, nil
}

// readResults reads what was measured, by table. There may be nothing of a table
// that is run only when it is named.
func readResults(tables []table) (map[string]results, error) {
	all := map[string]results{}
	for _, t := range tables {
		raw, err := os.ReadFile(resultsOf(t.name))
		if err != nil && t.named == "" {
			return nil, fmt.Errorf("table %s was never measured: %w", t.name, err)
		}
		all[t.name] = parseResults(string(raw))
	}
	return all, nil
}

func resultsOf(name string) string { return filepath.Join(folder, name+".txt") }

const endMark = "<!-- end -->"

func mark(name string) string { return "<!-- bench " + name + " -->\n" }

// replace puts a text between its mark and the next end.
func replace(text []byte, mark, with string) ([]byte, error) {
	before, rest, found := strings.Cut(string(text), mark)
	_, after, ended := strings.Cut(rest, endMark)
	if !found || !ended {
		return nil, fmt.Errorf("%s has no place for a table: write %q and %q into it", page, mark, endMark)
	}
	return []byte(before + mark + with + endMark + after), nil
}
