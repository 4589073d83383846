package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/engine/diag"
	"github.com/mleflow/mleflow/engine/step"
)

// benchmark reads a set of competitions with its rule:
//
//	benchmark "mine" {
//	  competitions = ["one", "two"]
//	  aggregate    = "mean_rank"
//	}
func (l *loader) benchmark(b *hcl.Block) {
	name := l.name("benchmark", b)
	content, _ := l.content(b, schemas[b.Type])
	m := newBlock(name, b.DefRange, content.Attributes)
	n := &node{root: "benchmark", name: name, at: m.Range, block: &m, exprs: m.expressions(), value: func(ev *evaluator) (cty.Value, diag.List) { return ev.benchmarkValue(&m) }}
	l.declare("benchmark", b.LabelRanges[0], n)
}

// benchmarkValue is the value of benchmark.NAME, of step.BenchmarkType.
func (ev *evaluator) benchmarkValue(b *Block) (cty.Value, diag.List) {
	attrs, diags := map[string]cty.Value{"name": cty.StringVal(b.Name)}, diag.List(nil)
	for name, ty := range step.BenchmarkType.AttributeTypes() {
		e := b.Args[name]
		switch {
		case name == "name":
		case e == nil:
			attrs[name] = cty.NullVal(ty)
		default:
			v, more := ev.stored("benchmark", name, e, ty, ev.scope([]hcl.Expression{e}))
			if attrs[name], diags = v, append(diags, more...); !more.HasErrors() && !whole(v) {
				diags = append(diags, diag.Error(e.Range(), "Invalid "+name, "%s has a value that is null. Leave it out.", name))
			}
		}
	}
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	v := cty.ObjectVal(attrs)
	if ev.pipeline.benchmark != nil {
		if arg, err := ev.pipeline.benchmark(decodeBenchmark(v)); err != nil {
			return v, diag.List{diag.Error(b.ArgRange(arg), "Invalid benchmark", "%s", diag.Sentence(err.Error()))}
		}
	}
	return v, nil
}

// whole reports whether a value and all in it are not null.
func whole(v cty.Value) bool {
	is := true
	_ = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		is = is && !v.IsNull()
		return is, nil
	})
	return is
}

func decodeBenchmark(v cty.Value) (b step.Benchmark) {
	if err := gocty.FromCtyValue(v, &b); err != nil {
		panic(err) // it is of BenchmarkType, and nothing in it is unknown
	}
	return b
}

// Benchmarks are the values of the benchmark blocks, by name.
func (g *Graph) Benchmarks() []step.Benchmark {
	g.mu.RLock()
	defer g.mu.RUnlock()
	values := g.eval.values["benchmark"]
	return lists.Of(g.Pipeline.Names("benchmark"), func(name string) step.Benchmark { return decodeBenchmark(values[name]) })
}
