package sched

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A large request of high priority is not overtaken by small ones that want
// the same resource, but by those that do not.
func TestLargeRequestReserves(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Capacity = Capacity{CPUs: 4, MemoryBytes: 100, Devices: []string{"gpu0"}}
		first := l.add("first", 10*s, nil)
		first.Weight, first.Needs.CPUs = 100*s, 1
		large := l.add("large", 10*s, nil)
		large.Weight, large.Needs.CPUs = 50*s, 4
		for i := range 3 {
			l.add(fmt.Sprintf("small %d", i), s, nil).Needs.CPUs = 1
		}
		l.add("memory only", s, nil).Needs.MemoryBytes = 100
		l.add("gpu only", s, nil).Needs.GPUs = 1
		l.run(l.t.Context())
		l.want("0s start first", "0s start memory only", "0s start gpu only gpu0", l.log[3], l.log[4],
			"10s ran first", "10s start large", "20s ran large",
			"20s start small 0", "20s start small 1", "20s start small 2", l.log[11], l.log[12], l.log[13])
	})
}

// What a large request leaves free may be used meanwhile.
func TestReservationIsPartial(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Capacity.CPUs = 8
		l.add("first", 10*s, nil).Needs.CPUs = 3
		l.add("large", 10*s, nil).Needs.CPUs = 6
		l.add("fits with neither", 2*s, nil).Needs.CPUs = 1
		l.add("fits with neither", 3*s, nil).Needs.CPUs = 1
		l.run(l.t.Context())
		l.want("0s start first", "10s ran first", "10s start large", "10s start fits with neither", "10s start fits with neither",
			"12s ran fits with neither", "13s ran fits with neither", "20s ran large")
	})
}

func TestParallelism(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Parallelism = 2
		for i := range 3 {
			l.add(fmt.Sprint(i), time.Duration(i+1)*s, nil)
		}
		l.run(l.t.Context())
		l.want("0s start 0", "0s start 1", "1s ran 0", "1s start 2", "2s ran 1", "4s ran 2")
	})
}

func TestFractionsOfCPUs(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Capacity.CPUs = 0.3
		for i := range 4 { // 0.1 + 0.1 + 0.1 is more than 0.3 in floating point
			l.add(fmt.Sprint(i), time.Duration(i+1)*s, nil).Needs.CPUs = 0.1
		}
		l.run(l.t.Context())
		l.want("0s start 0", "0s start 1", "0s start 2", "1s ran 0", "1s start 3", "2s ran 1", "3s ran 2", "5s ran 3")
	})
}

func TestDevices(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Capacity.Devices = []string{"gpu0", "gpu1", "gpu2"}
		l.add("one", 1*s, nil).Needs.GPUs = 1
		l.add("two", 2*s, nil).Needs.GPUs = 2
		l.add("two more", 3*s, nil).Needs.GPUs = 2
		l.run(l.t.Context())
		l.want("0s start one gpu0", "0s start two gpu1 gpu2", "1s ran one", "2s ran two", "2s start two more gpu0 gpu1", "5s ran two more")
	})
}

func TestQueueOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	q, free := newQueue(), amounts{milliCPUs: unlimited, memory: unlimited, disk: unlimited}
	const n = 2000
	for _, r := range rnd.Perm(n) {
		q.push(r, amounts{memory: int64(rnd.IntN(20))})
	}
	var got []int
	q.dispatch(free, n/2, func(rank int) bool { got = append(got, rank); return true })
	for _, r := range rnd.Perm(n) {
		q.push(n+r, amounts{memory: int64(rnd.IntN(20))})
	}
	q.dispatch(free, 2*n, func(rank int) bool { got = append(got, rank); return true })
	want := make([]int, 2*n)
	for i := range want {
		want[i] = i
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
}

func TestCheck(t *testing.T) {
	c := Capacity{CPUs: 8, MemoryBytes: 16 << 30, DiskBytes: 1 << 40, Devices: []string{"nvidia.com/gpu=0"}}
	tests := []struct {
		name  string
		needs Resources
		want  string
	}{
		{"all there is", Resources{8, 16 << 30, 1 << 40, 1}, ""},
		{"nothing", Resources{}, ""},
		{"CPUs", Resources{CPUs: 36}, "x can never run on this machine: it needs 36 CPUs, this machine has 8"},
		{"memory", Resources{MemoryBytes: 440 << 30}, "x can never run on this machine: it needs 440 GiB of memory, this machine has 16 GiB"},
		{"disk", Resources{DiskBytes: 3 << 39}, "x can never run on this machine: it needs 1.5 TiB of disk, this machine has 1 TiB free"},
		{"GPUs", Resources{GPUs: 2}, "x can never run on this machine: it needs 2 GPUs, this machine has 1 (nvidia.com/gpu=0)"},
		{"several", Resources{CPUs: 8.5, GPUs: 2}, "x can never run on this machine: it needs 8.5 CPUs, this machine has 8; 2 GPUs, this machine has 1 (nvidia.com/gpu=0)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := c.Check("x", tt.needs); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("error %q, want %q", got, tt.want)
			}
		})
	}
	if err := (Capacity{}).Check("x", Resources{1000, 1 << 60, 1 << 60, 0}); err != nil {
		t.Errorf("unknown capacity: %v", err)
	}
	if err := Check([]Task{{Name: "x", Needs: Resources{CPUs: 9}}, {Name: "y"}}, c); err == nil {
		t.Error("Check found nothing")
	}
}

// watch observes a run of random tasks from inside and checks, at every
// moment, what must never be violated.
type watch struct {
	t     *testing.T
	mu    sync.Mutex
	tasks []Task
	c     Capacity
	free  amounts
	used  map[string]bool
	calls []int
	ok    []bool // ended well
}

func (w *watch) enter(i int, l Lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[i]++
	for _, a := range w.tasks[i].After {
		if !w.ok[a] {
			w.t.Errorf("task %d runs before task %d", i, a)
		}
	}
	need := amountsOf(w.tasks[i].Needs)
	if !need.fits(w.free) {
		w.t.Errorf("task %d needs %+v, free are %+v", i, need, w.free)
	}
	w.free.add(amounts{-need[0], -need[1], -need[2], -need[3]})
	if len(l.Devices) != int(need[gpus]) {
		w.t.Errorf("task %d has the devices %v, want %d", i, l.Devices, need[gpus])
	}
	for _, d := range l.Devices {
		if w.used[d] {
			w.t.Errorf("device %s has two tasks", d)
		}
		w.used[d] = true
	}
}

func (w *watch) leave(i int, l Lease, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.free.add(amountsOf(w.tasks[i].Needs))
	for _, d := range l.Devices {
		delete(w.used, d)
	}
	w.ok[i] = err == nil
}

// random makes tasks of which some are done, some fail, some are repeated.
func (w *watch) random(rnd *rand.Rand, n int) {
	w.tasks, w.calls, w.ok, w.used = make([]Task, n), make([]int, n), make([]bool, n), map[string]bool{}
	w.free = newPool(w.c, nil).free
	for i := range w.tasks {
		takes, fails, done := time.Duration(rnd.IntN(9))*s, rnd.IntN(25) == 0, rnd.IntN(4) == 0
		t := &w.tasks[i]
		*t = Task{Name: fmt.Sprint(i), Weight: takes, Retry: Retry{Tries: rnd.IntN(4)}}
		t.Needs = Resources{CPUs: float64(rnd.IntN(9)) / 2, MemoryBytes: int64(rnd.IntN(11)), GPUs: max(0, rnd.IntN(5)-2)}
		for range min(i, rnd.IntN(3)) {
			t.After = append(t.After, rnd.IntN(i))
		}
		t.Do = func(ctx context.Context, l Lease) (err error) {
			w.enter(i, l)
			defer func() { w.leave(i, l, err) }()
			select {
			case <-time.After(takes):
			case <-ctx.Done():
				return ctx.Err()
			}
			if fails {
				return errBad
			}
			return nil
		}
		if rnd.IntN(3) > 0 {
			t.Resolve = func(context.Context) (Resolution, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.ok[i] = done
				return Resolution{Done: done, Key: fmt.Sprint(i % 50)}, nil
			}
		}
	}
}

func TestRandomRuns(t *testing.T) {
	var total Summary
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			w := &watch{t: t, c: Capacity{CPUs: 4, MemoryBytes: 10, Devices: []string{"a", "b", "c"}}}
			w.random(rnd, 1+rnd.IntN(120))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if seed%5 == 0 {
				time.AfterFunc(time.Duration(rnd.IntN(40))*s, cancel)
			}
			ends := make([]int, len(w.tasks))
			sum, err := Run(ctx, w.tasks, Options{
				Capacity: w.c, Parallelism: rnd.IntN(5), KeepGoing: seed%2 == 0,
				Retryable: func(error) (time.Duration, bool) { return 0, true },
				OnEnd:     func(i int, _ Result) { ends[i]++ },
			})
			if err != nil {
				t.Fatal(err)
			}
			w.check(sum, ends, seed%2 == 0)
			total.Results = append(total.Results, sum.Results...)
		})
	}
	if total.count(Done) < 100 || total.count(Ran) < 100 || total.count(Failed) < 50 || total.count(Skipped) < 50 || total.count(Cancelled) < 50 {
		t.Errorf("the mix of ends tests too little: %d tasks", len(total.Results))
	}
}

// check checks how a run ended.
func (w *watch) check(sum *Summary, ends []int, keepGoing bool) {
	t := w.t
	for i, r := range sum.Results {
		if ends[i] != 1 {
			t.Errorf("task %d ended %d times", i, ends[i])
		}
		if r.Tries != w.calls[i] {
			t.Errorf("task %d: %d tries are reported, %d calls were made", i, r.Tries, w.calls[i])
		}
		failed := false
		for _, a := range w.tasks[i].After {
			st := sum.Results[a].Status
			failed = failed || st == Failed || st == Skipped
		}
		switch r.Status {
		case Skipped:
			if !failed || sum.Results[r.Cause].Status != Failed {
				t.Errorf("task %d is skipped for %d without need", i, r.Cause)
			}
		case Cancelled:
			if sum.Interrupted == nil && (keepGoing || sum.count(Failed) == 0) {
				t.Errorf("task %d is cancelled without need", i)
			}
		case Failed:
			if r.Err == nil {
				t.Errorf("task %d failed for no reason", i)
			}
		}
		if failed && r.Status != Skipped && r.Status != Cancelled {
			t.Errorf("task %d is %v after a failure", i, r.Status)
		}
	}
	if want := newPool(w.c, nil).free; w.free != want {
		t.Errorf("free at the end %+v, want %+v", w.free, want)
	}
}
