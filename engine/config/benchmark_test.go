package config

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/mleflow/mleflow/engine/step"
)

func benchmarks(t *testing.T, src string, check func(step.Benchmark) (string, error)) ([]step.Benchmark, string) {
	t.Helper()
	p, diags := Parse("p.hcl", []byte(src), Options{Kinds: step.NewRegistry(), Benchmark: check})
	if diags.HasErrors() {
		return nil, diags.Error()
	}
	values := map[string]cty.Value{}
	for name, v := range p.Variables {
		values[name] = v.marked(v.Default)
	}
	g, diags := p.Expand(values)
	if diags.HasErrors() {
		return nil, diags.Error()
	}
	return g.Benchmarks(), ""
}

// TestBenchmarks are values of the pipeline, and lists of it.
func TestBenchmarks(t *testing.T) {
	got, wrong := benchmarks(t, `
variable "rule" { default = "elo" }
locals { more = [for id in benchmark.b.competitions : id if id != "x"] }
benchmark "b" {
  competitions = ["x", "y"]
  aggregate    = var.rule
}
benchmark "a" {
  competitions = concat(local.more, ["z"])
  aggregate    = benchmark.b.aggregate
  best         = { z = 1.5 }
}`, nil)
	want := []step.Benchmark{{Name: "a", Competitions: []string{"y", "z"}, Aggregate: "elo", Best: map[string]float64{"z": 1.5}}, {Name: "b", Competitions: []string{"x", "y"}, Aggregate: "elo"}}
	if diff := cmp.Diff(want, got); wrong != "" || diff != "" {
		t.Error(wrong, diff)
	}
}

// TestWrongBenchmarks names the place and the mistake.
func TestWrongBenchmarks(t *testing.T) {
	for name, c := range map[string]struct{ src, want string }{
		"twice":      {`benchmark "b" {` + "\n competitions = []\n aggregate = \"elo\"\n}\n" + `benchmark "b" {` + "\n competitions = []\n aggregate = \"elo\"\n}", "Duplicate benchmark"},
		"no rule":    {"benchmark \"b\" {\n competitions = []\n}", "aggregate"},
		"number":     {"benchmark \"b\" {\n competitions = 3\n aggregate = \"elo\"\n}", "p.hcl:2,17-18"},
		"null":       {"benchmark \"b\" {\n competitions = [null]\n aggregate = \"elo\"\n}", "has a value that is null"},
		"null rule":  {"benchmark \"b\" {\n competitions = []\n aggregate = null\n}", "has a value that is null"},
		"itself":     {"benchmark \"b\" {\n competitions = benchmark.b.competitions\n aggregate = \"elo\"\n}", "ycle"},
		"sensitive":  {"variable \"s\" {\n default = \"x\"\n sensitive = true\n}\nbenchmark \"b\" {\n competitions = [var.s]\n aggregate = \"elo\"\n}", "Sensitive value in benchmark"},
		"undeclared": {"locals { x = benchmark.c }", "Declare it with: benchmark"},
		"argument":   {"benchmark \"b\" {\n competitions = []\n aggregate = \"elo\"\n rule = \"x\"\n}", "rule"},
		"checked":    {"benchmark \"b\" {\n competitions = [\"bad\"]\n aggregate = \"elo\"\n}", "p.hcl:2,17-24: Invalid benchmark; it is bad."},
	} {
		_, got := benchmarks(t, c.src, func(b step.Benchmark) (string, error) {
			if slices.Contains(b.Competitions, "bad") {
				return "competitions", errors.New("it is bad")
			}
			return "", nil
		})
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}
