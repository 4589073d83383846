package process_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/executor"
	"github.com/mleflow/mleflow/plugins/executor/executortest"
	"github.com/mleflow/mleflow/plugins/executor/process"
)

func TestMain(m *testing.M) {
	switch arg := append(os.Args, "")[1]; arg {
	case process.SuperviseCommand:
		os.Exit(process.Supervise())
	case executortest.ProbeCommand:
		os.Exit(executortest.Probe(os.Args[2:]))
	case "run-family":
		runFamily(os.Args[2])
	}
	os.Exit(m.Run())
}

func TestConformance(t *testing.T) {
	executortest.Run(t, executortest.Target{
		Runtime: process.Runtime(""),
		Program: program(t),
		Extra:   []string{process.MarkerVariable},
	})
}

func program(t *testing.T) string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// runFamily is an mleflow that will be killed.
func runFamily(dir string) {
	self, _ := os.Executable()
	fmt.Println("started")
	_, err := process.New("").Run(context.Background(), executor.Spec{
		Command: []string{self, executortest.ProbeCommand, "family", dir, "4"},
		Env:     map[string]string{"PATH": "/bin"},
		Dir:     dir,
	}, os.Stderr)
	fmt.Println(err)
	os.Exit(0)
}

// TestKilledOwner kills the process that called Run, as kill -9 of mleflow
// would, and sees that nothing it started lives on.
func TestKilledOwner(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(program(t), "run-family", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	bufio.NewReader(out).ReadString('\n')
	for _, name := range []string{"parent", "0", "1", "2", "3"} {
		awaitFile(t, filepath.Join(dir, name))
	}
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Wait()
	awaitStill(t, dir, "parent", "0", "1", "2", "3")
}

// TestKilledSupervisor kills the supervisor itself: the run is an error, and
// what has kept the marker dies.
func TestKilledSupervisor(t *testing.T) {
	dir := t.TempDir()
	var logs bytes.Buffer
	_, err := process.New("").Run(t.Context(), executor.Spec{
		Command: []string{"/bin/sh", "-c", "(while :; do date +%N > beat; sleep 0.02; done) & while [ ! -s beat ]; do sleep 0.05; done; kill -9 $PPID; sleep 60"},
		Env:     map[string]string{"PATH": "/usr/bin:/bin"},
		Dir:     dir,
	}, &logs)
	if err == nil || !strings.Contains(err.Error(), "without a report") {
		t.Errorf("got %v, want an error that the supervisor ended", err)
	}
	awaitStill(t, dir, "beat")
}

func awaitFile(t *testing.T, name string) {
	t.Helper()
	for range 3000 {
		if _, err := os.Stat(name); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s did not appear", name)
}

// awaitStill waits until the files stop changing.
func awaitStill(t *testing.T, dir string, names ...string) {
	t.Helper()
	read := func() (all string) {
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all += strconv.Quote(string(data))
		}
		return all
	}
	before := read()
	for range 20 {
		time.Sleep(100 * time.Millisecond)
		after := read()
		if before == after {
			return
		}
		before = after
	}
	t.Error("processes are alive two seconds after their owner died")
}

func TestGuards(t *testing.T) {
	t.Run("image", func(t *testing.T) {
		_, err := process.New("").Run(t.Context(), executor.Spec{Image: "x", Command: []string{"true"}}, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), "no images") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no command", func(t *testing.T) {
		_, err := process.New("").Run(t.Context(), executor.Spec{}, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), "no command") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("by hand", func(t *testing.T) {
		if got := process.Supervise(); got != 2 {
			t.Errorf("Supervise outside a supervisor: status %d, want 2", got)
		}
	})
	t.Run("wrong program", func(t *testing.T) {
		_, err := process.New("/bin/true").Run(t.Context(), executor.Spec{Command: []string{"true"}}, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), "without a report") {
			t.Errorf("got %v", err)
		}
	})
}
