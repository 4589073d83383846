package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/engine/plan"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
)

// randomModel is a random graph; a chain or without edges on demand.
func randomModel(rng *rand.Rand, n int, edges float64) (m model) {
	for i := range n {
		var after []int
		for j := range i {
			if rng.Float64() < edges || edges > 1 && j == i-1 {
				after = append(after, j)
			}
		}
		if edges > 1 {
			after = after[max(0, len(after)-1):]
		}
		peak := int64(0)
		if rng.IntN(3) > 0 {
			peak = rng.Int64N(100)
		}
		est := step.Estimate{CacheBytes: rng.Int64N(100), PeakBytes: peak}
		m = append(m, modelled{&plan.Step{Name: fmt.Sprint(i), ExpectedMillis: rng.Int64N(5) + 1}, est, false, after})
	}
	return m
}

// worst looks at every state that any order and any durations can lead to: a
// set of steps that ended, closed under what comes before, and a set of at most
// parallel steps that run.
func (m model) worst(parallel int) (most int64) {
	n := len(m)
	for ended := range 1 << n {
		if !m.closed(ended) {
			continue
		}
		for running := range 1 << n {
			if running&ended != 0 || !m.mayRun(running, ended, parallel) {
				continue
			}
			var held int64
			for i := range n {
				if (ended|running)>>i&1 == 1 {
					held += m[i].CacheBytes
				}
				if running>>i&1 == 1 {
					held += m[i].PeakBytes
				}
			}
			most = max(most, held)
		}
	}
	return most
}

func (m model) closed(set int) bool {
	for i := range m {
		for _, a := range m[i].after {
			if set>>i&1 == 1 && set>>a&1 == 0 {
				return false
			}
		}
	}
	return true
}

func (m model) mayRun(running, ended, parallel int) bool {
	count := 0
	for i := range m {
		if running>>i&1 == 0 {
			continue
		}
		count++
		for _, a := range m[i].after {
			if ended>>a&1 == 0 {
				return false
			}
		}
	}
	return count <= parallel
}

// TestBoundAgainstAllStates compares the bound with the worst of all states of
// random small graphs. It is never below, and equal for chains and for steps
// that do not depend on each other.
func TestBoundAgainstAllStates(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	var over, sum int64
	for round := range 400 {
		n := 1 + rng.IntN(6)
		edges := []float64{0, 0.2, 0.5, 2}[round%4]
		m := randomModel(rng, n, edges)
		graph, err := m.graph()
		if err != nil {
			t.Fatal(err)
		}
		var total int64
		for i := range m {
			total += m[i].CacheBytes
		}
		for parallel := 1; parallel <= n; parallel++ {
			worst := m.worst(parallel)
			bound, _ := m.bound(graph, total, parallel)
			exact := edges == 0 || edges > 1 && parallel == 1
			if bound < worst || exact && bound != worst {
				t.Fatalf("round %d, %d at a time: bound %d, worst state %d\n%+v", round, parallel, bound, worst, m)
			}
			over, sum = over+bound-worst, sum+worst
		}
	}
	if over*10 > sum {
		t.Errorf("the bound is %.1f %% above the worst states on average", 100*float64(over)/float64(sum))
	}
}

// TestOrderIsTheSchedulers runs random graphs on the real scheduler, one at a
// time, and compares the order and what is held.
func TestOrderIsTheSchedulers(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 7))
	for range 50 {
		m := randomModel(rng, 1+rng.IntN(30), 0.1)
		graph, err := m.graph()
		if err != nil {
			t.Fatal(err)
		}
		var want []plan.Held
		var held int64
		tasks := make([]sched.Task, len(m))
		for i := range tasks {
			tasks[i] = task(m, i, &want, &held)
		}
		if _, err := sched.Run(t.Context(), tasks, sched.Options{Parallelism: 1}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, m.order(graph)); diff != "" {
			t.Fatalf("order (-scheduler +forecast):\n%s", diff)
		}
		if total := want[len(want)-1].Bytes; len(want) == len(m) && held != total-m[slices.IndexFunc(m, func(s modelled) bool { return s.Name == want[len(want)-1].Name })].PeakBytes {
			t.Errorf("held %d in the end", held)
		}
	}
}

// task is a step of the model that notes what is held while it runs.
func task(m model, i int, order *[]plan.Held, held *int64) sched.Task {
	return sched.Task{
		Name: m[i].Name, After: m[i].after, Weight: time.Duration(m[i].ExpectedMillis) * time.Millisecond,
		Do: func(context.Context, sched.Lease) error {
			*held += m[i].CacheBytes
			if m[i].CacheBytes+m[i].PeakBytes > 0 {
				*order = append(*order, plan.Held{Name: m[i].Name, Bytes: *held + m[i].PeakBytes})
			}
			return nil
		},
	}
}
