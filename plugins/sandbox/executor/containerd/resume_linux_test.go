package containerd_test

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
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/containerd/v2/pkg/cio"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
)

// order is what it is told: where the daemon is, and what of a Spec can be
// written down.
type order struct {
	Options   containerd.Options
	ID, Image string
	Command   []string
	Timeout   time.Duration
	Resume    bool
	Mounts    []executor.Mount
	// Services are the variables of its services.
	Services []string
	// Dir is where it makes a volume, unless it is empty.
	Dir string
}

func (b *bench) order(spec executor.Spec) order {
	o := order{
		Options: b.daemon.Options, ID: spec.ID, Image: spec.Image, Command: spec.Command,
		Timeout: spec.Limits.Timeout, Resume: spec.Resume, Mounts: spec.Mounts,
	}
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
	e := containerd.New(o.Options)
	if o.Dir != "" {
		if _, err := e.Volume(context.Background(), executor.VolumeSpec{Dir: o.Dir, Bytes: 8 << 20}); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	spec := executor.Spec{
		ID: o.ID, Image: o.Image, Command: o.Command, Dir: "/", Resume: o.Resume, Mounts: o.Mounts,
		Limits: executor.Limits{Timeout: o.Timeout, Grace: 200 * time.Millisecond},
	}
	for _, name := range o.Services {
		spec.Services = append(spec.Services, executor.Service{Name: name, Env: name})
	}
	serve(&spec, "old")
	exit, err := e.Run(context.Background(), spec, os.Stdout)
	fmt.Println(exit, err)
	return 0
}

// serve gives the spec a service where it asks for one.
func serve(spec *executor.Spec, text string) {
	for i := range spec.Services {
		spec.Services[i].Serve = func(_ context.Context, l net.Listener) error {
			return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
		}
	}
}

// tick is the time between two lines of the command "ticks".
const tick = 100 * time.Millisecond

func (b *bench) resumable(t *testing.T, ticks int) executor.Spec {
	spec := b.Spec(t, "ticks", fmt.Sprint(ticks))
	spec.Resume = true
	return spec
}

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

// testEndedMeanwhile resumes a command that has ended without an owner. It says why
// it could not.
func testEndedMeanwhile(t *testing.T, b *bench, ticks int) string {
	spec := b.resumable(t, ticks)
	began := time.Now()
	if problem := executortest.KillOwner(t, b.order(spec), "tick 1"); problem != "" {
		return problem
	}
	for slices.ContainsFunc(programs(b), func(p string) bool { return strings.Contains(p, executortest.GuestCommand) }) {
		time.Sleep(10 * time.Millisecond)
	}
	ended := time.Since(began)
	var logs bytes.Buffer
	exit, err := b.e.Run(t.Context(), spec, &logs)
	if err == nil && !exit.Resumed {
		return "the command is not resumed"
	}
	if err != nil || !exit.OK() || exit.Wall > ended {
		t.Errorf("got %+v, %v after %v", exit, err, ended)
	}
	executortest.WantTicks(t, logs.String(), ticks)
	return ""
}

func testResume(t *testing.T, b *bench) {
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
		executortest.Slower(t, func(factor int) string { return testEndedMeanwhile(t, b, 3*factor) })
	})
	t.Run("time limit", func(t *testing.T) {
		executortest.Slower(t, func(factor int) string {
			spec := b.resumable(t, 1000)
			spec.Limits.Timeout = time.Duration(factor) * time.Second
			if problem := executortest.KillOwner(t, b.order(spec), "tick 1"); problem != "" {
				return problem
			}
			exit, err := b.e.Run(t.Context(), spec, io.Discard)
			if err != nil || exit.Reason != executor.TimedOut || exit.Wall < spec.Limits.Timeout || exit.Wall > spec.Limits.Timeout+time.Minute {
				t.Errorf("got %+v, %v", exit, err)
			}
			return ""
		})
	})
	t.Run("time limit without an owner", func(t *testing.T) { testGuard(t, b) })
	t.Run("service", func(t *testing.T) { testResumedService(t, b) })
	t.Run("late container", func(t *testing.T) { testLateContainer(t, b) })
	t.Run("not left", func(t *testing.T) { testNotLeft(t, b) })
	t.Run("taken port", func(t *testing.T) { testTakenPort(t, b) })
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

// testRestart restarts the daemon under a running command.
func testRestart(t *testing.T, b *bench) {
	spec, started := b.resumable(t, 30), make(chan struct{})
	spec.OnStart = func(time.Time) { close(started) } // the command may print before the daemon has answered
	var logs bytes.Buffer
	exit, err := b.e.Run(t.Context(), spec, &onFirst{w: &logs, do: func() {
		<-started
		b.daemon.Restart(t)
	}})
	if err != nil || !exit.OK() {
		t.Errorf("got %+v, %v", exit, err)
	}
	executortest.WantTicks(t, logs.String(), 30)
}

// onFirst does something next to the first write, once.
type onFirst struct {
	w    io.Writer
	do   func()
	once sync.Once
}

func (o *onFirst) Write(p []byte) (int, error) {
	o.once.Do(func() { go o.do() })
	return o.w.Write(p)
}

// testGuard kills the owner of a command that then exceeds its time with
// nobody watching but the log's keeper.
func testGuard(t *testing.T, b *bench) {
	spec := b.resumable(t, 1000)
	executortest.Slower(t, func(factor int) string {
		spec.Limits.Timeout = time.Duration(factor) * time.Second
		return executortest.KillOwner(t, b.order(spec), "tick 1")
	})
	for range 1200 {
		if len(programs(b)) == 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if alive := programs(b); len(alive) > 0 {
		t.Errorf("alive long after the time limit: %v", alive)
	}
	exit, err := b.e.Run(t.Context(), spec, io.Discard)
	if err != nil || exit.Reason != executor.TimedOut || !exit.Resumed {
		t.Errorf("got %+v, %v", exit, err)
	}
}

// testResumedService sees that the service of the new owner answers.
func testResumedService(t *testing.T, b *bench) {
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
}

// testLateContainer has the daemon make a container and a snapshot for the run while
// that goes on, as it does if the process that asked for them died at once: they go
// with the run.
func testLateContainer(t *testing.T, b *bench) {
	c := b.client(t)
	make := func() {
		now, err := c.ContainerService().List(t.Context())
		if err != nil || len(now) != 1 {
			t.Errorf("%d containers, %v", len(now), err)
			return
		}
		late := now[0]
		late.ID, late.SnapshotKey = "mleflow-late", "mleflow-late-too"
		_, err = c.ContainerService().Create(t.Context(), late)
		state := snapshots.WithLabels(map[string]string{"mleflow.state": late.Labels["mleflow.state"]})
		for _, key := range []string{"mleflow-late-too", "mleflow-late-alone"} {
			_, bad := c.SnapshotService(late.Snapshotter).Prepare(t.Context(), key, "", state)
			err = errors.Join(err, bad)
		}
		if err != nil {
			t.Error(err)
		}
	}
	done := &onFirst{w: io.Discard, do: make}
	exit, err := b.e.Run(t.Context(), b.resumable(t, 10), done)
	if err != nil || !exit.OK() {
		t.Errorf("got %+v, %v", exit, err)
	}
	b.empty(t)
}

// testNotLeft asks for a command of a dead process that is not there in a container
// that is: nobody must find it again, as its folders are removed.
func testNotLeft(t *testing.T, b *bench) {
	spec := b.resumable(t, 1000)
	executortest.Kill(executortest.StartOwner(t, b.order(spec), "tick 1"))
	c := b.client(t)
	list, err := c.Containers(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%d containers, %v", len(list), err)
	}
	if found, err := b.e.Runtime().Left(t.Context(), spec.ID); err != nil || !found {
		t.Fatalf("a command that runs: %v, %v", found, err)
	}
	task, err := list[0].Task(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	process, err := task.LoadProcess(t.Context(), "command", func(*cio.FIFOSet) (cio.IO, error) { return cio.NullIO("") })
	if err != nil {
		t.Fatal(err)
	}
	exited, err := process.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(t.Context(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-exited
	if _, err := process.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found, err := b.e.Runtime().Left(t.Context(), spec.ID); err != nil || found {
		t.Errorf("got %v, %v", found, err)
	}
	if list, err := c.Containers(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("%d containers are left, %v", len(list), err)
	}
	spec.Command = b.Spec(t, "ticks", "2").Command
	exit, err := b.e.Run(t.Context(), spec, io.Discard)
	if err != nil || !exit.OK() || exit.Resumed {
		t.Errorf("got %+v, %v", exit, err)
	}
}

// client speaks to the daemon.
func (b *bench) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(b.daemon.Options.Socket, client.WithDefaultNamespace(b.daemon.Options.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// testTakenPort resumes a command that listens on its service's port itself by
// now: it continues, without the service.
func testTakenPort(t *testing.T, b *bench) {
	spec := b.resumable(t, 0)
	dir := executortest.OpenDir(t)
	spec.Command = []string{containerdtest.Program, executortest.GuestCommand, "takes", "ANSWERS", "/home/work/taken"}
	spec.Mounts = []executor.Mount{{Host: dir, Guest: "/home/work"}}
	spec.Services = []executor.Service{{Name: "answers", Env: "ANSWERS"}}
	executortest.Kill(executortest.StartOwner(t, b.order(spec), "ready"))
	for limit := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // else the next owner may be first
		if _, err := os.Stat(filepath.Join(dir, "taken")); err == nil {
			break
		} else if time.Now().After(limit) {
			t.Fatal("the guest does not get the port")
		}
	}
	executortest.Kill(executortest.StartOwner(t, b.order(spec), "taken"))
	serve(&spec, "new")
	ctx, cancel := context.WithCancelCause(t.Context())
	seen := errors.New("it goes on")
	spec.OnStart = func(time.Time) { cancel(seen) }
	exit, err := b.e.Run(ctx, spec, io.Discard)
	if !errors.Is(err, seen) || !exit.Resumed || !slices.Equal(exit.LostServices, []string{"answers"}) {
		t.Errorf("got %+v, %v", exit, err)
	}
}

// guestTakes takes the port of its service as soon as it is free, and then writes a
// file.
func guestTakes(args []string) any {
	address := strings.TrimPrefix(os.Getenv(args[0]), "http://")
	fmt.Println("ready")
	for {
		l, err := net.Listen("tcp4", address)
		if err == nil {
			defer l.Close()
			break
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Println("taken")
	if err := os.WriteFile(args[1], nil, 0o644); err != nil {
		return err.Error()
	}
	time.Sleep(time.Hour)
	return nil
}

// testKilledOwners kills owners at all moments. What comes after finds the
// command or starts it again, and nothing is left in the end.
func testKilledOwners(t *testing.T, b *bench) {
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
	if err := b.e.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	b.empty(t)
}

// testKilledOwner kills an owner at the moment i and runs its command to the end.
func testKilledOwner(t *testing.T, b *bench, i, ticks int) executor.Exit {
	t.Helper()
	spec := b.resumable(t, ticks)
	spec.ID = fmt.Sprint(t.Name(), i)
	executortest.KillOwnerAt(t, b.order(spec), i, 40*time.Millisecond, "tick 1")
	if err := b.e.Sweep(t.Context()); err != nil {
		t.Errorf("sweep: %v", err)
	}
	var logs bytes.Buffer
	exit, err := b.e.Run(t.Context(), spec, &logs)
	if err != nil || !exit.OK() {
		t.Errorf("killed after %d ms: %+v, %v", i*40, exit, err)
	}
	executortest.WantTicks(t, logs.String(), ticks)
	return exit
}

// testKilledCopyUp kills an owner while it copies from the image that it has
// mounted.
func testKilledCopyUp(t *testing.T, b *bench) {
	mounted := func() bool {
		text, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(text, []byte(b.daemon.Options.StateDir+"/runs/"))
	}
	// A process that has ended and that nobody has waited for takes signals; waitid tells its end.
	runs := func(pid int) bool {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		return err == nil && info.Signo == 0
	}
	for i := range 50 {
		spec := b.Spec(t, "look")
		spec.ID = fmt.Sprint(t.Name(), i)
		spec.Mounts = []executor.Mount{{Host: t.TempDir(), Guest: "/usr/bin", CopyUp: true}}
		cmd := executortest.StartOwner(t, b.order(spec), "")
		for !mounted() && runs(cmd.Process.Pid) {
			continue
		}
		executortest.Kill(cmd)
		if !mounted() {
			continue // it was done already
		}
		if err := b.e.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if mounted() {
			t.Error("the image of a killed process is mounted still")
		}
		b.empty(t)
		return
	}
	t.Error("no owner was killed with its image mounted")
}

// testSweepSlowShim sweeps away a command whose shim answers nobody for a while, as
// on a machine with too much to do.
func testSweepSlowShim(t *testing.T, b *bench) {
	executortest.Kill(executortest.StartOwner(t, b.order(b.Spec(t, "ticks", "1000")), "tick"))
	inv, err := b.daemon.Inventory(t.Context())
	if err != nil || len(inv.Shims) != 1 {
		t.Fatalf("got %+v, %v, want one shim", inv, err)
	}
	pid := shimOf(t, inv.Shims[0])
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	again := time.AfterFunc(5*time.Second, func() { syscall.Kill(pid, syscall.SIGCONT) })
	defer again.Stop()
	if err := b.e.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	b.empty(t)
}

// shimOf returns the process that looks after a container.
func shimOf(t *testing.T, id string) int {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && bytes.Contains(text, []byte("containerd-shim")) && bytes.Contains(text, []byte("\x00"+id+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			return pid
		}
	}
	t.Fatalf("no shim of %s", id)
	return 0
}

func testSweep(t *testing.T, b *bench) {
	short, long := b.Spec(t, "ticks", "1000"), b.resumable(t, 1000)
	live := b.resumable(t, 1000)
	short.ID, long.ID, live.ID = "short", "long", "live"
	dir := t.TempDir() + "/volume"
	volumed := b.order(short)
	volumed.Dir = dir
	executortest.Kill(executortest.StartOwner(t, volumed, "tick"))
	executortest.Kill(executortest.StartOwner(t, b.order(long), "tick"))
	running := executortest.StartOwner(t, b.order(live), "tick")
	if err := b.e.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.leaves(t, "the one that may be resumed, the one that is held and a fresh volume", func(inv containerdtest.Inventory) bool {
		return len(inv.Tasks) == 2 && len(inv.Snapshots) == 2 && len(inv.Runs) == 2 && len(inv.Volumes) == 1
	})
	if err := b.e.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.leaves(t, "the one that is held", func(inv containerdtest.Inventory) bool {
		return len(inv.Tasks) == 1 && len(inv.Volumes) == 0 && len(inv.Loops) == 0
	})
	executortest.Kill(running)
	if err := b.e.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
}
