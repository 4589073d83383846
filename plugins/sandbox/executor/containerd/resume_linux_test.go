package containerd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
)

func testResume(t *testing.T, b *bench) {
	b.Resume(t)
	t.Run("late container", func(t *testing.T) { testLateContainer(t, b) })
	t.Run("not left", func(t *testing.T) { testNotLeft(t, b) })
	t.Run("taken port", func(t *testing.T) { testTakenPort(t, b) })
}

func testKilledOwners(t *testing.T, b *bench) {
	b.KilledOwners(t, 40*time.Millisecond)
	if err := b.e.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	b.empty(t)
}

// testRestart restarts the daemon under a running command.
func testRestart(t *testing.T, b *bench) {
	spec, started := b.Resumable(t, 30), make(chan struct{})
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
	exit, err := b.e.Run(t.Context(), b.Resumable(t, 10), done)
	if err != nil || !exit.OK() {
		t.Errorf("got %+v, %v", exit, err)
	}
	b.empty(t)
}

// testNotLeft asks for a command of a dead process that is not there in a container
// that is: nobody must find it again, as its folders are removed.
func testNotLeft(t *testing.T, b *bench) {
	spec := b.Resumable(t, 1000)
	executortest.Kill(executortest.StartOwner(t, b.Order(spec), "tick 1"))
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
	spec := b.Resumable(t, 0)
	dir := executortest.OpenDir(t)
	spec.Command = []string{containerdtest.Program, executortest.GuestCommand, "takes", "ANSWERS", "/home/work/taken"}
	spec.Mounts = []executor.Mount{{Host: dir, Guest: "/home/work"}}
	spec.Services = []executor.Service{{Name: "answers", Env: map[string]string{"ANSWERS": executor.Address}}}
	executortest.Kill(executortest.StartOwner(t, b.Order(spec), "ready"))
	for limit := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // else the next owner may be first
		if _, err := os.Stat(filepath.Join(dir, "taken")); err == nil {
			break
		} else if time.Now().After(limit) {
			t.Fatal("the guest does not get the port")
		}
	}
	executortest.Kill(executortest.StartOwner(t, b.Order(spec), "taken"))
	executortest.Serve(&spec, "new")
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
		cmd := executortest.StartOwner(t, b.Order(spec), "")
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
	executortest.Kill(executortest.StartOwner(t, b.Order(b.Ticks(t, 1000)), "tick"))
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
	short, long := b.Ticks(t, 1000), b.Resumable(t, 1000)
	live := b.Resumable(t, 1000)
	short.ID, long.ID, live.ID = "short", "long", "live"
	dir := t.TempDir() + "/volume"
	volumed := b.Order(short)
	volumed.Dir = dir
	executortest.Kill(executortest.StartOwner(t, volumed, "tick"))
	executortest.Kill(executortest.StartOwner(t, b.Order(long), "tick"))
	running := executortest.StartOwner(t, b.Order(live), "tick")
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
