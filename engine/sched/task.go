package sched

import (
	"context"
	"time"
)

// Task is one piece of work.
type Task struct {
	// Name is the task in messages.
	Name string
	// After are the indexes of the tasks that must succeed before.
	After []int
	// Weight is the expected duration of the task; it only affects the order.
	Weight time.Duration
	// Prompt tasks are short and say how the others did. They come before all
	// others and beside them: they lease no processors, and Options.Parallelism
	// limits them apart.
	Prompt bool
	// Needs is what the task leases while it runs.
	Needs Resources
	// Timeout is the limit of one attempt; 0 is none.
	Timeout time.Duration
	Retry   Retry
	// Key identifies the work of a task without Resolve, as Resolution.Key does.
	// Such a task has its key as soon as it is ready, before any task that is
	// resolved later.
	Key string
	// Resolve says whether there is anything to do. It is called once all of After
	// have succeeded, several tasks at a time, and again after a task of the same
	// Key has ended. Nil means that the task must run.
	Resolve func(ctx context.Context) (Resolution, error)
	// Refused, if set, is why the task fails without being started. What comes
	// after it is skipped. Everything else continues even without
	// Options.KeepGoing, because the refusal was decided in view of all tasks.
	Refused error
	// Do does the work. It must return soon after ctx is cancelled; its
	// cause is a *timeoutError when the limit was reached.
	Do func(ctx context.Context, l Lease) error
}

// Resolution is what Resolve found.
type Resolution struct {
	// Done says that there is nothing to do.
	Done bool
	// Key identifies the work, unless it is empty. Tasks with the same key never
	// run at the same time: the others are resolved again when the first has
	// ended.
	Key string
}

// Resources are what a task holds while it runs.
type Resources struct {
	CPUs        float64
	MemoryBytes int64
	DiskBytes   int64
	// GPUs is a number of devices.
	GPUs int
}

// Retry says how often and when to retry an error for which Options.Retryable
// returns true.
type Retry struct {
	// Attempts is the largest number of attempts; 0 is the same as 1.
	Attempts int
	// Base is the wait after the first attempt; it doubles each time, up to
	// Max. A random part of up to half is taken off. Zero values stand for
	// one second, and for five minutes or Base if that is more.
	Base, Max time.Duration
}

// Lease is what an attempt may use.
type Lease struct {
	// Attempt counts from 1.
	Attempt int
	// Resources are what the task asked for.
	Resources
	// Devices are the names of the GPUs, in the machine's order.
	Devices []string

	clock *clock
}

// Outside runs something that waits for others. The time it takes does not
// count toward the attempt's Timeout.
func (l Lease) Outside(wait func() error) error { return l.clock.outside(wait) }

// Status is how a task ended.
type Status int

// The ways a task can end. The zero Status is no end.
const (
	// Done: Resolve found nothing to do.
	Done Status = iota + 1
	// Ran: Do was called and returned nil.
	Ran
	// Failed: Do or Resolve failed permanently, or the machine is too small.
	Failed
	// Skipped: a task it comes after failed.
	Skipped
	// Cancelled: interrupted, or not started because the run was stopping.
	Cancelled
)

// Result is how a task ended.
type Result struct {
	Status Status
	// Err is the cause of Failed; for Cancelled the error of the last
	// attempt, if any.
	Err error
	// Cause is the index of the task that failed, for Skipped.
	Cause int
	// Attempts is how often Do was called.
	Attempts int
	// Started and Ended are the times of the last attempt; zero when there
	// was none.
	Started, Ended time.Time
}

// Summary is how a run ended.
type Summary struct {
	// Results has one element for every task.
	Results []Result
	// These count the results by status.
	Done, Ran, Failed, Skipped, Cancelled int
	// Interrupted is the cause of the context's cancellation, if it came
	// before the last task ended.
	Interrupted error
	Wall        time.Duration
}

func (s *Summary) count(status Status) {
	switch status {
	case Done:
		s.Done++
	case Ran:
		s.Ran++
	case Failed:
		s.Failed++
	case Skipped:
		s.Skipped++
	case Cancelled:
		s.Cancelled++
	}
}

// Options configure a run. The zero value has no limits and stops at the first
// failure.
type Options struct {
	// Capacity is what there is to lease.
	Capacity Capacity
	// Parallelism is the largest number of tasks running at a time; 0 means no
	// limit.
	Parallelism int
	// KeepGoing continues with everything that does not depend on a failed task.
	KeepGoing bool
	// Resolvers is the largest number of Resolve calls at a time; 0 means one per
	// processor.
	Resolvers int
	// Retryable says whether an error may pass, and the least time to wait. Nil
	// means that none does.
	Retryable func(error) (time.Duration, bool)
	// Locks prevent two processes from leasing the same device; nil does not.
	Locks *DeviceLocks
	// Rand returns a number in [0,1) for the back-off; nil means a random one.
	Rand func() float64

	// The functions below are called with what happens, one call at a time, in
	// order, from the goroutine of Run. They must be quick. OnStart precedes the
	// call of Do; OnEnd follows its return and precedes the resolution of the
	// tasks that come after.
	OnStart func(task int, l Lease)
	OnRetry func(task, attempt int, wait time.Duration, err error)
	// OnBackoff is called each minute while tasks wait to be retried, with the
	// next one.
	OnBackoff func(task int, at time.Time)
	OnEnd     func(task int, r Result)
	// OnWait is called with what tasks wait for that could start otherwise, at
	// most twice a second; with nothing once nothing waits any more. Each call
	// replaces the previous one.
	OnWait func([]Wait)
}
