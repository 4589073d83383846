package docker_test

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/docker"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/docker/dockertest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

func TestMain(m *testing.M) {
	switch arg := append(os.Args, "")[1]; arg {
	case executortest.ProbeCommand:
		os.Exit(executortest.Probe(os.Args[2:]))
	case executortest.GuestCommand:
		os.Exit(executortest.Guest(os.Args[2:], nil))
	case executortest.OwnerCommand:
		os.Exit(executortest.Owner(os.Args[2:], func(o docker.Options) executor.Runtime { return docker.New(o).Runtime() }))
	}
	os.Exit(m.Run())
}

// bench is a runtime on a server of its own, and an image.
type bench struct {
	executortest.Bench
	opts docker.Options
	e    *docker.Executor
	s    *docker.Server
}

func newBench(t *testing.T, server *dockertest.Server) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	opts := docker.Options{Socket: server.Socket, Options: sandbox.Options{Dir: filepath.Join(dir, "docker"), CDIDirs: []string{filepath.Join(dir, "cdi")}}}
	e := docker.New(opts)
	s, err := docker.Open(t.Context(), server.Socket, "the test")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", *s)
	return &bench{executortest.Bench{
		Runtime: e.Runtime(), Image: containerdtest.Image(t), Program: containerdtest.Program,
		Options: opts, Dir: opts.Dir, Sweep: e.Sweep,
	}, opts, e, s}
}

// empty fails the test when a run left anything.
func (b *bench) empty(t *testing.T) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(b.opts.Dir, "runs", "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if runs, err := b.e.Runs(t.Context()); err != nil || len(runs) > 0 {
		t.Errorf("left containers of %v, %v", runs, err)
	}
}

// TestDocker is about Docker of root, TestPodman about Podman of root, and TestRootless
// about Podman of an ordinary user.
func TestDocker(t *testing.T) { all(t, dockertest.Docker(t)) }

func TestPodman(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("TestRootless is that of an ordinary user")
	}
	all(t, dockertest.Podman(t))
}

func TestRootless(t *testing.T) {
	if os.Getuid() == 0 {
		dockertest.Ordinary(t, "TestRootless")
		return
	}
	all(t, dockertest.Podman(t))
}

func all(t *testing.T, server *dockertest.Server) {
	b := newBench(t, server)
	for _, tt := range []struct {
		name string
		test func(*testing.T, *bench)
	}{
		{"Conformance", testConformance},
		{"Look", func(t *testing.T, b *bench) { b.Look(t, nil) }},
		{"Try", testTry},
		{"User", func(t *testing.T, b *bench) { b.User(t) }},
		{"Umask", func(t *testing.T, b *bench) { b.Umask(t) }},
		{"Limits", func(t *testing.T, b *bench) { b.Limits(t, math.MaxInt64) }},
		{"Kills", func(t *testing.T, b *bench) { b.Kills(t, b.empty) }},
		{"Devices", testDevices},
		{"Freeze", testFreeze},
		{"Image", testImage},
		{"Orphan", testOrphan},
		{"Resume", func(t *testing.T, b *bench) { b.Resume(t) }},
		{"KilledOwners", func(t *testing.T, b *bench) { b.KilledOwners(t, 50*time.Millisecond) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && slices.Contains(apart, tt.name) {
				t.Skip("in other processes, which the race detector does not see")
			}
			tt.test(t, b)
		})
		b.empty(t)
	}
}

// apart are the tests of what other processes do.
var apart = []string{"User", "Umask", "Kills", "Devices", "Image", "Orphan", "Resume", "KilledOwners"}

func testConformance(t *testing.T, b *bench) {
	executortest.Run(t, executortest.Target{Runtime: b.Runtime, Program: b.Program, Image: b.Image, Extra: []string{"HOME"}})
}

func testTry(t *testing.T, b *bench) {
	b.Try(t, func(exit executor.Exit) map[string]string {
		if exit.Enforced["landlock"] != "on" { // before Linux 6.12, or refused by the server's list of system calls
			return map[string]string{"kill the pause": "done"}
		}
		return nil
	})
}

// testDevices gives a device by its description, which the tested servers leave to mleflow.
func testDevices(t *testing.T, b *bench) { b.Devices(t, b.opts.CDIDirs[0], "") }

// testFreeze stops all processes of a command and lets them continue.
func testFreeze(t *testing.T, b *bench) {
	host := executortest.OpenDir(t)
	beat := func() string { text, _ := os.ReadFile(filepath.Join(host, "beat")); return string(text) }
	changes := func(old string) bool {
		for range 600 {
			if beat() != old {
				return true
			}
			time.Sleep(20 * time.Millisecond)
		}
		return false
	}
	spec := b.Spec(t)
	spec.Command = []string{b.Program, executortest.ProbeCommand, "heartbeat", "/home/work/beat"}
	spec.Mounts = []executor.Mount{{Host: host, Guest: "/home/work"}}
	ctx, cancel := context.WithCancel(t.Context())
	var freeze func(context.Context) (func(), error)
	spec.OnFreezer = func(f func(context.Context) (func(), error)) { freeze = f }
	spec.OnStart = func(time.Time) {
		go func() {
			defer cancel()
			if !changes("") {
				t.Error("it never ran")
			}
			thaw, err := freeze(ctx)
			if err != nil {
				t.Errorf("freeze: %v", err)
				return
			}
			before := beat()
			time.Sleep(300 * time.Millisecond) // fifteen beats of one that is alive
			if now := beat(); now != before {
				t.Errorf("frozen, it went from %s to %s", before, now)
			}
			if thaw(); !changes(before) {
				t.Error("it did not continue")
			}
		}()
	}
	if _, err := b.Runtime.Executor.Run(ctx, spec, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// testImage uses an image with content at a mount, an owner's label of the runtime and a
// volume.
func testImage(t *testing.T, b *bench) {
	recipe, err := containerdtest.Recipe()
	if err != nil {
		t.Fatal(err)
	}
	recipe.Files = append(recipe.Files, image.File{Guest: "/home/seed/deep/file", Text: "from the image"}, image.File{Guest: "/vol/file", Text: "in a volume"})
	made, err := (&image.Builder{Dir: t.TempDir()}).Build(t.Context(), recipe, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	host := executortest.OpenDir(t)
	spec := b.Spec(t, "stat", "/home/seed/deep/file", "/vol/file")
	spec.Image = made.Path
	spec.Mounts = []executor.Mount{{Host: host, Guest: "/home/seed", CopyUp: true}}
	var got map[string]string
	if exit := b.Run(t, spec, &got); !exit.OK() || got["/home/seed/deep/file"] != "from the image" || got["/vol/file"] != "in a volume" {
		t.Errorf("%+v: %q", exit, got)
	}
	if text, err := os.ReadFile(filepath.Join(host, "deep", "file")); err != nil || string(text) != "from the image" {
		t.Errorf("on the host: %q, %v", text, err)
	}
	if err := b.e.Purge(t.Context()); err != nil {
		t.Errorf("purge: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(b.opts.Dir, "loaded", "*")); len(left) > 0 {
		t.Errorf("images are left: %v", left)
	}
	if exit := b.Run(t, spec, &got); !exit.OK() { // it is loaded once more
		t.Errorf("got %+v", exit)
	}
}

// testOrphan removes the container of an owner that died before it could record it.
func testOrphan(t *testing.T, b *bench) {
	spec := b.Resumable(t, 1000)
	spec.ID = t.Name()
	executortest.Slower(t, func(int) string { return executortest.KillOwner(t, b.Order(spec), "tick 1") })
	if err := os.RemoveAll(filepath.Join(b.opts.Dir, "runs")); err != nil {
		t.Fatal(err)
	}
	if runs, err := b.e.Runs(t.Context()); err != nil || len(runs) != 1 {
		t.Fatalf("runs %v, %v", runs, err)
	}
	if err := b.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	b.Gone(t)
}
