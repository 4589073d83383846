package process_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
)

func TestMain(m *testing.M) {
	switch arg := append(os.Args, "")[1]; arg {
	case executortest.ProbeCommand:
		os.Exit(executortest.Probe(os.Args[2:]))
	case "run-family":
		runFamily(os.Args[2])
	case "run-storm":
		runStorm(os.Args[2])
	case "storm":
		storm(os.Args[2] == "sessions")
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

// TestReusedSupervisor runs commands one after another below the same supervisor,
// and sees that none has to do with the one before.
func TestReusedSupervisor(t *testing.T) {
	e, dir := process.New(""), t.TempDir()
	kept := filepath.Join(dir, "kept")
	if err := os.Mkdir(kept, 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(spec executor.Spec, script string) (executor.Exit, string) {
		t.Helper()
		var out, logs bytes.Buffer
		spec.Command, spec.Dir, spec.Stdout = []string{"/bin/sh", "-c", "echo $PPID; " + script}, dir, &out
		spec.Env = map[string]string{"PATH": "/usr/bin:/bin"}
		exit, err := e.Run(t.Context(), spec, &logs)
		if err != nil || !exit.OK() {
			t.Fatalf("%s: got %+v, %v, %s", script, exit, err, logs.String())
		}
		first, rest, _ := strings.Cut(out.String(), "\n")
		return exit, first + rest
	}
	heavy, first := run(executor.Spec{}, "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; "+"x=$(head -c 30000000 /dev/zero | tr '\\0' x); : $x")
	light, next := run(executor.Spec{}, ":")
	if next != first {
		t.Fatalf("the supervisors are %s and %s, not one", first, next)
	}
	if light.CPU >= heavy.CPU || light.PeakMemoryBytes >= heavy.PeakMemoryBytes {
		t.Errorf("a command that does nothing has used %v and %d bytes, the one before %v and %d", light.CPU, light.PeakMemoryBytes, heavy.CPU, heavy.PeakMemoryBytes)
	}
	_, next = run(executor.Spec{
		Limits: executor.Limits{FileBytes: 1024, Processes: 100},
		Mounts: []executor.Mount{{Host: kept, Guest: kept, ReadOnly: true}},
	}, "ulimit -f >&2")
	if next != first {
		t.Errorf("a command with limits has another supervisor")
	}
	if _, next = run(executor.Spec{}, "head -c 9999 /dev/zero > kept/file; ulimit -f"); next != first+"unlimited\n" {
		t.Errorf("after a command with limits: got %q", next)
	}
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil { // it has nothing to end
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitZombie(t, pid)
	_, next = run(executor.Spec{}, ":")
	if next == first {
		t.Error("a dead supervisor has run a command")
	}
	if pid, err = strconv.Atoi(next); err != nil {
		t.Fatal(err)
	}
	for range 6000 {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("a supervisor waits for commands that do not come")
}

// stormProcesses is how many processes a storm may have, and stormSeconds after how
// long it ends by itself, whatever becomes of it.
const (
	stormProcesses = 100
	stormSeconds   = 60
)

// runStorm lets a storm rage until half of its processes are born, and a while
// longer, and prints how it ended, after a dot for each process.
func runStorm(kind string) {
	ctx, cancel := context.WithCancel(context.Background())
	born := &births{enough: func() { time.AfterFunc(time.Second, cancel) }}
	_, err := process.New("").Run(ctx, executor.Spec{
		Command: []string{"/proc/self/exe", "storm", kind}, Env: map[string]string{"PATH": "/bin"}, Dir: "/",
		Limits: executor.Limits{Grace: 10 * time.Millisecond, Processes: stormProcesses},
	}, born)
	fmt.Println(err)
	os.Exit(0)
}

// births counts the dots of a storm and passes them on.
type births struct {
	n      int
	enough func()
}

func (b *births) Write(p []byte) (int, error) {
	before := b.n
	b.n += bytes.Count(p, []byte("."))
	if before < stormProcesses/2 && b.n >= stormProcesses/2 {
		b.enough()
	}
	return os.Stderr.Write(p)
}

// storm forks as fast as the kernel lets it, in every process again. With
// sessions each process leads one of its own. Nothing of Go's is used after the
// first fork.
func storm(sessions bool) {
	runtime.LockOSThread()
	var own unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NPROC, &own)
	own.Max = min(own.Max, stormProcesses+50)
	own.Cur = own.Max
	if err != nil || os.Geteuid() == 0 || unix.Setrlimit(unix.RLIMIT_NPROC, &own) != nil {
		os.Exit(3)
	}
	pause, now, dot := syscall.Timespec{Nsec: 1e6}, syscall.Timespec{}, byte('.')
	for deadline := time.Now().Unix() + stormSeconds; now.Sec < deadline; {
		syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, unix.CLOCK_REALTIME, uintptr(unsafe.Pointer(&now)), 0)
		if sessions {
			syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0)
		}
		switch pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0); {
		case errno != 0:
			syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&pause)), 0, 0)
		case pid == 0:
			syscall.RawSyscall(syscall.SYS_WRITE, 1, uintptr(unsafe.Pointer(&dot)), 1)
		}
	}
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
}

// TestForkStorm ends two storms, of which nothing is left. They run as another
// user, whom the kernel holds to the limit of processes.
func TestForkStorm(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	for _, kind := range []string{"group", "sessions"} {
		t.Run(kind, func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe", "run-storm", kind)
			cmd.Dir = "/"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 64999, Gid: 64999}}
			out, err := cmd.CombinedOutput()
			left := stormPIDs(kind)
			for _, pid := range left {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			if err != nil || !strings.HasSuffix(string(out), "context canceled\n") {
				t.Errorf("got %.100q…, %v", out, err)
			}
			if born := strings.Count(string(out), "."); len(left) > 0 || born < stormProcesses/2 {
				t.Errorf("%d processes are left of %d that were born", len(left), born)
			}
		})
	}
}

// stormPIDs lists the processes of a storm.
func stormPIDs(kind string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && strings.HasSuffix(string(line), "\x00storm\x00"+kind+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
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

// awaitZombie waits until all threads of a killed process have ended.
func awaitZombie(t *testing.T, pid int) {
	t.Helper()
	for range 60_000 {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		if len(threads) == 0 {
			return
		}
		stat, err := os.ReadFile(threads[0])
		if err != nil || len(threads) == 1 && strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("process %d did not end", pid)
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
	for range 600 {
		time.Sleep(100 * time.Millisecond)
		after := read()
		if before == after {
			return
		}
		before = after
	}
	t.Error("processes are alive a minute after their owner died")
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
	t.Run("wrong program", func(t *testing.T) {
		_, err := process.New("/bin/true").Run(t.Context(), executor.Spec{Command: []string{"/bin/true"}}, &bytes.Buffer{})
		if err == nil || !strings.Contains(err.Error(), "without a report") {
			t.Errorf("got %v", err)
		}
	})
}
