package cluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/nolink"
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

// ErrLater marks an error of Backend.Start that passes without a change: the cluster takes no
// more jobs of this user for now, or does not answer.
var ErrLater = errors.New("not now")

// ErrFixed marks an error of Backend.Extend: the cluster lets this user raise no deadline.
var ErrFixed = errors.New("the time limit of a job cannot be raised")

// Backend is a system that runs jobs on a cluster's nodes. Its methods are safe
// for concurrent use.
type Backend interface {
	// Start starts the job. A job of the same name that waits or runs is adopted; one
	// that has ended is replaced. An error that is ErrLater is worth another call.
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
	// Extend raises the Deadline of a job to at least this. A job that does not exist is no
	// error.
	Extend(ctx context.Context, name string, deadline time.Duration) error
	// Remove removes the remains of ended jobs. A job that does not exist is no
	// error.
	Remove(ctx context.Context, names ...string) error
	// Nodes lists the nodes on which a job may be placed.
	Nodes(ctx context.Context) ([]Node, error)
	// Examine checks the requirements of the other methods, and whether the cluster would
	// take jobs such as these. It leaves no traces.
	Examine(ctx context.Context, jobs ...Job) []Check
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

// Limits are the limits of a job that may be left to the site.
var Limits = []string{"cpus", "memory", "disk", "gpus", "time"}

// Without returns the job without some of the Limits. A job whose time is unknown goes on with
// no other.
func (j Job) Without(limits ...string) Job {
	for _, l := range limits {
		switch l {
		case "cpus":
			j.Needs.CPUs = 0
		case "memory":
			j.Needs.MemoryBytes = 0
		case "disk":
			j.Needs.DiskBytes = 0
		case "gpus":
			j.Needs.GPUs = 0
		case "time":
			j.Deadline, j.Stay = 0, 0
		}
	}
	return j
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
	// someone cancelled this one from outside. A Pending job that is Final can never start: the
	// cluster says that what it asks for does not exist or is forbidden, whatever other jobs
	// do. Reason and Message say why and what to change. After a while it is cancelled, and its
	// step fails because of the machines. A reason that may pass, or is unknown, is not Final.
	Final bool
}

// Node is a machine of the cluster.
type Node struct {
	Name string
	// Has are the resources of the empty node that jobs may reserve, Free those that
	// they may reserve now, or zero if that is not known.
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

// Check is one finding of Backend.Examine.
type Check struct {
	// Name names the check in a word or two.
	Name string
	// OK reports whether it works; otherwise Fix says what to do.
	OK bool
	// Optional reports whether jobs run without it.
	Optional bool
	// Detail describes the finding.
	Detail, Fix string
}

// Found is the finding of a check that works if err is nil; otherwise fix says what to do.
func Found(name, detail string, err error, fix string) Check {
	if err != nil {
		return Check{Name: name, Detail: err.Error(), Fix: fix}
	}
	return Check{Name: name, OK: true, Detail: detail}
}

// maxNamed is the number of nodes without jobs that ExamineNodes names.
const maxNamed = 5

// ExamineNodes lists the nodes of a backend; fix is the advice if none takes jobs.
func ExamineNodes(ctx context.Context, b Backend, fix string) Check {
	nodes, err := b.Nodes(ctx)
	if err != nil {
		return Check{Name: "nodes", Optional: true, Detail: err.Error(), Fix: "without the list, plan cannot say what fits no node, and jobs do not prefer nodes whose cache is warm"}
	}
	ready, gpus := 0, 0
	var others []string
	for _, n := range nodes {
		if n.Ready {
			ready++
			gpus += n.Has.GPUs
		} else {
			others = append(others, fmt.Sprintf("%s (%s)", n.Name, n.Why))
		}
	}
	c := Check{Name: "nodes", OK: ready > 0, Detail: fmt.Sprintf("%d may be used, %d of them take jobs now, with %d GPUs", len(nodes), ready, gpus), Fix: fix}
	if len(others) > maxNamed {
		others = append(others[:maxNamed], fmt.Sprintf("%d more", len(others)-maxNamed))
	}
	if len(others) > 0 {
		c.Detail += "; not " + strings.Join(others, ", ")
	}
	return c
}

// Own returns an error if other users may write to a file or folder whose content decides
// what jobs run. A path that does not exist is fine: what needs it says so.
func Own(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	if why := nolink.Writers(info); why != "" {
		return fmt.Errorf("%s %s, and it decides what jobs run: make it yours and chmod go-w %s, or name another of your own", path, why, path)
	}
	return nil
}

// changes returns the statuses that differ between two looks at all jobs, by name. A job that
// is missing in the second is Gone.
func changes(before, now map[string]Status) (list []Status) {
	for name, s := range now {
		if before[name] != s {
			list = append(list, s)
		}
	}
	for name, s := range before {
		if _, ok := now[name]; !ok && s.State != Gone {
			list = append(list, Status{Job: name, State: Gone})
		}
	}
	return list
}

// Wake is a request to look again at once. Requests that wait are one.
type Wake chan struct{}

// NewWake returns a Wake without a request.
func NewWake() Wake { return make(Wake, 1) }

// Up makes a request.
func (w Wake) Up() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// Look returns the statuses of all jobs, given those of the last look, or nil without an answer.
type Look func(last map[string]Status) (map[string]Status, error)

// Follow implements Backend.Watch by looks. The time between two looks grows from shortest to
// longest while nothing changes.
func (w Wake) Follow(ctx context.Context, shortest, longest time.Duration, look Look, fn func(Status), all func()) error {
	last := map[string]Status{}
	for wait := shortest; ; {
		now, err := look(last)
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case now == nil:
			wait *= 2
		default:
			wait += wait / 4
			for _, s := range changes(last, now) {
				wait = shortest
				fn(s)
			}
			if last = now; all != nil {
				all()
				all = nil
			}
		}
		wait = min(wait, longest)
		select {
		case <-ctx.Done():
			return nil
		case <-w:
			wait = shortest
		case <-time.After(wait):
		}
	}
}

// Duration parses the attribute of a cluster file with that name; "" is missing.
func Duration(to *time.Duration, name, text string, missing time.Duration) (err error) {
	if *to = missing; text == "" {
		return nil
	}
	if *to, err = time.ParseDuration(text); err != nil || *to < 0 {
		return fmt.Errorf("%s = %q is not a duration such as \"2m\"", name, text)
	}
	return nil
}

// JobName returns the name of an action's job, a valid DNS label with 160 bits of the
// action's digest. The digest is given in hexadecimal digits.
func JobName(action string) string { return Label + "-" + action[:min(len(action), 40)] }

// Rank orders nodes for a job by rendezvous hashing. Jobs with an equal Near have the
// same order, other jobs have others. A node that comes or goes leaves the order of
// the rest unchanged.
func Rank(near string, nodes []string) []string {
	weight := make(map[string]uint64, len(nodes))
	for _, n := range nodes {
		sum := sha256.Sum256([]byte(near + "\x00" + n))
		weight[n] = binary.BigEndian.Uint64(sum[:8])
	}
	ranked := slices.Clone(nodes)
	slices.SortFunc(ranked, func(a, b string) int {
		return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(a, b))
	})
	return ranked
}

// LastLine returns the last line of a worker's output that is not blank, at most 500
// bytes of it.
func LastLine(printed string) string {
	printed = strings.TrimSpace(printed)
	last := printed[strings.LastIndexByte(printed, '\n')+1:]
	return strings.ToValidUTF8(last[:min(len(last), 500)], "\uFFFD")
}
