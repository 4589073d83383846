package clustertest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/cluster"
)

// Bed is a cluster to test on, with a kind of backend.
type Bed struct {
	// Open opens the backend, as another process would each time. It is closed when
	// the test ends.
	Open func(t *testing.T) cluster.Backend
	// Patience is how long the cluster may take for one thing, such as starting a
	// job again after its node was lost.
	Patience time.Duration
	// LoseNode makes a node disappear with what runs on it, and returns what brings
	// it back; nil if the bed cannot.
	LoseNode func(t *testing.T, node string) (back func())
	// Restart restarts the server that the backend talks to; nil if there is none.
	Restart func(t *testing.T)
	// Broken opens a backend whose workers cannot be started, such as for a missing
	// image; nil if that is the same as a worker that fails.
	Broken func(t *testing.T) cluster.Backend
}

// Run runs the suite.
func Run(t *testing.T, bed Bed) {
	if bed.Patience == 0 {
		bed.Patience = time.Minute
	}
	for _, test := range []struct {
		name string
		can  bool
		run  func(*bench)
	}{
		{"Nodes", true, (*bench).nodes},
		{"Examine", true, (*bench).examine},
		{"Succeeds", true, (*bench).succeeds},
		{"Environment", true, (*bench).environment},
		{"FailsAndIsStartedAgain", true, (*bench).failsAgain},
		{"Refuses", true, (*bench).refuses},
		{"IsAdopted", true, (*bench).isAdopted},
		{"IsReplaced", true, (*bench).isReplaced},
		{"IsReplacedByItsLike", true, (*bench).isReplacedByItsLike},
		{"AllWereTold", true, (*bench).allWereTold},
		{"IsFoundAgain", true, (*bench).isFoundAgain},
		{"IsRemoved", true, (*bench).isRemoved},
		{"Cancel", true, (*bench).cancel},
		{"CancelStubborn", true, (*bench).cancelStubborn},
		{"CancelWaiting", true, (*bench).cancelWaiting},
		{"Extend", true, (*bench).extend},
		{"Unknown", true, (*bench).unknown},
		{"Near", true, (*bench).near},
		{"ServerRestarts", bed.Restart != nil, (*bench).serverRestarts},
		{"NodeIsLost", bed.LoseNode != nil, (*bench).nodeIsLost},
		{"Broken", bed.Broken != nil, (*bench).broken},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !test.can {
				t.Skip("this testbed cannot do that")
			}
			test.run(newBench(t, bed, bed.Open(t)))
		})
	}
}

// bench is a backend that is watched.
type bench struct {
	*testing.T
	bed     Bed
	backend cluster.Backend

	mu    sync.Mutex
	seen  map[string][]cluster.Status
	fresh chan struct{}
}

func newBench(t *testing.T, bed Bed, backend cluster.Backend) *bench {
	b := &bench{T: t, bed: bed, backend: backend, seen: map[string][]cluster.Status{}, fresh: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(context.Background()) // until the cleanup, which needs it
	done := make(chan error, 1)
	go func() { done <- backend.Watch(ctx, b.saw, nil) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("watch: %v", err)
		}
	})
	return b
}

func (b *bench) saw(s cluster.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen[s.Job] = append(b.seen[s.Job], s)
	select {
	case b.fresh <- struct{}{}:
	default:
	}
}

// job makes a job whose name is that of the test. It is ended and removed after
// the test.
func (b *bench) job(args ...string) cluster.Job { return b.named("", args...) }

func (b *bench) named(suffix string, args ...string) cluster.Job {
	sum := sha256.Sum256([]byte(b.Name() + suffix + time.Now().String()))
	action := hex.EncodeToString(sum[:])
	job := cluster.Job{
		Name: cluster.JobName(action), Action: action, Address: `step.agent-run.x["a b/` + suffix + `"]`,
		Args: append([]string{Command}, args...), Needs: cluster.Needs{CPUs: 0.1}, Grace: 20 * time.Second,
	}
	b.Cleanup(func() {
		ctx := context.Background()
		if err := b.backend.Cancel(ctx, job.Name); err != nil {
			b.Errorf("cancel: %v", err)
		}
		b.mu.Lock()
		known := len(b.seen[job.Name]) > 0
		b.mu.Unlock()
		if known && !b.Failed() {
			b.ended(job.Name)
		}
		if err := b.backend.Remove(ctx, job.Name); err != nil {
			b.Errorf("remove: %v", err)
		}
	})
	return job
}

func (b *bench) start(job cluster.Job) {
	b.Helper()
	if err := b.backend.Start(b.Context(), job); err != nil {
		b.Fatalf("start: %v", err)
	}
}

// await waits for a status of the job that is as wanted.
func (b *bench) await(name, what string, want func(cluster.Status) bool) cluster.Status {
	b.Helper()
	limit := time.After(b.bed.Patience)
	for {
		b.mu.Lock()
		if i := slices.IndexFunc(b.seen[name], want); i >= 0 {
			s := b.seen[name][i]
			b.mu.Unlock()
			return s
		}
		seen := fmt.Sprintf("%+v", b.seen[name])
		b.mu.Unlock()
		select {
		case <-b.fresh:
		case <-limit:
			b.Fatalf("the job was not %s after %s; seen: %s", what, b.bed.Patience, seen)
		}
	}
}

func (b *bench) ended(name string) cluster.Status {
	b.Helper()
	return b.await(name, "ended", func(s cluster.Status) bool { return s.State.Ended() })
}

func (b *bench) running(name string) cluster.Status {
	b.Helper()
	return b.await(name, "running", func(s cluster.Status) bool { return s.State == cluster.Running })
}

func (b *bench) want(name string, want cluster.State) cluster.Status {
	b.Helper()
	s := b.ended(name)
	if s.State != want {
		b.Fatalf("the job ended as %+v, want %s", s, want)
	}
	return s
}

// forget drops what was seen of a job.
func (b *bench) forget(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.seen, name)
}

func (b *bench) nodes() {
	nodes, err := b.backend.Nodes(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range nodes {
		b.Logf("%+v", n)
		if n.Name == "" || n.Ready && (n.Has.CPUs <= 0 || n.Free.CPUs > n.Has.CPUs) {
			b.Errorf("node %+v", n)
		}
	}
	if !slices.ContainsFunc(nodes, func(n cluster.Node) bool { return n.Ready }) {
		b.Errorf("no node is ready: %+v", nodes)
	}
}

// examine finds nothing missing, and leaves nothing.
func (b *bench) examine() {
	checks := b.backend.Examine(b.Context(), cluster.Job{
		Name: cluster.JobName(strings.Repeat("0", 64)), Args: []string{"version"}, Needs: cluster.Needs{CPUs: 1}, Deadline: time.Minute,
	})
	if len(checks) < 3 {
		b.Errorf("%d checks, want at least 3: %+v", len(checks), checks)
	}
	for _, c := range checks {
		b.Logf("%+v", c)
		if c.Name == "" || c.Detail == "" || !c.OK {
			b.Errorf("check %+v", c)
		}
	}
	mark := b.job("exit", "0")
	b.start(mark)
	b.want(mark.Name, cluster.Succeeded)
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.seen {
		if name == cluster.JobName(strings.Repeat("0", 64)) {
			b.Errorf("the examination left job %s", name)
		}
	}
}

func (b *bench) succeeds() {
	job := b.job("exit", "0")
	b.start(job)
	if s := b.want(job.Name, cluster.Succeeded); s.Node == "" || s.Starts != 1 || s.Final {
		b.Errorf("status %+v", s)
	}
}

func (b *bench) environment() {
	const value = `a 'quoted' "text" with $HOME, \ and ; and ü`
	job := b.job("env", "MLEFLOW_CLUSTERTEST", value)
	job.Env = map[string]string{"MLEFLOW_CLUSTERTEST": value}
	b.start(job)
	b.want(job.Name, cluster.Succeeded)
}

func (b *bench) failsAgain() {
	job := b.job("exit", "1")
	job.Retries = 1
	b.start(job)
	s := b.want(job.Name, cluster.Failed)
	if s.Starts != 2 || s.Final || s.Reason == "" || !strings.Contains(s.Message, "worker: [exit 1]") {
		b.Errorf("status %+v, want two starts, a reason and what the worker said", s)
	}
}

func (b *bench) refuses() {
	job := b.job("exit", strconv.Itoa(cluster.ExitRefused))
	job.Retries = 3
	b.start(job)
	if s := b.want(job.Name, cluster.Failed); s.Starts != 1 || !s.Final {
		b.Errorf("status %+v, want one start, refused", s)
	}
}

func (b *bench) isAdopted() {
	job := b.job("sleep", "5s", "0")
	b.start(job)
	b.running(job.Name)
	other := newBench(b.T, b.bed, b.bed.Open(b.T))
	other.start(job)
	for _, of := range []*bench{b, other} {
		if s := of.want(job.Name, cluster.Succeeded); s.Starts != 1 {
			b.Errorf("status %+v, want one start", s)
		}
	}
}

func (b *bench) isReplaced() {
	job := b.job("exit", "1")
	b.start(job)
	b.want(job.Name, cluster.Failed)
	b.forget(job.Name)
	job.Args = []string{Command, "exit", "0"}
	b.start(job)
	// The one that was replaced may be told to be gone.
	b.await(job.Name, "replaced by one that succeeded", func(s cluster.Status) bool { return s.State == cluster.Succeeded })
}

// isReplacedByItsLike: that a job went the way of the one it replaced is told.
func (b *bench) isReplacedByItsLike() {
	job := b.job("exit", "0")
	b.start(job)
	first := b.want(job.Name, cluster.Succeeded)
	b.forget(job.Name)
	b.start(job)
	b.await(job.Name, "replaced by one that succeeded", func(s cluster.Status) bool {
		return s.State == cluster.Succeeded && s.ID != first.ID && s.Starts == 1
	})
}

// allWereTold: a watch says when the jobs that were there have been told.
func (b *bench) allWereTold() {
	job := b.job("sleep", "1h", "0")
	b.start(job)
	b.running(job.Name)
	ctx, stop := context.WithTimeout(b.Context(), b.bed.Patience)
	defer stop()
	var seen cluster.State
	other := b.bed.Open(b.T)
	all := 0
	err := other.Watch(ctx, func(s cluster.Status) {
		if s.Job == job.Name && all == 0 {
			seen = s.State
		}
	}, func() { all++; stop() })
	if err != nil || all != 1 || seen != cluster.Running {
		b.Errorf("%v; all was called %d times, and the job %q before", err, all, seen)
	}
}

func (b *bench) isFoundAgain() {
	done, going := b.named("done", "exit", "0"), b.named("going", "sleep", "1h", "0")
	b.start(done)
	b.start(going)
	b.want(done.Name, cluster.Succeeded)
	b.running(going.Name)
	other := newBench(b.T, b.bed, b.bed.Open(b.T))
	other.want(done.Name, cluster.Succeeded)
	other.running(going.Name)
}

func (b *bench) isRemoved() {
	job, mark := b.named("removed", "exit", "0"), b.named("mark", "exit", "0")
	b.start(job)
	b.want(job.Name, cluster.Succeeded)
	if err := b.backend.Remove(b.Context(), job.Name); err != nil {
		b.Fatal(err)
	}
	b.await(job.Name, "gone", func(s cluster.Status) bool { return s.State == cluster.Gone })
	b.start(mark)
	other := newBench(b.T, b.bed, b.bed.Open(b.T))
	other.ended(mark.Name)
	other.mu.Lock()
	defer other.mu.Unlock()
	for _, s := range other.seen[job.Name] {
		if s.State != cluster.Gone {
			b.Errorf("a removed job is still told: %+v", s)
		}
	}
}

func (b *bench) cancel() {
	job := b.job("sleep", "1h", "0")
	job.Retries = 3
	b.start(job)
	b.running(job.Name)
	if err := b.backend.Cancel(b.Context(), job.Name); err != nil {
		b.Fatal(err)
	}
	if s := b.ended(job.Name); s.State == cluster.Succeeded || s.Starts > 1 {
		b.Errorf("status %+v", s)
	}
}

func (b *bench) cancelStubborn() {
	job := b.job("stubborn")
	job.Retries, job.Grace = 3, 2*time.Second
	b.start(job)
	b.running(job.Name)
	time.Sleep(time.Second) // until the worker ignores the signal
	if err := b.backend.Cancel(b.Context(), job.Name); err != nil {
		b.Fatal(err)
	}
	if s := b.ended(job.Name); s.State == cluster.Succeeded || s.Starts > 1 {
		b.Errorf("status %+v", s)
	}
}

// extend raises the deadline of a job that runs, unless the cluster lets nobody do that. A
// lower one changes nothing.
func (b *bench) extend() {
	job := b.job("sleep", "12s", "0")
	job.Deadline = 10 * time.Second
	b.start(job)
	b.running(job.Name)
	for _, name := range []string{job.Name, cluster.JobName(strings.Repeat("1", 64))} {
		for _, deadline := range []time.Duration{time.Hour, time.Second} {
			if err := b.backend.Extend(b.Context(), name, deadline); errors.Is(err, cluster.ErrFixed) {
				b.Skip(err)
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.want(job.Name, cluster.Succeeded)
}

// cancelWaiting fills the cluster, so that a job has to wait.
func (b *bench) cancelWaiting() {
	nodes, err := b.backend.Nodes(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range nodes {
		if n.Ready {
			job := b.named(n.Name, "sleep", "1h", "0")
			job.Needs.CPUs = n.Has.CPUs - 0.5 // others may reserve a little, and the next one asks for more
			b.start(job)
			b.running(job.Name)
		}
	}
	job := b.named("waits", "exit", "0")
	job.Needs.CPUs = 1
	b.start(job)
	if s := b.await(job.Name, "waiting with a reason", func(s cluster.Status) bool { return s.State == cluster.Pending && s.Reason != "" }); s.Starts != 0 {
		b.Errorf("status %+v", s)
	}
	if err := b.backend.Cancel(b.Context(), job.Name); err != nil {
		b.Fatal(err)
	}
	if s := b.ended(job.Name); s.State == cluster.Succeeded {
		b.Errorf("status %+v", s)
	}
}

func (b *bench) unknown() {
	name := cluster.JobName(strings.Repeat("0", 64))
	if err := b.backend.Cancel(b.Context(), name); err != nil {
		b.Errorf("cancel: %v", err)
	}
	if err := b.backend.Remove(b.Context(), name); err != nil {
		b.Errorf("remove: %v", err)
	}
}

// near starts jobs that read the same one after the other.
func (b *bench) near() {
	at := map[string]string{}
	for i, near := range []string{"one", "two", "three", "one", "two", "three"} {
		job := b.named(fmt.Sprint(i), "exit", "0")
		job.Near = near
		b.start(job)
		s := b.want(job.Name, cluster.Succeeded)
		if at[near] == "" {
			at[near] = s.Node
		}
		if at[near] != s.Node {
			b.Errorf("jobs that read %q ran on %s and %s", near, at[near], s.Node)
		}
	}
	b.Log(at)
}

func (b *bench) serverRestarts() {
	for length := 12 * time.Second; ; length *= 2 { // until the restart takes less
		long, short := b.named("long", "sleep", length.String(), "0"), b.named("short", "sleep", "2s", "0")
		b.start(long)
		b.start(short)
		b.running(long.Name)
		start := time.Now()
		b.bed.Restart(b.T)
		back := time.Since(start)
		b.want(short.Name, cluster.Succeeded)
		if s := b.want(long.Name, cluster.Succeeded); s.Starts != 1 {
			b.Errorf("status %+v, want one start", s)
		}
		if back < length || length > time.Minute {
			return
		}
	}
}

func (b *bench) nodeIsLost() {
	for length := 4 * time.Second; ; length *= 2 { // until losing the node takes less
		job := b.named(length.String(), "sleep", length.String(), "0")
		job.Retries = 3
		b.start(job)
		first := b.running(job.Name).Node
		back := sync.OnceFunc(b.bed.LoseNode(b.T, first))
		b.Cleanup(back)
		s := b.want(job.Name, cluster.Succeeded)
		if s.Starts >= 2 && s.Node != first {
			return
		}
		if s.Starts >= 2 || length > time.Minute {
			b.Fatalf("status %+v after node %s was lost", s, first)
		}
		back()
	}
}

func (b *bench) broken() {
	of := newBench(b.T, b.bed, b.bed.Broken(b.T))
	job := of.job("exit", "0")
	job.Retries = 3
	if err := of.backend.Start(b.Context(), job); err != nil {
		b.Logf("refused: %v", err)
		return
	}
	if s := of.want(job.Name, cluster.Failed); s.Reason == "" || s.Starts > 1 {
		b.Errorf("status %+v, want a reason and no other start", s)
	} else {
		b.Logf("%s: %s", s.Reason, s.Message)
	}
}
