package engine

import (
	"testing"
	"time"

	"github.com/mleflow/mleflow/engine/addr"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
)

// expecting returns the expectation for a pipeline that prepares once, solves
// three times and grades each: of a solve the run history knows one.
func expecting(c sched.Capacity, parallelism int) *expectation {
	e := &Engine{}
	e.opts.Capacity = c
	pl := &planned{}
	add := func(kind string, millis int64, after ...int) {
		n := &node{
			Instance: &config.Instance{Addr: addr.Single(addr.Step{Kind: kind, Name: "x"}), Limits: step.Limits{CPUs: 2}},
			at:       len(pl.nodes), plan: &plan.Step{Action: plan.Deferred, ExpectedMillis: millis},
		}
		for _, a := range after {
			n.after = append(n.after, pl.nodes[a])
		}
		pl.nodes = append(pl.nodes, n)
	}
	add("prepare", 10_000)
	for _, known := range []int64{60_000, 0, 0} {
		add("solve", known, 0)
	}
	for n := range 3 {
		add("grade", 0, 1+n)
	}
	return newExpectation(&run{e: e, pl: pl, opts: ApplyOptions{Parallelism: parallelism}})
}

func TestExpectation(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := func(x *expectation, left time.Duration, unknown int) {
		t.Helper()
		got, n, ok := x.left(at)
		if got != left || n != unknown || !ok {
			t.Errorf("%v and %d unknown (%v), want %v and %d", got, n, ok, left, unknown)
		}
	}
	// Without limits the chain decides: prepare, solve, and a grade of which
	// nothing is known. Solves that never ran take what the known one took.
	x := expecting(sched.Capacity{}, 0)
	want(x, 70*time.Second, 3)
	// One after the other, and two at a time by processors.
	want(expecting(sched.Capacity{}, 1), 190*time.Second, 3)
	want(expecting(sched.Capacity{CPUs: 4}, 0), 95*time.Second, 3)
	// A step that runs has less to go, and one that is late none.
	x.start(x.r.pl.nodes[0], at)
	at = at.Add(4 * time.Second)
	want(x, 66*time.Second, 3)
	at = at.Add(time.Minute)
	want(x, 60*time.Second, 3)
	x.end(x.r.pl.nodes[0], 64*time.Second)
	// What others of the block took in this run goes before the run history.
	x.start(x.r.pl.nodes[1], at)
	x.end(x.r.pl.nodes[1], 20*time.Second)
	want(x, 20*time.Second, 3)
	x.end(x.r.pl.nodes[4], 3*time.Second)
	want(x, 23*time.Second, 0)
}

func TestNothingIsExpectedOfTheUnknown(t *testing.T) {
	x := expecting(sched.Capacity{}, 0)
	for _, n := range x.r.pl.nodes {
		n.plan.ExpectedMillis = 0
	}
	x = newExpectation(x.r)
	if left, unknown, ok := x.left(time.Now()); ok || unknown != 7 || left != 0 {
		t.Errorf("%v, %d, %v", left, unknown, ok)
	}
}
