package cluster

import (
	"context"
	"time"
)

// The exit statuses of a worker; see the package comment. That of a refusal is
// EX_CONFIG of sysexits.h: with 2, a program in Go ends when it panics.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitRefused = 78
)

// Backend is a system that runs jobs on a cluster's nodes. Its methods are safe
// for concurrent use.
type Backend interface {
	// Start starts the job, unless one of its name waits or runs already: that one
	// is adopted. One that has ended is replaced.
	Start(ctx context.Context, job Job) error
	// Watch calls fn with the status of every job of this project (see Label),
	// first with how it is now, then with each change, one call at a time, until
	// ctx ends. Once it has told of all that were there, it calls all, if that is
	// not nil. It survives a server that restarts or does not answer: it tries
	// again, and tells what it missed. A job that no longer exists is Gone. The
	// error is for what trying again cannot help, such as missing permissions.
	Watch(ctx context.Context, fn func(Status), all func()) error
	// Cancel ends the named jobs: workers get SIGTERM and the grace period of their
	// job, then SIGKILL. A job that does not exist is no error.
	Cancel(ctx context.Context, names ...string) error
	// Remove removes what is left of ended jobs. A job that does not exist is no
	// error.
	Remove(ctx context.Context, names ...string) error
	// Nodes lists the nodes that a job may be put on.
	Nodes(ctx context.Context) ([]Node, error)
	// Examine tries what the other methods need, without leaving anything.
	Examine(ctx context.Context) []Check
	// Close releases connections. Jobs go on.
	Close() error
}

// Job is one worker for one action.
type Job struct {
	// Name is made of the action by JobName.
	Name string
	// Action and Address are the action and the step it is for, for people.
	Action, Address string
	// Args are the arguments of mleflow, Env the environment that the worker gets
	// in addition to what the backend's configuration gives it. Neither holds a
	// secret.
	Args []string
	Env  map[string]string
	// Needs is what the job reserves on its node.
	Needs Needs
	// Deadline is when the machines must have given up, counted from the worker's
	// start: longer than any limit that the worker itself enforces. 0 is never.
	Deadline time.Duration
	// Grace is the time between SIGTERM and SIGKILL.
	Grace time.Duration
	// Near names what the job reads. Jobs with an equal Near should meet on few
	// nodes, whose caches then have it; see Rank.
	Near string
	// Retries is how often the backend starts the job again after a failure of the
	// machines.
	Retries int
}

// Needs is what a job reserves. Zero is the backend's default.
type Needs struct {
	CPUs        float64
	MemoryBytes int64
	DiskBytes   int64
	GPUs        int
}

// State is how far a job is.
type State string

// The states of a job.
const (
	// Pending: it waits for a node, for its image, or to be started again.
	Pending State = "pending"
	// Running: its worker has been started.
	Running State = "running"
	// Succeeded: the worker ended with ExitDone.
	Succeeded State = "succeeded"
	// Failed: it ended otherwise, and will not be started again.
	Failed State = "failed"
	// Gone: there is no such job any more.
	Gone State = "gone"
)

// Ended reports whether no worker of the job runs, or will.
func (s State) Ended() bool { return s == Succeeded || s == Failed || s == Gone }

// Status is how a job is doing.
type Status struct {
	// Job is its name, ID the cluster's own for it: a job that replaced another of
	// its name has a different one, so its status is a change even if it went the
	// same way. A job that is Gone has none.
	Job, ID string
	State   State
	// Node is where it runs or ran; empty if nowhere yet.
	Node string
	// Starts is how often a worker of it was started.
	Starts int
	// Reason is one word for why it waits or failed, in the cluster's own
	// terms, such as Unschedulable, ImagePullBackOff, Evicted or NODE_FAIL;
	// Message is its sentence. Both may be empty.
	Reason, Message string
	// Refused says that the worker ended with ExitRefused.
	Refused bool
}

// Node is a machine of the cluster.
type Node struct {
	Name string
	// Has is what jobs may reserve on it if it is empty, Free what they may
	// reserve now.
	Has, Free Needs
	// Ready says that it takes jobs.
	Ready bool
}

// Label marks everything that a backend creates.
const Label = "mleflow"

// Hold reports whether n suffices for a request. What n does not say is
// sufficient, but for GPUs.
func (n Needs) Hold(request Needs) bool {
	return (n.CPUs == 0 || request.CPUs <= n.CPUs) && (n.MemoryBytes == 0 || request.MemoryBytes <= n.MemoryBytes) &&
		(n.DiskBytes == 0 || request.DiskBytes <= n.DiskBytes) && request.GPUs <= n.GPUs
}
