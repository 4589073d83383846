package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache"
	"github.com/mleflow/mleflow/cache/digest"
	"github.com/mleflow/mleflow/cache/memory"
	"github.com/mleflow/mleflow/engine"
	"github.com/mleflow/mleflow/engine/config"
	"github.com/mleflow/mleflow/engine/event"
	"github.com/mleflow/mleflow/engine/history"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/engine/step"
)

// obedient is an attempt that lives until its context ends, and answers requests.
type obedient struct{}

func (obedient) Run(ctx context.Context, env *step.Env) (cache.Outputs, error) {
	env.Phase(step.Phase{Name: step.Running})
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case asked := <-env.Requests:
			asked.Answer("as you say", nil)
		}
	}
}

// BenchmarkSteer asks something of 100 of the live attempts of a run at once, while all
// processors are busy, until all have answered. It reports the slowest answer, and the part
// of one processor that the run uses while nobody asks. The run has a budget and a deadline.
func BenchmarkSteer(b *testing.B) {
	for _, n := range []int{100, 1_000} {
		b.Run(fmt.Sprintf("attempts=%d", n), func(b *testing.B) { steerBench(b, n) })
	}
}

func steerBench(b *testing.B, n int) {
	k := shaky(nil)
	k.Counted = func([]digest.Field) []string { return []string{"a", "b"} }
	k.New = func(step.Args) (step.Step, error) { return obedient{}, nil }
	h := history.New(b.TempDir())
	e := engine.New(engine.Options{
		Options: config.Options{Kinds: step.NewRegistry(k), Version: "0.1.0"},
		Cache:   memory.New(), History: h, Capacity: sched.Capacity{CPUs: float64(n)},
	})
	p, diags := e.Parse("bench.hcl", fmt.Appendf(nil, `
step "shaky" "a" {
  for_each = toset([for i in range(%d) : "x${i}"])
  text     = each.key
}`, n), config.Inputs{})
	if diags.HasErrors() {
		b.Fatal(diags)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	runs, live, answers := make(chan string, 1), make(chan bool, n), make(chan event.Steered, 100)
	sink := event.SinkFunc(func(e event.Event) {
		switch e := e.(type) {
		case event.RunStarted:
			runs <- e.Run
		case event.StepPhase:
			live <- true
		case event.Steered:
			answers <- e
		}
	})
	var running sync.WaitGroup
	running.Go(func() {
		if _, diags := e.Apply(ctx, p, engine.ApplyOptions{Parallelism: n, Sink: sink}); diags.HasErrors() {
			b.Error(diags)
		}
	})
	defer running.Wait()
	defer cancel(errors.New("the benchmark is over"))
	past, err := h.Open(<-runs)
	if err != nil {
		b.Error(err)
		return
	}
	for range n {
		<-live
	}
	// ask leaves requests and returns the time until the last answer.
	ask := func(list ...step.Request) time.Duration {
		began := time.Now()
		for _, r := range list {
			if _, err := past.Ask(r); err != nil {
				b.Error(err)
			}
		}
		for range list {
			if a := <-answers; a.Refused != "" {
				b.Error(a.Refused)
			}
		}
		return time.Since(began)
	}
	ask(step.Request{Act: step.SetBudget, Budget: 1e12}, step.Request{Act: step.SetDeadline, Until: time.Now().Add(24 * time.Hour)})

	runtime.GC()
	const idle = 20 * time.Second
	before := processorTime(b)
	time.Sleep(idle)
	used := processorTime(b) - before

	busy, rest := context.WithCancel(ctx)
	defer rest()
	for range runtime.NumCPU() {
		go func() {
			for busy.Err() == nil {
			}
		}()
	}
	asked := make([]step.Request, 100)
	for i := range asked {
		asked[i] = step.Request{Act: step.Extend, ByMillis: 1000, Address: fmt.Sprintf(`step.shaky.a["x%d"]`, i)}
	}
	var slowest time.Duration
	for b.Loop() {
		slowest = max(slowest, ask(asked...))
	}
	b.ReportMetric(slowest.Seconds(), "s-slowest")
	b.ReportMetric(100*used.Seconds()/idle.Seconds(), "%-idle")
}

// processorTime is what this process has used.
func processorTime(tb testing.TB) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
