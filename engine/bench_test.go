package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/enginetest"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
)

// chains is a pipeline of n chains of five steps and one that joins them.
func chains(n int) string {
	return fmt.Sprintf(`
locals { keys = toset([for i in range(%d) : "chain-${i}"]) }
step "alpha" "a" {
  for_each = local.keys
  text     = each.key
}
step "alpha" "b" {
  for_each = local.keys
  text     = "b"
  inputs   = [step.alpha.a[each.key].content]
}
step "beta" "c" {
  for_each = local.keys
  text     = "c"
  inputs   = [step.alpha.a[each.key].content, step.alpha.b[each.key].content]
}
step "beta" "d" {
  for_each = local.keys
  text     = "d ${each.key}"
  inputs   = [step.beta.c[each.key].content]
}
step "alpha" "e" {
  for_each = local.keys
  text     = "e"
  inputs   = [step.beta.d[each.key].content]
}
step "beta" "join" {
  text   = "join"
  inputs = values(step.alpha.e)[*].content
}
`, n)
}

func diskEngine(tb testing.TB, dir string) *engine.Engine {
	c, err := disk.Open(dir, disk.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.Close() })
	rec := &enginetest.Recorder{}
	return engine.New(engine.Options{
		Options: config.Options{Kinds: step.NewRegistry(enginetest.Mix("alpha", "1", rec), enginetest.Mix("beta", "1", rec)), Version: "0.1.0"},
		Cache:   c, History: history.New(dir + "/history"), Capacity: sched.Capacity{CPUs: float64(runtime.NumCPU())},
	})
}

func loadBench(tb testing.TB, e *engine.Engine, n int) *engine.Program {
	p, diags := e.Parse("bench.hcl", []byte(chains(n/5)), config.Inputs{})
	if diags.HasErrors() {
		tb.Fatal(diags)
	}
	return p
}

// BenchmarkPlanNew plans a pipeline that never ran: parse, expand, decide.
func BenchmarkPlanNew(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("instances=%d", n), func(b *testing.B) {
			e := diskEngine(b, b.TempDir())
			b.ReportAllocs()
			for b.Loop() {
				if _, diags := e.Plan(context.Background(), loadBench(b, e, n), engine.PlanOptions{}); diags.HasErrors() {
					b.Fatal(diags)
				}
			}
			reportHeap(b)
		})
	}
}

// BenchmarkPlanCached plans a pipeline of which everything is in the cache.
func BenchmarkPlanCached(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("instances=%d", n), func(b *testing.B) {
			e := diskEngine(b, b.TempDir())
			applyBench(b, e, n)
			b.ReportAllocs()
			for b.Loop() {
				pl, diags := e.Plan(context.Background(), loadBench(b, e, n), engine.PlanOptions{})
				if diags.HasErrors() || pl.Counts().Cached != len(pl.Steps) {
					b.Fatal(diags, pl.Counts())
				}
			}
			reportHeap(b)
		})
	}
}

// BenchmarkRunTrivial executes steps that do next to nothing, with the
// journal, the state and the disk cache: what is left is the overhead.
func BenchmarkRunTrivial(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("steps=%d", n), func(b *testing.B) {
			for b.Loop() {
				e := diskEngine(b, b.TempDir())
				applyBench(b, e, n)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/step")
		})
	}
}

func applyBench(b *testing.B, e *engine.Engine, n int) {
	res, diags := e.Apply(context.Background(), loadBench(b, e, n), engine.ApplyOptions{})
	if diags.HasErrors() || res.Status != event.Ran {
		b.Fatal(diags, res)
	}
}

func reportHeap(b *testing.B) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapSys)/(1<<20), "MiB-heap")
}
