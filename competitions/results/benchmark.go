package results

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/board"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// Declared are the benchmarks that the pipeline of a run declares.
type Declared struct {
	Run        string
	Benchmarks []step.Benchmark
}

// Benchmark is the one by which the attempts of runs are on one board: that of a name or,
// without a name, the only one of each run, which must be the same. It is nil if no run has
// one. Sets and rules are never mixed: then the error says which there are.
func Benchmark(runs []Declared, name string, catalog *competitions.Catalog) (*board.Benchmark, error) {
	var found []board.Benchmark
	var texts, names []string
	for _, run := range runs {
		one, err := run.choose(name, catalog)
		if err != nil {
			return nil, err
		}
		names = append(names, lists.Of(run.Benchmarks, func(b step.Benchmark) string { return b.Name })...)
		switch {
		case one != nil:
			found, texts = append(found, *one), append(texts, fmt.Sprintf("run %s by %s", run.Run, one))
		case name == "":
			texts = append(texts, fmt.Sprintf("run %s by no benchmark", run.Run))
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch {
	case len(found) == 0 && name != "":
		return nil, fmt.Errorf("no run has a benchmark %q; there are %s.%s", name, cmp.Or(plain.List(names), "none"), diag.DidYouMean(name, names))
	case len(found) == 0:
		return nil, nil
	}
	differ := slices.ContainsFunc(found, func(b board.Benchmark) bool { return b.Identity() != found[0].Identity() })
	if differ || len(found) < len(texts) {
		return nil, fmt.Errorf("the runs are ranked over different sets or by different rules, which are not mixed: %s; name one with --benchmark, or show one run at a time", plain.List(texts))
	}
	return &found[0], nil
}

// Only is the benchmark of a run, where a surface cannot ask for a name: nil if it has none,
// or several.
func (d Declared) Only(catalog *competitions.Catalog) (*board.Benchmark, error) {
	if len(d.Benchmarks) != 1 {
		return nil, nil
	}
	return d.choose("", catalog)
}

// choose is the benchmark of a name or, without a name, the only one; nil without such.
func (d Declared) choose(name string, catalog *competitions.Catalog) (*board.Benchmark, error) {
	list := lists.Where(d.Benchmarks, func(b step.Benchmark) bool { return name == "" || b.Name == name })
	if len(list) == 0 {
		return nil, nil
	}
	if len(list) > 1 {
		return nil, fmt.Errorf("the pipeline of run %s has several benchmarks; choose one with --benchmark: %s", d.Run, plain.List(lists.Of(list, func(b step.Benchmark) string { return b.Name })))
	}
	b, _, err := board.NewBenchmark(list[0], catalog)
	if err != nil {
		return nil, fmt.Errorf("benchmark %s of run %s: %w", list[0].Name, d.Run, err)
	}
	return &b, nil
}
