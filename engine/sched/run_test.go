package sched

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/cache/leaf/crash"
)

var errBad = errors.New("bad")

// lab runs tasks in fake time and notes what happens.
type lab struct {
	t     *testing.T
	o     Options
	tasks []Task
	// log has a line "<seconds> <what> <task>" for each call.
	log     []string
	start   time.Time
	changes chan Change
}

// add adds a task that takes a time and then returns an error.
func (l *lab) add(name string, takes time.Duration, err error, after ...int) *Task {
	l.tasks = append(l.tasks, Task{Name: name, After: after, Do: func(ctx context.Context, _ Lease) error {
		select {
		case <-time.After(takes):
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}})
	return &l.tasks[len(l.tasks)-1]
}

func (l *lab) note(format string, args ...any) {
	l.log = append(l.log, fmt.Sprintf("%v ", time.Since(l.start))+fmt.Sprintf(format, args...))
}

func (l *lab) run(ctx context.Context) *Summary {
	l.t.Helper()
	l.start = time.Now()
	l.o.OnStart = func(i int, le Lease) {
		l.note("start %s", strings.Join(append([]string{l.tasks[i].Name}, le.Devices...), " "))
	}
	l.o.OnRetry = func(i, try int, wait time.Duration, err error) {
		l.note("retry %s %d %v %v", l.tasks[i].Name, try, wait, err)
	}
	l.o.OnEnd = func(i int, r Result) {
		text := fmt.Sprintf("%v %s", r.Status, l.tasks[i].Name)
		if r.Status == Skipped {
			text += " for " + l.tasks[r.Cause].Name
		}
		l.note("%s", text)
	}
	s, err := Run(ctx, l.tasks, l.o)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

func (l *lab) want(lines ...string) {
	l.t.Helper()
	if d := cmp.Diff(lines, l.log); d != "" {
		l.t.Errorf("what happened (-want +got):\n%s", d)
	}
}

// scene runs a test in fake time.
func scene(t *testing.T, f func(l *lab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(&lab{t: t}) })
}

const s = time.Second

func TestLongestChainFirst(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Parallelism = 1
		l.add("short", s, nil).Weight = 1 * s
		l.add("long", s, nil).Weight = 5 * s
		l.add("head", s, nil).Weight = 1 * s
		l.add("tail", s, nil, 2).Weight = 6 * s
		l.add("short too", s, nil).Weight = 1 * s
		l.run(l.t.Context())
		l.want("0s start head", "1s ran head", "1s start tail", "2s ran tail", "2s start long", "3s ran long",
			"3s start short", "4s ran short", "4s start short too", "5s ran short too")
	})
}

// Without durations the number of tasks decides.
func TestLongestChainOfUnknowns(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Parallelism = 1
		l.add("alone", s, nil)
		l.add("first", s, nil)
		l.add("second", s, nil, 1)
		l.run(l.t.Context())
		l.want("0s start first", "1s ran first", "1s start alone", "2s ran alone", "2s start second", "3s ran second")
	})
}

// A grade starts when its agent has ended, though agents wait and hold all
// processors and slots.
func TestPromptFirst(t *testing.T) {
	const hour = 3600 * s
	scene(t, func(l *lab) {
		l.o.Parallelism, l.o.Capacity = 1, Capacity{CPUs: 1, MemoryBytes: 10}
		for i := range 3 {
			agent := l.add(fmt.Sprint("agent ", i), hour, nil)
			agent.Weight, agent.Needs = hour, Resources{CPUs: 1, MemoryBytes: 8}
			grade := l.add(fmt.Sprint("grade ", i), s, nil, 2*i)
			grade.Prompt, grade.Needs = true, Resources{CPUs: 1}
			grade.Resolve = func(context.Context) (Resolution, error) { return Resolution{}, nil }
		}
		l.run(l.t.Context())
		l.want("0s start agent 0", "1h0m0s ran agent 0", "1h0m0s start agent 1", "1h0m0s start grade 0", "1h0m1s ran grade 0",
			"2h0m0s ran agent 1", "2h0m0s start agent 2", "2h0m0s start grade 1", "2h0m1s ran grade 1",
			"3h0m0s ran agent 2", "3h0m0s start grade 2", "3h0m1s ran grade 2")
	})
	// What a grade lacks is kept free for it.
	scene(t, func(l *lab) {
		l.o.Capacity = Capacity{MemoryBytes: 10}
		for i := range 3 {
			l.add(fmt.Sprint("agent ", i), time.Duration(i+1)*hour, nil).Needs = Resources{MemoryBytes: 5}
		}
		grade := l.add("grade", s, nil)
		grade.Prompt, grade.Needs = true, Resources{MemoryBytes: 10}
		l.run(l.t.Context())
		l.want("0s start grade", "1s ran grade", "1s start agent 0", "1s start agent 1", "1h0m1s ran agent 0", "1h0m1s start agent 2", "2h0m1s ran agent 1", "4h0m1s ran agent 2")
	})
}

func TestFailureStops(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Capacity.CPUs = 2
		l.add("bad", 1*s, errBad).Needs.CPUs = 1
		l.add("running", 3*s, nil).Needs.CPUs = 1
		l.add("waiting", 1*s, nil).Needs.CPUs = 1
		l.add("after bad", 1*s, nil, 0)
		l.add("after running", 1*s, nil, 1)
		l.add("after both", 1*s, nil, 3, 4)
		sum := l.run(l.t.Context())
		l.want("0s start bad", "0s start running", "1s failed bad", "1s skipped after bad for bad",
			"1s skipped after both for bad", "1s cancelled waiting", "1s cancelled after running", "3s ran running")
		if sum.count(Failed) != 1 || sum.count(Ran) != 1 || sum.count(Skipped) != 2 || sum.count(Cancelled) != 2 || sum.Interrupted != nil {
			t.Errorf("summary %+v", sum)
		}
		if r := sum.Results[0]; r.Err != errBad || r.Tries != 1 || r.Ended.Sub(r.Started) != 1*s {
			t.Errorf("result %+v", r)
		}
	})
}

func TestKeepGoing(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Capacity.CPUs, l.o.KeepGoing = 1, true
		l.add("bad", 1*s, errBad).Needs.CPUs = 1
		l.add("good", 1*s, nil).Needs.CPUs = 1
		l.add("after bad", 1*s, nil, 0)
		l.add("worse", 1*s, errBad, 1)
		l.add("after both", 1*s, nil, 2, 3)
		l.add("after good", 2*s, nil, 1)
		l.run(l.t.Context())
		l.want("0s start bad", "1s failed bad", "1s skipped after bad for bad", "1s skipped after both for bad",
			"1s start good", "2s ran good", "2s start worse", "2s start after good", "3s failed worse", "4s ran after good")
	})
}

func TestRetry(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Retryable = func(err error) (time.Duration, bool) { return 0, err == errBad }
		l.o.Rand = func() float64 { return 0.5 } // a quarter off
		l.add("flaky", 1*s, errBad).Retry = Retry{Tries: 4, Base: 4 * s, Max: 10 * s}
		sum := l.run(l.t.Context())
		l.want("0s start flaky", "1s retry flaky 1 3s bad", "4s start flaky", "5s retry flaky 2 6s bad",
			"11s start flaky", "12s retry flaky 3 7.5s bad", "19.5s start flaky", "20.5s failed flaky")
		if r := sum.Results[0]; r.Tries != 4 || r.Err != errBad {
			t.Errorf("result %+v", r)
		}
	})
}

func TestRetryWaitsAsAsked(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Retryable = func(error) (time.Duration, bool) { return time.Minute, true }
		l.o.Capacity.CPUs = 1
		n := 0
		flaky := l.add("flaky", 0, nil)
		flaky.Retry, flaky.Needs.CPUs = Retry{Tries: 2}, 1
		flaky.Do = func(_ context.Context, le Lease) error {
			if n++; le.Try != n {
				t.Errorf("try %d, want %d", le.Try, n)
			}
			if n == 1 {
				return errBad
			}
			return nil
		}
		l.add("other", 90*s, nil).Needs.CPUs = 1 // takes the lease meanwhile
		l.run(l.t.Context())
		l.want("0s start flaky", "0s retry flaky 1 1m0s bad", "0s start other", "1m30s ran other",
			"1m30s start flaky", "1m30s ran flaky")
	})
}

// While tasks wait to be retried, the next one is told each minute.
func TestBackoffIsTold(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Retryable = func(error) (time.Duration, bool) { return 150 * time.Second, true }
		l.o.OnBackoff = func(i int, at time.Time) { l.note("%s waits until %v", l.tasks[i].Name, at.Sub(l.start)) }
		l.add("late", 10*s, errBad).Retry.Tries = 2
		l.add("early", 0, errBad).Retry.Tries = 2
		l.o.KeepGoing = true
		l.run(l.t.Context())
		l.want("0s start late", "0s start early", "0s retry early 1 2m30s bad", "10s retry late 1 2m30s bad", "1m10s early waits until 2m30s",
			"2m10s early waits until 2m30s", "2m30s start early", "2m30s failed early", "2m40s start late", "2m50s failed late")
	})
}

func TestNoRetry(t *testing.T) {
	yes := func(error) (time.Duration, bool) { return 0, true }
	no := func(error) (time.Duration, bool) { return 0, false }
	for name, o := range map[string]struct {
		retryable func(error) (time.Duration, bool)
		tries     int
	}{"not retryable": {no, 5}, "one try": {yes, 1}, "no policy": {yes, 0}, "nobody to say": {nil, 5}} {
		t.Run(name, func(t *testing.T) {
			scene(t, func(l *lab) {
				l.o.Retryable = o.retryable
				l.add("bad", s, errBad).Retry.Tries = o.tries
				l.run(l.t.Context())
				l.want("0s start bad", "1s failed bad")
			})
		})
	}
}

// While the run stops, a try that could be repeated is not.
func TestNoRetryWhileStopping(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Retryable = func(err error) (time.Duration, bool) { return 0, err != errBad }
		again := errors.New("again")
		l.add("backing off", 1*s, again).Retry = Retry{Tries: 3, Base: time.Hour}
		l.add("bad", 2*s, errBad)
		l.add("running", 3*s, again).Retry.Tries = 3
		l.o.Rand = func() float64 { return 0 }
		sum := l.run(l.t.Context())
		l.want("0s start backing off", "0s start bad", "0s start running", "1s retry backing off 1 1h0m0s again",
			"2s failed bad", "2s cancelled backing off", "3s cancelled running")
		for _, i := range []int{0, 2} {
			if r := sum.Results[i]; r.Err != again || r.Tries != 1 {
				t.Errorf("%s: result %+v does not say why it would have been repeated", l.tasks[i].Name, r)
			}
		}
	})
}

// What is done needs no resources, waits for no lease and is resolved when
// what it comes after has ended.
func TestDone(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Capacity.CPUs, l.o.Parallelism = 1, 1
		done := func(context.Context) (Resolution, error) { return Resolution{Done: true}, nil }
		l.add("running", 9*s, nil).Needs.CPUs = 1
		big := l.add("done", s, errBad)
		big.Needs, big.Resolve = Resources{CPUs: 100, GPUs: 8}, done
		l.add("done after", s, errBad, 1).Resolve = done
		l.add("after running", s, errBad, 0).Resolve = done
		l.run(l.t.Context())
		l.want("0s start running", "0s done done", "0s done done after", "9s ran running", "9s done after running")
	})
}

func TestResolveFails(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.KeepGoing = true
		l.add("broken", s, nil).Resolve = func(context.Context) (Resolution, error) { return Resolution{}, errBad }
		l.add("panics", s, nil).Resolve = func(context.Context) (Resolution, error) { panic("oops") }
		l.add("after", s, nil, 0)
		sum := l.run(l.t.Context())
		if sum.count(Failed) != 2 || sum.count(Skipped) != 1 || sum.Results[0].Err != errBad || sum.Results[0].Tries != 0 {
			t.Errorf("summary %+v", sum)
		}
		var p *crash.Error
		if err := sum.Results[1].Err; !errors.As(err, &p) || len(p.Stack) == 0 {
			t.Errorf("error %v", err)
		}
	})
}

func TestPanic(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.KeepGoing = true
		l.add("panics", 0, nil).Do = func(_ context.Context, l Lease) error { return []error{nil}[l.Try] }
		l.add("good", s, nil)
		if sum := l.run(l.t.Context()); sum.count(Ran) != 1 || sum.count(Failed) != 1 {
			t.Errorf("summary %+v", sum)
		}
	})
}

// Of tasks with the same key one runs, and the others find its result.
func TestSameKey(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want []string
	}{
		{"first succeeds", nil, []string{"0s start a", "5s ran a", "5s done b", "5s done c"}},
		{"first fails", errBad, []string{"0s start a", "5s failed a", "5s start b", "10s failed b", "10s start c", "15s failed c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			scene(t, func(l *lab) {
				l.o.KeepGoing, l.o.Resolvers = true, 1
				var cached atomic.Bool
				for _, name := range []string{"a", "b", "c"} {
					task := l.add(name, 0, nil)
					task.Do = func(context.Context, Lease) error {
						time.Sleep(5 * s)
						cached.Store(tt.err == nil)
						return tt.err
					}
					task.Resolve = func(context.Context) (Resolution, error) {
						return Resolution{Done: cached.Load(), Key: "same"}, nil
					}
				}
				l.run(l.t.Context())
				l.want(tt.want...)
			})
		})
	}
}

// A task that is known to run has its key before those that are resolved.
func TestKeyWithoutResolve(t *testing.T) {
	scene(t, func(l *lab) {
		var done atomic.Bool
		l.add("resolved", s, errBad).Resolve = func(context.Context) (Resolution, error) {
			return Resolution{Done: done.Load(), Key: "same"}, nil
		}
		known := l.add("known", 0, nil)
		known.Key = "same"
		known.Do = func(context.Context, Lease) error { time.Sleep(s); done.Store(true); return nil }
		l.add("known too", s, nil).Key = "same"
		l.run(l.t.Context())
		l.want("0s start known", "1s ran known", "1s start known too", "1s done resolved", "2s ran known too")
	})
}

func TestSameKeyWhileStopping(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Resolvers = 1
		for _, name := range []string{"a", "b"} {
			l.add(name, s, errBad).Resolve = func(context.Context) (Resolution, error) { return Resolution{Key: "same"}, nil }
		}
		l.run(l.t.Context())
		l.want("0s start a", "1s failed a", "1s cancelled b")
	})
}

func TestImpossibleTasks(t *testing.T) {
	tests := []struct {
		name  string
		tasks []Task
		want  string
	}{
		{"cycle", []Task{{Name: "a", After: []int{1}}, {Name: "b", After: []int{0}}}, "schedule tasks: number 0 comes after number 1, which is not before it"},
		{"no such task", []Task{{Name: "a", After: []int{3}}}, "schedule tasks: number 0 comes after number 3, which is not before it"},
		{"too large", []Task{{Name: "a", Needs: Resources{CPUs: 9}}, {Name: "b", Needs: Resources{GPUs: 1}}, {Name: "c"}},
			"schedule tasks: a can never run on this machine: it needs 9 CPUs, this machine has 8\n" +
				"b can never run on this machine: it needs 1 GPU, this machine has none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Run(t.Context(), tt.tasks, Options{Capacity: Capacity{CPUs: 8}})
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// A request that is too large matters only when the task must run.
func TestUnfitWhenResolved(t *testing.T) {
	scene(t, func(l *lab) {
		big := l.add("big", s, nil)
		big.Needs.GPUs = 3
		big.Resolve = func(context.Context) (Resolution, error) { return Resolution{}, nil }
		l.o.Capacity.Devices = []string{"gpu0", "gpu1"}
		sum := l.run(l.t.Context())
		want := "it can never run on this machine: it needs 3 GPUs, this machine has 2 (gpu0, gpu1)"
		var unfit *UnfitError
		if err := sum.Results[0].Err; !errors.As(err, &unfit) || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	})
}

func TestNoTasks(t *testing.T) {
	sum, err := Run(t.Context(), nil, Options{})
	if err != nil || len(sum.Results) != 0 {
		t.Errorf("%+v, %v", sum, err)
	}
}
