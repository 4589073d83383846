package sched

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// at makes a change some time after the start and notes the answer.
func (l *lab) at(when time.Duration, c Change) {
	if l.o.Changes == nil {
		l.changes = make(chan Change)
		l.o.Changes = l.changes
	}
	c.Done = func(err error) {
		if err != nil {
			l.note("answer %v", err)
		}
	}
	go func() {
		time.Sleep(when)
		l.changes <- c
	}()
}

func TestDrain(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Parallelism = 1
		l.add("attempt", 10*s, nil)
		l.add("grade", s, nil, 0).Prompt = true
		l.add("next", 10*s, nil)
		l.add("grade next", s, nil, 2).Prompt = true
		l.at(5*s, Change{Drain: true})
		sum := l.run(l.t.Context())
		l.want("0s start attempt", "5s cancelled next", "5s cancelled grade next", "10s ran attempt", "10s start grade", "11s ran grade")
		if sum.Interrupted != ErrChanged {
			t.Errorf("interrupted by %v", sum.Interrupted)
		}
	})
}

func TestDrainDuringBackoff(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Retryable = func(error) (time.Duration, bool) { return time.Hour, true }
		l.add("fails", s, errBad).Retry.Tries = 2
		l.add("slow", 10*s, errBad).Retry.Tries = 2
		l.at(5*s, Change{Drain: true})
		l.run(l.t.Context())
		l.want("0s start fails", "0s start slow", "1s retry fails 1 1h0m0s bad", "5s cancelled fails", "10s cancelled slow")
	})
}

func TestChangeParallelism(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Parallelism = 2
		for i := range 5 {
			l.add(fmt.Sprint(i), 10*s+time.Duration(i)*time.Millisecond, nil)
		}
		l.at(5*s, Change{Parallelism: 1})
		l.at(25*s, Change{Parallelism: 3})
		l.run(l.t.Context())
		l.want("0s start 0", "0s start 1", "10s ran 0", "10.001s ran 1", "10.001s start 2", "20.003s ran 2", "20.003s start 3", "25s start 4", "30.006s ran 3", "35.004s ran 4")
	})
}

func TestChangeDevices(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Capacity.Devices = []string{"a", "b"}
		for i := range 4 {
			l.add(fmt.Sprint(i), 10*s+time.Duration(i)*time.Millisecond, nil).Needs.GPUs = 1
		}
		l.add("none", s, nil)
		one, two, three := 1, 2, 3
		l.at(5*s, Change{Devices: &one})
		l.at(6*s, Change{Devices: &three})
		l.at(15*s, Change{Devices: &two})
		l.run(l.t.Context())
		l.want("0s start 0 a", "0s start 1 b", "0s start none", "1s ran none", "6s answer the machine has 2 GPUs",
			"10s ran 0", "10.001s ran 1", "10.001s start 2 a", "15s start 3 b", "20.003s ran 2", "25.003s ran 3")
	})
}

func TestDrop(t *testing.T) {
	scene(t, func(l *lab) {
		l.o.Parallelism = 1
		l.add("runs", 10*s, nil).Weight = time.Hour
		l.add("waits", s, nil)
		l.add("after", s, nil, 1)
		l.add("last", s, nil)
		l.at(s, Change{Drop: "waits"})
		l.at(2*s, Change{Drop: "runs"})
		l.at(3*s, Change{Drop: "waits"})
		l.at(4*s, Change{Drop: "other"})
		l.run(l.t.Context())
		l.want("0s start runs", "1s cancelled waits", "1s cancelled after", "2s answer it is running", "3s answer waits has ended", "4s answer other has ended",
			"10s ran runs", "10s start last", "11s ran last")
	})
}

// TestDecidedByHand ends a try so that the task is cancelled or runs again, which counts
// as no try.
func TestDecidedByHand(t *testing.T) {
	errDropped, errAgain := errors.New("dropped"), errors.New("again")
	scene(t, func(l *lab) {
		l.o.Dropped, l.o.Again = errDropped, errAgain
		l.o.Retryable = func(error) (time.Duration, bool) { return 0, true }
		l.o.Rand = func() float64 { return 0 }
		l.add("dropped", s/2, fmt.Errorf("end: %w", errDropped))
		l.add("after", s, nil, 0)
		tries := 0
		task := l.add("again", 0, nil)
		task.Retry.Tries = 2
		do := []error{errAgain, errBad, errAgain, nil}
		task.Do = func(ctx context.Context, _ Lease) error { time.Sleep(s); tries++; return do[tries-1] }
		l.run(l.t.Context())
		l.want("0s start dropped", "0s start again", "500ms cancelled dropped", "500ms cancelled after", "1s retry again 1 0s "+errAgain.Error(), "1s start again",
			"2s retry again 2 2s bad", "4s start again", "5s retry again 3 0s "+errAgain.Error(), "5s start again", "6s ran again")
	})
}
