package docker_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/docker"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/docker/dockertest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
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
	opts := docker.Options{Socket: server.Socket, Dir: filepath.Join(dir, "docker"), CDIDirs: []string{filepath.Join(dir, "cdi")}}
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
		{"Resume", func(t *testing.T, b *bench) { b.Resume(t) }},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, b) })
		b.empty(t)
	}
}

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

var _ = slices.Contains[[]string]
var _ = strings.Cut
