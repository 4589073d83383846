package cluster

import (
	"context"
	"time"
)

// The exit statuses of a worker; see the package comment. A refusal has the status
// EX_CONFIG of sysexits.h, because a Go program that panics ends with 2.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitRefused = 78
	// ExitNotRun and ExitNotFound are the shell's statuses for a program that cannot be
	// executed or does not exist.
	ExitNotRun   = 126
	ExitNotFound = 127
)

// FinalExits are the exit statuses after which another start would end in the same way.
var FinalExits = []int{ExitRefused, ExitNotRun, ExitNotFound}

// Late is the message for a job that was ended at its deadline.
const Late = "it reached its deadline, the timeout of its step and spare; write more spare in the cluster file"

// Backend is a system that runs jobs on a cluster's nodes. Its methods are safe
// for concurrent use.
type Backend interface {
	// Start starts the job. A job of the same name that waits or runs is adopted; one
	// that has ended is replaced.
	Start(ctx context.Context, job Job) error
	// Watch calls fn with the status of every job of this project (see Label),
	// first with its present state, then with each change, one call at a time, until
	// ctx ends. After the jobs that existed at the start it calls all, unless that is
	// nil. A server that restarts or does not answer is asked again, and the missed
	// changes are reported. A job that no longer exists is Gone. Watch returns only
	// errors that a retry cannot fix, such as missing permissions.
	Watch(ctx context.Context, fn func(Status), all func()) error
	// Cancel ends the named jobs: workers get SIGTERM and the grace period of their
	// job, then SIGKILL. A job that does not exist is no error.
	Cancel(ctx context.Context, names ...string) error
	// Remove removes the remains of ended jobs. A job that does not exist is no
	// error.
	Remove(ctx context.Context, names ...string) error
	// Nodes lists the nodes on which a job may be placed.
	Nodes(ctx context.Context) ([]Node, error)
	// Examine checks the requirements of the other methods. It leaves no traces.
	Examine(ctx context.Context) []Check
	// Close releases connections. Jobs go on.
	Close() error
}

// Job is one worker for one action.
type Job struct {
	// Name is the result of JobName for the action.
	Name string
	// Action and Address name the action and its step, for people.
	Action, Address string
	// Args are the arguments of mleflow, Env the environment that the worker gets
	// in addition to what the backend's configuration gives it. Neither holds a
	// secret.
	Args []string
	Env  map[string]string
	// Needs is what the job reserves on its node.
	Needs Needs
	// Deadline is the time from the worker's start after which the machines end it.
	// It is longer than any limit that the worker enforces. 0 is no deadline.
	Deadline time.Duration
	// Grace is the time between SIGTERM and SIGKILL.
	Grace time.Duration
	// Near names the job's inputs. Jobs with an equal Near should share few nodes,
	// whose caches then have these inputs; see Rank. NearBytes is the size of these
	// inputs; 0 is not known.
	Near      string
	NearBytes int64
	// Stay is the time after its start in which a job may go on with others, so that
	// each still has its Deadline. A backend may ignore it.
	Stay time.Duration
	// Retries is the number of restarts after failures of the machines.
	Retries int
	// Preemptible says that the job may be taken off its node at any time. Its worker
	// gets SIGTERM, ends within Grace, and is started again.
	Preemptible bool
}

// Needs are the resources that a job reserves. Zero is the backend's default.
type Needs struct {
	CPUs        float64
	MemoryBytes int64
	DiskBytes   int64
	GPUs        int
}

// State is the state of a job.
type State string

// The states of a job.
const (
	// Pending: it waits for a node, for its image or for a restart.
	Pending State = "pending"
	// Running: its worker has been started.
	Running State = "running"
	// Succeeded: the worker ended with ExitDone.
	Succeeded State = "succeeded"
	// Failed: it ended in another way and will not be restarted.
	Failed State = "failed"
	// Gone: the job no longer exists.
	Gone State = "gone"
)

// Ended reports whether no worker of the job runs or will run.
func (s State) Ended() bool { return s == Succeeded || s == Failed || s == Gone }

// Status describes a job at one moment.
type Status struct {
	// Job is its name, ID the cluster's identifier. A job that replaced another of
	// its name has a different ID, so its status is a change even if the state is
	// the same. A job that is Gone has no ID.
	Job, ID string
	State   State
	// Node is the node on which it runs or ran; empty before the first start.
	Node string
	// Starts is the number of workers started for it.
	Starts int
	// Reason is one word for why it waits or failed, in the cluster's own
	// terms, such as Unschedulable, ImagePullBackOff, Evicted or NODE_FAIL;
	// Message explains it in a sentence. Both may be empty.
	Reason, Message string
	// Dead reports whether a job that waits for a restart has no worker any more for
	// certain: its last one was seen to end, not only out of sight.
	Dead bool
	// Final reports whether another job would fail in the same way, because the worker
	// refused the order or could not be started at all, or should not be started, because
	// someone cancelled this one from outside.
	Final bool
}

// Node is a machine of the cluster.
type Node struct {
	Name string
	// Has are the resources of the empty node that jobs may reserve, Free those that
	// they may reserve now.
	Has, Free Needs
	// Ready reports whether it takes jobs; otherwise Why is the cluster's word for why not,
	// such as DiskPressure or drained.
	Ready bool
	Why   string
	// MaxTime is the longest time for which a job may run there; 0 is no limit.
	MaxTime time.Duration
}

// Label marks everything that a backend creates.
const Label = "mleflow"

// Hold reports whether n suffices for a request. A resource that n leaves at zero
// suffices, except GPUs.
func (n Needs) Hold(request Needs) bool {
	return (n.CPUs == 0 || request.CPUs <= n.CPUs) && (n.MemoryBytes == 0 || request.MemoryBytes <= n.MemoryBytes) &&
		(n.DiskBytes == 0 || request.DiskBytes <= n.DiskBytes) && request.GPUs <= n.GPUs
}
