// Command benchreport runs the benchmarks and writes their tables into
// docs/benchmarks.md, and what users wait for, the aims that are missed and a picture
// into BENCHMARKS.md. From the root of the checkout:
//
//	go run ./cmd/mleflow/internal/dev/benchreport [-render] [-full] [TABLE...]
//
// The file .ci/bench-report/NAME.table describes a table. Each of its lines begins
// with a word:
//
//	named WHY                            runs only by name; WHY follows "it" where figures would stand
//	size VARIABLE USUAL FULL             sets a variable of the environment, unless it is set
//	run COMMAND                          prints lines of go test -bench; several add up
//	versions COMMAND                     prints the versions of others
//	column HEAD | UNIT [| SUFFIX]        a metric, by the unit in these lines
//	row TEXT | BENCHMARK [| UNIT >= N]…  a benchmark, without "Benchmark" and "-2", and its aims (>= or <=)
//	chart TITLE | UNIT                   draws this metric, a ratio to others, in docs/bench.svg
//	wait TEXT | BENCHMARK | UNIT [| OTHER | BENCHMARK | UNIT]
//	                                     a time on the first page, and that of another program
//
// The figures go into NAME.txt beside it, with machine, load, sizes, versions (lines
// of the output that begin with "versions:") and the figures of the run before.
// docs/benchmarks.md shows the table between "<!-- bench NAME -->" and "<!-- end -->".
// A figure that moved by more than a fifth is shown with its former value, if machine
// and sizes are the same. -render only writes the two pages and the picture again.
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
	front    = "BENCHMARKS.md"
	page     = "docs/benchmarks.md"
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

// write writes the two pages and the picture.
func write(tables []table) error {
	all, err := readResults(tables)
	if err != nil {
		return err
	}
	shown := map[string]string{}
	for _, t := range tables {
		shown[mark(t.name)] = t.markdown(all[t.name])
	}
	if err := fill(page, shown); err != nil {
		return err
	}
	if err := fill(front, map[string]string{overview: summary(tables, all)}); err != nil {
		return err
	}
	return os.WriteFile(picture, draw(tables, all), 0o644)
}

// fill writes texts, by their marks, into a page.
func fill(page string, texts map[string]string) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	for mark, with := range texts {
		if text, err = replace(text, mark, with); err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
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
		return nil, fmt.Errorf("no place for a table: write %q and %q into the page", mark, endMark)
	}
	return []byte(before + mark + with + endMark + after), nil
}
