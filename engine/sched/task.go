package sched

import (
	"context"
	"time"
)

// Task is one piece of work.
type Task struct {
	// Name is the task's name in messages.
	Name string
	// After has the indexes of the tasks that must succeed first, which are lower than its
	// own.
	After []int
	// Weight is the expected duration of the task. It affects only the order.
	Weight time.Duration
	// Prompt tasks are short and report on others. They precede all other tasks
	// and run beside them: they lease no CPUs, and Options.Parallelism limits
	// them separately.
	Prompt bool
	// Needs are the resources that the task leases while it runs.
	Needs Resources
	// Timeout is the time limit of one try. 0 means no limit.
	Timeout time.Duration
	Retry   Retry
	// Key identifies the work of a task without Resolve, like Resolution.Key.
	// Such a task owns its key as soon as it is ready, before any task that is
	// resolved later.
	Key string
	// Resolve reports whether there is anything to do. It is called once all of
	// After have succeeded, and again after a task with the same Key has ended.
	// Calls for different tasks are concurrent. If it is nil, the task must
	// run.
	Resolve func(ctx context.Context) (Resolution, error)
	// Refused, if set, is the error with which the task fails without being
	// started. Its successors are skipped. Everything else continues even
	// without Options.KeepGoing, because the refusal already considered all
	// tasks.
	Refused error
	// Do does the work. It must return soon after ctx is cancelled. The cause
	// is a *timeoutError if the time limit was reached.
	Do func(ctx context.Context, l Lease) error
}

// Resolution is the result of Resolve.
type Resolution struct {
	// Done means that there is nothing to do.
	Done bool
	// Key identifies the work unless it is empty. Tasks with the same key never
	// run at the same time. After the first of them has ended, the others are
	// resolved again.
	Key string
}

// Resources are the resources that a task holds while it runs.
type Resources struct {
	CPUs        float64
	MemoryBytes int64
	DiskBytes   int64
	// GPUs is the number of devices.
	GPUs int
}

// Retry defines how often and when to retry after an error for which
// Options.Retryable returns true.
type Retry struct {
	// Tries is the maximum number of tries. 0 is the same as 1.
	Tries int
	// Base is the wait after the first try. It doubles each time, up to
	// Max, and is shortened at random by up to a half. A zero Base means one
	// second. A zero Max means five minutes, or Base if that is more.
	Base, Max time.Duration
}

// Lease is the resources of a try.
type Lease struct {
	// Try counts from 1.
	Try int
	// Resources are the requested resources.
	Resources
	// Devices are the names of the GPUs, in the machine's order.
	Devices []string

	clock *clock
}

// Outside calls a function that waits for others. Its time does not count
// toward the try's Timeout.
func (l Lease) Outside(wait func() error) error { return l.clock.outside(wait) }

// Status is the outcome of a task.
type Status int

// The outcomes of a task. The zero Status is not one.
const (
	// Done: Resolve found nothing to do.
	Done Status = iota + 1
	// Ran: Do was called and returned nil.
	Ran
	// Failed: Do or Resolve failed permanently, or the machine is too small.
	Failed
	// Skipped: a predecessor failed.
	Skipped
	// Cancelled: interrupted, or not started because the run was stopping.
	Cancelled
)

// Result is the end of a task.
type Result struct {
	Status Status
	// Err is the cause of Failed. For Cancelled, it is the error of the last
	// try, if any.
	Err error
	// Cause is the index of the failed task, for Skipped.
	Cause int
	// Tries is the number of calls of Do.
	Tries int
	// Started and Ended are the times of the last try, or zero if there was
	// none.
	Started, Ended time.Time
}

// Summary is the result of a run.
type Summary struct {
	// Results has one element for every task.
	Results []Result
	// Interrupted is the cause of the context's cancellation, if it preceded
	// the end of the last task, or ErrChanged.
	Interrupted error
	Wall        time.Duration
}

func (s *Summary) count(status Status) (n int) {
	for i := range s.Results {
		if s.Results[i].Status == status {
			n++
		}
	}
	return n
}

// Options configure a run. The zero value has no limits and stops at the first
// failure.
type Options struct {
	// Capacity is the machine's capacity for leases.
	Capacity Capacity
	// Parallelism is the maximum number of running tasks. 0 means no limit.
	Parallelism int
	// KeepGoing continues with all tasks that do not depend on a failed one.
	KeepGoing bool
	// Resolvers is the maximum number of concurrent Resolve calls. 0 means one
	// per processor.
	Resolvers int
	// Retryable reports whether an error may be temporary, and the minimum
	// wait. If it is nil, no error is.
	Retryable func(error) (time.Duration, bool)
	// Locks prevents two processes from leasing the same device. It may be nil.
	Locks *DeviceLocks
	// Rand returns a number in [0,1) for the back-off. If it is nil, the number
	// is random.
	Rand func() float64

	// Changes delivers changes to the run. It may be nil.
	Changes <-chan Change
	// Dropped, if Do returns it, cancels the task and all that depends on it, and nothing
	// else. Again queues the task again; the try does not count toward Retry.Tries.
	Dropped, Again error

	// The functions below are called with events, in order and one at a time,
	// from the goroutine of Run. They must be quick. OnStart precedes the call
	// of Do. OnEnd follows its return and precedes the resolution of the
	// successors.
	OnStart func(task int, l Lease)
	OnRetry func(task, try int, wait time.Duration, err error)
	// OnBackoff is called each minute while tasks await a retry, with the next
	// of these tasks.
	OnBackoff func(task int, at time.Time)
	OnEnd     func(task int, r Result)
	// OnWait is called with the resources for which otherwise ready tasks wait,
	// at most twice a second. It is called with an empty list when no task
	// waits any more. Each call replaces the previous one.
	OnWait func([]Wait)
}
