package results_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/competitions/results"
	"github.com/mleflow/mleflow/engine/step"
)

// TestBenchmark never takes two sets or rules for one.
func TestBenchmark(t *testing.T) {
	folder := fstest.MapFS{}
	for _, id := range []string{"a", "b"} {
		folder[id+"/competition.hcl"] = &fstest.MapFile{Data: []byte(`competition "` + id + `" {
  title       = "X"
  category    = "x"
  complexity  = "low"
  description = "X."
  answers     = "private/test.csv"
  sample      = "public/sample_submission.csv"
  prepare {}
  grade { metric = "accuracy" }
}`)}
	}
	catalog, err := competitions.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	of := func(name, rule string, ids ...string) step.Benchmark {
		return step.Benchmark{Name: name, Competitions: ids, Aggregate: rule}
	}
	run := func(list ...step.Benchmark) results.Declared {
		return results.Declared{Run: "r", Benchmarks: list}
	}
	ab, ba, elo, one := of("x", "mean_rank", "a", "b"), of("y", "mean_rank", "b", "a"), of("x", "elo", "a", "b"), of("x", "mean_rank", "a")
	const mixed = "which are not mixed"
	for name, c := range map[string]struct {
		runs      []results.Declared
		ask, want string
	}{
		"none":            {[]results.Declared{run(), run()}, "", ""},
		"one":             {[]results.Declared{run(ab)}, "", "mean_rank over a, b"},
		"the same":        {[]results.Declared{run(ab), run(ba)}, "", "mean_rank over a, b"},
		"other rules":     {[]results.Declared{run(ab), run(elo)}, "", mixed},
		"other sets":      {[]results.Declared{run(ab), run(one)}, "", mixed},
		"one has none":    {[]results.Declared{run(ab), run()}, "", mixed},
		"several":         {[]results.Declared{run(ab, ba)}, "", "has several benchmarks; choose one with --benchmark: x, y"},
		"of several":      {[]results.Declared{run(ab, ba)}, "y", "mean_rank over a, b"},
		"asked":           {[]results.Declared{run(ab), run()}, "x", "mean_rank over a, b"},
		"asked, differs":  {[]results.Declared{run(ab), run(elo)}, "x", mixed},
		"asked, unknown":  {[]results.Declared{run(ab)}, "z", `no run has a benchmark "z"; there are x.`},
		"asked, nothing":  {[]results.Declared{run()}, "z", "there are none"},
		"another catalog": {[]results.Declared{run(of("x", "elo", "gone"))}, "", `benchmark x of run r: no competition "gone"`},
	} {
		b, err := results.Benchmark(c.runs, c.ask, catalog)
		got := ""
		if err != nil {
			got = err.Error()
		} else if b != nil {
			got = b.Identity()
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
	if b, err := run(ab, ba).Only(catalog); b != nil || err != nil {
		t.Errorf("%v, %v", b, err)
	}
}
