package sched

import (
	"context"
	"fmt"
	"testing"
	"time"
)

func nothing(context.Context, Lease) error { return nil }

// layered are tasks like a pipeline's: each comes after up to three tasks
// shortly before it.
func layered(n int, change func(i int, t *Task)) []Task {
	tasks := make([]Task, n)
	for i := range tasks {
		tasks[i] = Task{Name: "task", Weight: time.Duration(i % 17), Needs: Resources{CPUs: 1}, Do: nothing}
		for _, back := range []int{1, 7, 130} {
			// Ten chains, so that some tasks can run at the same time.
			if j := i - 10*back; j >= 0 {
				tasks[i].After = append(tasks[i].After, j)
			}
		}
		change(i, &tasks[i])
	}
	return tasks
}

func BenchmarkRun(b *testing.B) {
	cases := []struct {
		name   string
		change func(i int, t *Task)
	}{
		{"run", func(int, *Task) {}},
		{"done", func(_ int, t *Task) {
			t.Resolve = func(context.Context) (Resolution, error) { return Resolution{Done: true}, nil }
		}},
		{"resolved-and-run", func(i int, t *Task) {
			key := fmt.Sprint(i)
			t.Resolve = func(context.Context) (Resolution, error) { return Resolution{Key: key}, nil }
		}},
		{"each-its-own-request", func(i int, t *Task) { t.Needs.MemoryBytes = int64(i) }},
		{"independent", func(_ int, t *Task) { t.After = nil }},
		{"independent-each-its-own-request", func(i int, t *Task) { t.After, t.Needs.MemoryBytes = nil, int64(i) }},
	}
	for _, c := range cases {
		for _, n := range []int{1_000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/tasks=%d", c.name, n), func(b *testing.B) {
				tasks := layered(n, c.change)
				b.ReportAllocs()
				for b.Loop() {
					s, err := Run(b.Context(), tasks, Options{Capacity: Capacity{CPUs: 8}})
					if err != nil || s.count(Done)+s.count(Ran) != n {
						b.Fatal(s, err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/task")
			})
		}
	}
}
