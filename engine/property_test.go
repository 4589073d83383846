package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/enginetest"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
)

// bench is a cache and what was executed on it.
type bench struct {
	cache *memory.Cache
	rec   *enginetest.Recorder
	// actions are those of the last apply, by address.
	actions map[string]digest.ActionID
}

func newBench() *bench {
	return &bench{cache: memory.New(), rec: &enginetest.Recorder{}, actions: map[string]digest.ActionID{}}
}

// load parses a pipeline with the given versions of the kinds.
func (b *bench) load(t *testing.T, src string, versions map[string]int) (*engine.Engine, *engine.Program) {
	t.Helper()
	var kinds []step.Kind
	for _, name := range []string{"alpha", "beta"} {
		kinds = append(kinds, enginetest.Mix(name, fmt.Sprint(versions[name]), b.rec))
	}
	e := engine.New(engine.Options{Options: config.Options{Kinds: step.NewRegistry(kinds...), Version: "0.1.0"}, Cache: b.cache, Capacity: sched.Capacity{CPUs: 4}})
	p, diags := e.Parse("test.hcl", []byte(src), config.Inputs{})
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, src)
	}
	return e, p
}

// TestPlanEqualsApply edits random pipelines and checks after every edit that
// what ran is exactly what the plan predicted and what an independent model
// says must run.
func TestPlanEqualsApply(t *testing.T) {
	sizes := []int{3, 10, 30, 100, 300, 1000}
	edits := []int{60, 160, 160, 100, 50, 30} // 560 in all
	for s, size := range sizes {
		t.Run(fmt.Sprintf("instances=%d", size), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(uint64(size), 7))
			for done := 0; done < edits[s]; {
				done += editsOfOne(t, rng, size, min(20, edits[s]-done))
			}
		})
	}
}

// editsOfOne makes n edits to one random pipeline.
func editsOfOne(t *testing.T, rng *rand.Rand, size, n int) int {
	b, m := newBench(), enginetest.NewModel(rng, size)
	var past []enginetest.Instance
	for i := range n {
		what := "first apply"
		if i > 0 {
			what = m.Edit()
		}
		if i > 0 && rng.IntN(5) == 0 {
			what += b.evict(m, rng, past)
		}
		past = b.check(t, rng, m, what)
	}
	return n
}

// force chooses a few instances to force, now and then. Each of their actions runs once.
func force(t *testing.T, rng *rand.Rand, all []enginetest.Instance) (forced map[string]string, list []addr.Instance) {
	forced = map[string]string{}
	if rng.IntN(4) > 0 {
		return forced, nil
	}
	for range 1 + rng.IntN(3) {
		inst := all[rng.IntN(len(all))]
		forced[inst.Address] = inst.Action()
		list = append(list, addressOf(t, inst.Address)...)
	}
	return forced, list
}

// evict drops the records of a few instances of the last apply.
func (b *bench) evict(m *enginetest.Model, rng *rand.Rand, past []enginetest.Instance) string {
	for range 1 + rng.IntN(3) {
		inst := past[rng.IntN(len(past))]
		b.cache.Evict(b.actions[inst.Address], "quota")
		m.Forget(inst)
	}
	return " and evictions"
}

func (b *bench) check(t *testing.T, rng *rand.Rand, m *enginetest.Model, what string) []enginetest.Instance {
	t.Helper()
	want := m.Apply()
	forced, list := force(t, rng, want)
	if len(list) > 0 {
		what += fmt.Sprintf(", %v forced", list)
	}
	options := engine.PlanOptions{Force: list}
	e, p := b.load(t, m.HCL(), m.Versions())
	pl, diags := e.Plan(context.Background(), p, options)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	e, p = b.load(t, m.HCL(), m.Versions())
	var finished []event.StepFinished
	res, diags := e.Apply(context.Background(), p, engine.ApplyOptions{PlanOptions: options, Sink: event.SinkFunc(func(ev event.Event) {
		if f, ok := ev.(event.StepFinished); ok {
			finished = append(finished, f)
			b.actions[f.Address], _ = digest.ParseActionID(f.Action)
		}
	})})
	if diags.HasErrors() || res.Status != event.Ran {
		t.Fatalf("%s: apply: %v %+v", what, diags, res)
	}
	b.compare(t, what, pl, finished, want, forced)
	return want
}

func (b *bench) compare(t *testing.T, what string, pl *plan.Plan, finished []event.StepFinished, want []enginetest.Instance, forced map[string]string) {
	t.Helper()
	ran := b.rec.Ran()
	executed := map[string]bool{}
	for _, address := range ran {
		if executed[address] {
			t.Fatalf("%s: %s ran twice", what, address)
		}
		executed[address] = true
	}
	// Where several deferred instances turn out to be the same action, any one
	// of them may be the one that runs it.
	mustRun := map[string]int{}
	for _, inst := range want {
		if inst.Runs {
			mustRun[inst.Action()]++
		}
	}
	// A forced step runs, unless it was decided late and another step with the same
	// action had used the earlier result by then.
	may := map[string]bool{}
	for i := range pl.Steps {
		action := forced[pl.Steps[i].Name]
		switch {
		case action == "" || mustRun[action] > 0 && !may[action]:
		case pl.Steps[i].Action == plan.Deferred:
			may[action] = true
			mustRun[action] = 1
		default:
			may[action] = false
			mustRun[action] = 1
		}
	}
	for _, inst := range want {
		if executed[inst.Address] {
			mustRun[inst.Action()]--
		}
	}
	for action, n := range mustRun {
		if n != 0 && !(n == 1 && may[action]) {
			t.Fatalf("%s: action %q ran %d times too few\nran %s", what, action, n, strings.Join(ran, " "))
		}
	}
	for i := range pl.Steps {
		s := &pl.Steps[i]
		if s.Action == plan.Run && !executed[s.Name] || s.Action == plan.Cached && executed[s.Name] {
			t.Fatalf("%s: %s was planned as %s; it ran: %v", what, s.Name, s.Action, executed[s.Name])
		}
		if s.Action == plan.Run && len(s.Reasons) == 0 {
			t.Fatalf("%s: %s runs without a reason", what, s.Name)
		}
	}
	if len(pl.Steps) != len(want) || len(finished) != len(want) {
		t.Fatalf("%s: %d planned and %d finished, want %d", what, len(pl.Steps), len(finished), len(want))
	}
	for _, f := range finished {
		if (f.Status == event.Ran) != executed[f.Address] {
			t.Fatalf("%s: %s was reported as %s; it ran: %v", what, f.Address, f.Status, executed[f.Address])
		}
	}
	slices.Sort(ran)
}
