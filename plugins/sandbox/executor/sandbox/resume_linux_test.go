package sandbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// order is what it is told: what of a Spec can be written down.
type order struct {
	Options   sandbox.Options
	ID, Image string
	Command   []string
	Timeout   time.Duration
	Resume    bool
	// Services are the variables of its services.
	Services []string
}

func (b *bench) order(spec executor.Spec) order {
	o := order{Options: b.opts, ID: spec.ID, Image: spec.Image, Command: spec.Command, Timeout: spec.Limits.Timeout, Resume: spec.Resume}
	for _, s := range spec.Services {
		o.Services = append(o.Services, s.Env)
	}
	return o
}

// owner runs a spec, as mleflow would.
func owner(args []string) int {
	var o order
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		fmt.Println(err)
		return 1
	}
	spec := executor.Spec{
		ID: o.ID, Image: o.Image, Command: o.Command, Dir: "/", Resume: o.Resume,
		Limits: executor.Limits{Timeout: o.Timeout, Grace: 200 * time.Millisecond},
	}
	for _, name := range o.Services {
		spec.Services = append(spec.Services, executor.Service{Name: name, Env: name})
	}
	serve(&spec, "old")
	exit, err := sandbox.New(o.Options).Run(context.Background(), spec, os.Stdout)
	fmt.Println(exit, err)
	return 0
}

// serve gives the spec's services a text to answer.
func serve(spec *executor.Spec, text string) {
	for i := range spec.Services {
		spec.Services[i].Serve = func(_ context.Context, l net.Listener) error {
			return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
		}
	}
}

func (b *bench) resumable(t *testing.T, ticks int) executor.Spec {
	spec := b.Spec(t, "ticks", fmt.Sprint(ticks))
	spec.Resume = true
	return spec
}

// alive lists the guests of the bench's image that run on this machine.
func (b *bench) alive(t *testing.T) (list []string) {
	t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		line, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(line), containerdtest.Program) && strings.Contains(string(line), "mark-"+b.opts.Dir) {
			list = append(list, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return list
}

// gone waits until nothing of the bench runs.
func (b *bench) gone(t *testing.T) {
	t.Helper()
	for range 2400 {
		if len(b.alive(t)) == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("alive: %v", b.alive(t))
}

// marked marks the command so that alive finds it.
func (b *bench) marked(spec executor.Spec) executor.Spec {
	spec.Command = append(spec.Command, "mark-"+b.opts.Dir)
	return spec
}

// tick is the time between two lines of the command "ticks".
const tick = 100 * time.Millisecond

// testRunning resumes a command twice. It says why it could not.
func testRunning(t *testing.T, b *bench, ticks int) string {
	spec := b.resumable(t, ticks)
	o := b.order(spec)
	first, said := executortest.TryOwner(t, o, "tick 2")
	if first == nil {
		return said
	}
	_, err := b.e.Run(t.Context(), spec, io.Discard)
	if err == nil {
		return "the owner ended, or another one took the command from it"
	}
	if !strings.Contains(err.Error(), "live process holds") {
		t.Errorf("taken from a live process: %v", err)
	}
	executortest.Kill(first)
	if problem := executortest.KillOwner(t, o, "tick 4"); problem != "" {
		return problem
	}
	left, err := b.e.Runtime().Left(t.Context(), spec.ID)
	if err == nil && !left {
		return "the command is not left"
	}
	if err != nil {
		t.Error(err)
	}
	var logs bytes.Buffer
	exit, err := b.e.Run(t.Context(), spec, &logs)
	if err == nil && !exit.Resumed {
		return "the command is not resumed"
	}
	if err != nil || !exit.OK() || exit.Wall < time.Duration(ticks)*tick || exit.PeakMemoryBytes == 0 {
		t.Errorf("got %+v, %v", exit, err)
	}
	executortest.WantTicks(t, logs.String(), ticks)
	return ""
}

func TestResume(t *testing.T) {
	b := newBench(t)
	t.Run("not interrupted", func(t *testing.T) {
		var logs bytes.Buffer
		exit, err := b.e.Run(t.Context(), b.resumable(t, 3), &logs)
		if err != nil || !exit.OK() || exit.Resumed {
			t.Errorf("got %+v, %v", exit, err)
		}
		executortest.WantTicks(t, logs.String(), 3)
	})
	t.Run("running", func(t *testing.T) {
		executortest.Slower(t, func(factor int) string { return testRunning(t, b, 15*factor) })
	})
	t.Run("ended meanwhile", func(t *testing.T) {
		executortest.Slower(t, func(factor int) string {
			spec := b.marked(b.resumable(t, 3*factor))
			if problem := executortest.KillOwner(t, b.order(spec), "tick 1"); problem != "" {
				return problem
			}
			b.gone(t)
			var logs bytes.Buffer
			exit, err := b.e.Run(t.Context(), spec, &logs)
			if err == nil && !exit.Resumed {
				return "the command is not resumed"
			}
			if err != nil || !exit.OK() {
				t.Errorf("got %+v, %v", exit, err)
			}
			executortest.WantTicks(t, logs.String(), 3*factor)
			return ""
		})
	})
	t.Run("time limit without an owner", func(t *testing.T) {
		spec := b.marked(b.resumable(t, 1000))
		executortest.Slower(t, func(factor int) string {
			spec.Limits.Timeout = time.Duration(factor) * time.Second
			return executortest.KillOwner(t, b.order(spec), "tick 1")
		})
		b.gone(t)
		exit, err := b.e.Run(t.Context(), spec, io.Discard)
		if err != nil || exit.Reason != executor.TimedOut || !exit.Resumed {
			t.Errorf("got %+v, %v", exit, err)
		}
	})
	t.Run("service", func(t *testing.T) {
		spec := b.resumable(t, 0)
		spec.Command = []string{containerdtest.Program, executortest.GuestCommand, "asks", "ANSWERS"}
		spec.Services = []executor.Service{{Name: "answers", Env: "ANSWERS"}}
		executortest.Kill(executortest.StartOwner(t, b.order(spec), "old"))
		serve(&spec, "new")
		var logs bytes.Buffer
		exit, err := b.e.Run(t.Context(), spec, &logs)
		if err != nil || !exit.OK() || !exit.Resumed || !strings.HasPrefix(logs.String(), "old\n") || !strings.HasSuffix(logs.String(), "new\n") {
			t.Errorf("got %+v, %v:\n%s", exit, err, logs.String())
		}
	})
	t.Run("output limit", func(t *testing.T) {
		spec := b.resumable(t, 0)
		spec.Command = []string{containerdtest.Program, executortest.ProbeCommand, "flood", "5000000"}
		spec.Limits.LogBytes = 12_345
		var logs bytes.Buffer
		exit, err := b.e.Run(t.Context(), spec, &logs)
		if err != nil || logs.Len() != 12_345 || exit.LogDropped != 5_000_000-12_345 {
			t.Errorf("%d bytes, %+v, %v", logs.Len(), exit, err)
		}
	})
	t.Run("left", func(t *testing.T) { testLeft(t, b) })
	t.Run("cancelled", func(t *testing.T) {
		cause := errors.New("Ctrl-C")
		ctx, cancel := context.WithCancelCause(t.Context())
		spec := b.resumable(t, 1000)
		spec.OnStart = func(time.Time) { cancel(cause) }
		if _, err := b.e.Run(ctx, spec, io.Discard); !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
	})
	b.empty(t)
}

// testLeft sees that a command goes on which its owner leaves, and that it can be
// ended after that; one that cannot be resumed is stopped.
func testLeft(t *testing.T, b *bench) {
	leave := func(spec executor.Spec) {
		ctx, cancel := context.WithCancelCause(t.Context())
		spec.OnStart = func(time.Time) { cancel(executor.ErrLeave) }
		if _, err := b.e.Run(ctx, spec, io.Discard); !errors.Is(err, executor.ErrLeave) {
			t.Errorf("got %v", err)
		}
		if left, err := b.e.Runtime().Left(t.Context(), spec.ID); err != nil || left != spec.Resume {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	spec := b.resumable(t, 15)
	leave(spec)
	leave(spec) // by the second owner, too
	var logs bytes.Buffer
	exit, err := b.e.Run(t.Context(), spec, &logs)
	if err != nil || !exit.OK() || !exit.Resumed {
		t.Errorf("got %+v, %v", exit, err)
	}
	executortest.WantTicks(t, logs.String(), 15)
	spec = b.resumable(t, 1000)
	leave(spec)
	if err := b.e.Runtime().End(t.Context(), spec.ID); err != nil {
		t.Error(err)
	}
	if left, err := b.e.Runtime().Left(t.Context(), spec.ID); err != nil || left {
		t.Errorf("left: %v, %v", left, err)
	}
	spec.Resume = false
	leave(spec)
}

// TestKilledOwners kills owners at all moments. What comes after finds the command or
// starts it again, and nothing is left in the end.
func TestKilledOwners(t *testing.T) {
	b := newBench(t)
	resumed := 0
	for i := range 12 {
		executortest.Slower(t, func(factor int) string {
			exit := testKilledOwner(t, b, i, 4*factor)
			if exit.Resumed {
				resumed++
			} else if i%4 == 3 {
				return "the command is not resumed"
			}
			return ""
		})
	}
	if resumed < 3 {
		t.Errorf("only %d were resumed", resumed)
	}
	t.Logf("%d of 12 were resumed", resumed)
	b.gone(t)
	b.empty(t)
}

// testKilledOwner kills an owner at the moment i and runs its command to the end.
func testKilledOwner(t *testing.T, b *bench, i, ticks int) executor.Exit {
	t.Helper()
	spec := b.marked(b.resumable(t, ticks))
	spec.ID = fmt.Sprint(t.Name(), i)
	executortest.KillOwnerAt(t, b.order(spec), i, 10*time.Millisecond, "tick 1")
	if err := b.e.Sweep(t.Context()); err != nil {
		t.Errorf("sweep: %v", err)
	}
	var logs bytes.Buffer
	exit, err := b.e.Run(t.Context(), spec, &logs)
	if err != nil || !exit.OK() {
		t.Errorf("killed after %d ms: %+v, %v", i*10, exit, err)
	}
	executortest.WantTicks(t, logs.String(), ticks)
	return exit
}

func TestSweep(t *testing.T) {
	b := newBench(t)
	short, long, live := b.marked(b.Spec(t, "ticks", "1000")), b.marked(b.resumable(t, 1000)), b.marked(b.resumable(t, 1000))
	short.ID, long.ID, live.ID = "short", "long", "live"
	executortest.Kill(executortest.StartOwner(t, b.order(short), "tick"))
	executortest.Kill(executortest.StartOwner(t, b.order(long), "tick"))
	running := executortest.StartOwner(t, b.order(live), "tick")
	runs := func() int {
		list, _ := filepath.Glob(filepath.Join(b.opts.Dir, "runs", "*"))
		return len(list)
	}
	if err := b.e.Sweep(t.Context()); err != nil || runs() != 2 {
		t.Errorf("want the one that may be resumed and the one that is held: %d, %v", runs(), err)
	}
	if err := b.e.Purge(t.Context()); err != nil || runs() != 1 {
		t.Errorf("want the one that is held: %d, %v", runs(), err)
	}
	if images, _ := filepath.Glob(filepath.Join(b.opts.Dir, "images", "sha256-*", "root")); len(images) != 1 {
		t.Errorf("an image that is in use was removed: %v", images)
	}
	executortest.Kill(running)
	images := []string{""}
	for until := time.Now().Add(time.Minute); len(images) > 0 && time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if err := b.e.Purge(t.Context()); err != nil || runs() != 0 {
			t.Errorf("left %d runs, %v", runs(), err)
		}
		// The first process of the short one may be at its end still.
		images, _ = filepath.Glob(filepath.Join(b.opts.Dir, "images", "sha256-*", "root"))
	}
	if len(images) != 0 {
		t.Errorf("an image that nobody uses is there: %v", images)
	}
	b.gone(t)
}
