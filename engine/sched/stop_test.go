package sched

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestTimeout(t *testing.T) {
	scene(t, func(l *lab) {
		l.add("slow", time.Hour, nil).Timeout = 90 * s
		l.add("quick", 89*s, errBad).Timeout = 90 * s
		l.o.KeepGoing = true
		sum := l.run(l.t.Context())
		l.want("0s start slow", "0s start quick", "1m29s failed quick", "1m30s failed slow")
		var timeout *timeoutError
		if err := sum.Results[0].Err; !errors.As(err, &timeout) || err.Error() != "timed out after 1m30s" {
			t.Errorf("error %v", err)
		}
		if err := sum.Results[1].Err; err != errBad {
			t.Errorf("error %v, want that of the task", err)
		}
	})
}

// TestTimeoutOutside stops the clock while a try waits for others, more
// than once, and lets it go on afterwards.
func TestTimeoutOutside(t *testing.T) {
	scene(t, func(l *lab) {
		var late error
		task := l.add("waits", 0, nil)
		task.Timeout = 10 * s
		task.Do = func(ctx context.Context, lease Lease) error {
			for range 3 {
				time.Sleep(3 * s)
				_ = lease.Outside(func() error { time.Sleep(time.Hour); return nil })
			}
			late = ctx.Err()
			<-ctx.Done()
			return context.Cause(ctx)
		}
		l.run(l.t.Context())
		l.want("0s start waits", "3h0m10s failed waits")
		if late != nil {
			t.Errorf("the time of waiting counted: %v", late)
		}
	})
}

// A step that has a result to give at its limit gives it.
func TestTimeoutWithResult(t *testing.T) {
	scene(t, func(l *lab) {
		task := l.add("harvest", 0, nil)
		task.Timeout = s
		task.Do = func(ctx context.Context, _ Lease) error { <-ctx.Done(); return nil }
		l.run(l.t.Context())
		l.want("0s start harvest", "1s ran harvest")
	})
}

func TestCancel(t *testing.T) {
	scene(t, func(l *lab) {
		stop := errors.New("interrupted by a person")
		ctx, cancel := context.WithCancelCause(l.t.Context())
		l.o.Capacity.CPUs = 2
		l.o.Retryable = func(error) (time.Duration, bool) { return 0, true }
		l.add("running", time.Hour, nil).Needs.CPUs = 1
		slow := l.add("slow to stop", 0, nil)
		slow.Needs.CPUs, slow.Retry.Tries = 1, 9
		slow.Do = func(ctx context.Context, _ Lease) error { <-ctx.Done(); time.Sleep(5 * s); return ctx.Err() }
		l.add("waiting", s, nil).Needs.CPUs = 1
		l.add("after", s, nil, 0)
		l.add("stubborn", 12*s, nil).Do = func(context.Context, Lease) error { time.Sleep(12 * s); return nil }
		l.add("after stubborn", s, nil, 4)
		time.AfterFunc(10*s, func() { cancel(stop) })
		sum := l.run(ctx)
		l.want("0s start running", "0s start stubborn", "0s start slow to stop", "10s cancelled waiting", "10s cancelled after",
			"10s cancelled after stubborn", "10s cancelled running", "12s ran stubborn", "15s cancelled slow to stop")
		if sum.Interrupted != stop || sum.Wall != 15*s {
			t.Errorf("summary %+v", sum)
		}
		if err := sum.Results[0].Err; err != stop {
			t.Errorf("running: error %v, want the cause %v", err, stop)
		}
	})
}

func TestCancelledBefore(t *testing.T) {
	scene(t, func(l *lab) {
		ctx, cancel := context.WithCancel(l.t.Context())
		cancel()
		l.add("never", s, nil)
		resolved := l.add("never resolved", s, nil)
		resolved.Resolve = func(context.Context) (Resolution, error) { t.Error("resolved"); return Resolution{}, nil }
		if sum := l.run(ctx); sum.Interrupted != context.Canceled {
			t.Errorf("summary %+v", sum)
		}
		l.want("0s cancelled never", "0s cancelled never resolved")
	})
}
