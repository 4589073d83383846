package executortest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// settle is the first time limit of commands that must have started and taken their
// ground before it.
const settle = time.Second

// Target is the runtime under test.
type Target struct {
	Runtime executor.Runtime
	// Program is the path of the test program in the guest; Image is the image.
	Program, Image string
	// Extra are the names of variables that the runtime is documented to add.
	Extra []string
	// UTF8 means that the runtime rejects variables that are not valid UTF-8.
	UTF8 bool
	// Patience is how long Run may take, besides the time limits that a probe
	// waits for. 0 means two minutes, which a busy machine keeps too.
	Patience time.Duration
}

// Run runs the suite. When the runtime does not return from a probe, that test
// fails with the probe's name, and tests that start later are skipped.
func Run(t *testing.T, target Target) {
	target.Patience = cmp.Or(target.Patience, 2*time.Minute)
	hung := new(atomic.Bool)
	tests := []struct {
		name string
		test func(*testing.T, bench)
	}{
		{"ExitStatus", testExitStatus},
		{"Signal", testSignal},
		{"NotFound", testNotFound},
		{"ArgumentsAndDirectory", testArguments},
		{"EnvironmentIsExact", testEnvironment},
		{"Streams", testStreams},
		{"FailingWriter", testFailingWriter},
		{"NoDescriptorsLeak", testDescriptors},
		{"LogLimit", testLogLimit},
		{"PoliteAtTimeLimit", testPolite},
		{"DeafAtTimeLimit", testDeaf},
		{"FamilyAtTimeLimit", testFamily},
		{"StormAtTimeLimit", testStorm},
		{"OtherTimeLimit", testOtherLimit},
		{"DetachedChildDies", testDetached},
		{"HoppingChildDies", testHopping},
		{"Cancel", testCancel},
		{"CancelledBefore", testCancelledBefore},
		{"MemoryLimit", testMemoryLimit},
		{"FileLimit", testFileLimit},
		{"Usage", testUsage},
		{"Mounts", testMounts},
		{"ManyAtOnce", testMany},
		{"Services", testServices},
		{"FailingService", testFailingService},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if hung.Load() {
				t.Skip("the runtime hangs in another test")
			}
			host := t.TempDir()
			if err := os.Chmod(host, 0o777); err != nil { // the guest may run as another user
				t.Fatal(err)
			}
			tt.test(t, bench{Target: target, hung: hung, mount: executor.Mount{Host: host, Guest: "/home/work"}})
		})
	}
}

func testExitStatus(t *testing.T, b bench) {
	for _, code := range []int{0, 1, 42, 255} {
		exit, _ := b.run(t, b.spec("exit", fmt.Sprint(code)))
		if exit.Reason != executor.Exited || exit.Code != code || exit.OK() != (code == 0) {
			t.Errorf("exit %d: got %+v", code, exit)
		}
	}
}

func testSignal(t *testing.T, b bench) {
	exit, _ := b.run(t, b.spec("die", "9"))
	if exit.Reason != executor.Signalled || exit.Code != 137 {
		t.Errorf("got %+v, want signalled with status 137", exit)
	}
}

func testNotFound(t *testing.T, b bench) {
	for _, name := range []string{"/nonexistent/program", "no-such-program-anywhere"} {
		spec := b.spec()
		spec.Command = []string{name}
		_, err := b.call(t.Context(), spec, &bytes.Buffer{})
		if !errors.Is(err, executor.ErrStart) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want ErrStart that names it", name, err)
		}
	}
}

func testArguments(t *testing.T, b bench) {
	exit, out := b.run(t, b.spec("print", "a b", "", "$HOME", "*"))
	// Both streams go to one log, in no fixed order.
	const stderr = "to standard error\n"
	want := b.Runtime.Path(b.mount) + "\na b||$HOME|*\n"
	if !exit.OK() || strings.Count(out, stderr) != 1 || strings.Replace(out, stderr, "", 1) != want {
		t.Errorf("exit %+v, output\n%swant\n%sand, anywhere, %s", exit, out, want, stderr)
	}
}

func testEnvironment(t *testing.T, b bench) {
	spec := b.spec("env")
	spec.Prepend = map[string]string{"PATH": "/first", "NEW": "/only"}
	spec.Env = map[string]string{"PATH": "/bin", "A": "1", "BYTES": "\xff\xfe", "EMPTY": "", "SPACED": " x\ty "}
	if b.UTF8 {
		if _, err := b.call(t.Context(), spec, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "BYTES") {
			t.Errorf("a variable that cannot be passed on as it is: got %v", err)
		}
		spec.Env["BYTES"] = "\u20ac"
	}
	_, out := b.run(t, spec)
	var got []string
	for line := range strings.Lines(out) {
		name, _, _ := strings.Cut(line, "=")
		if !slices.Contains(b.Extra, name) {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	want := []string{"A=1", "BYTES=" + spec.Env["BYTES"], "EMPTY=", "NEW=/only", "PATH=/first:/bin", "SPACED= x\ty "}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func testStreams(t *testing.T, b bench) {
	spec := b.spec("echo")
	if _, out := b.run(t, spec); out != "0 <nil>\n" {
		t.Errorf("without input: got %q", out)
	}
	input := strings.Repeat("0123456789", 100_000)
	var stdout bytes.Buffer
	spec.Stdin, spec.Stdout = strings.NewReader(input), &stdout
	_, logs := b.run(t, spec)
	if stdout.String() != input || logs != "1000000 <nil>\n" {
		t.Errorf("got %d bytes of output and log %q", stdout.Len(), logs)
	}
}

// failingWriter fails as a full disk does.
type failingWriter struct{}

var errFull = errors.New("no space left")

func (failingWriter) Write([]byte) (int, error) { return 0, errFull }

func testFailingWriter(t *testing.T, b bench) {
	spec := b.spec("flood", "100000")
	spec.Stdout = failingWriter{}
	if exit, err := b.call(t.Context(), spec, &bytes.Buffer{}); !errors.Is(err, errFull) {
		t.Errorf("standard output cannot be kept: got %+v, %v, want %v", exit, err, errFull)
	}
	// A lost log does not fail a command.
	if exit, err := b.call(t.Context(), b.spec("flood", "1000"), failingWriter{}); err != nil || exit.LogDropped != 1000 {
		t.Errorf("the log cannot be kept: got %+v, %v", exit, err)
	}
}

func testDescriptors(t *testing.T, b bench) {
	if _, out := b.run(t, b.spec("descriptors")); out != "" {
		t.Errorf("the command holds descriptors that it should not:\n%s", out)
	}
}

func testLogLimit(t *testing.T, b bench) {
	spec := b.spec("flood", "5000000")
	spec.Limits.LogBytes = 12_345
	exit, out := b.run(t, spec)
	if !exit.OK() || len(out) != 12_345 || exit.LogDropped != 5_000_000-12_345 {
		t.Errorf("got %d bytes and %+v", len(out), exit)
	}
}

func testPolite(t *testing.T, b bench) {
	spec := b.spec("polite", "@asked")
	spec.Limits.Grace = time.Minute
	exit := b.settled(t, spec, "asked.ready")
	if exit.Reason != executor.TimedOut || exit.Code != 7 {
		t.Errorf("got %+v, want timed_out with status 7", exit)
	}
	if _, err := os.Stat(b.file("asked")); err != nil {
		t.Errorf("SIGTERM did not reach the command: %v", err)
	}
}

func testDeaf(t *testing.T, b bench) {
	spec := b.spec("deaf", "@beat")
	spec.Limits.Grace = 200 * time.Millisecond
	exit := b.settled(t, spec, "beat")
	if exit.Reason != executor.TimedOut || exit.Code != 137 {
		t.Errorf("got %+v, want timed_out with status 137", exit)
	}
	b.still(t, "beat")
}

func testFamily(t *testing.T, b bench) {
	spec := b.spec("family", b.Runtime.Path(b.mount), "8")
	spec.Limits.Grace = 100 * time.Millisecond
	family := []string{"parent", "0", "1", "7"}
	if exit := b.settled(t, spec, family...); exit.Reason != executor.TimedOut {
		t.Errorf("got %+v, want timed_out", exit)
	}
	for _, name := range family {
		b.still(t, name)
	}
}

// testStorm ends a command with as many children as MLEFLOW_STORM says, or as it could
// start within the time limit.
func testStorm(t *testing.T, b bench) {
	spec := b.spec("storm", cmp.Or(os.Getenv("MLEFLOW_STORM"), "500"))
	spec.Limits.Timeout, spec.Limits.Grace = settle, 100*time.Millisecond
	if exit, _ := b.run(t, spec); exit.Reason != executor.TimedOut {
		t.Errorf("got %+v, want timed_out", exit)
	}
}

// testOtherLimit replaces the time limit of commands by a longer and by a shorter one.
func testOtherLimit(t *testing.T, b bench) {
	for _, c := range []struct {
		first, then time.Duration
		want        executor.Reason
	}{{8 * time.Second, 2 * time.Minute, executor.Exited}, {2 * time.Minute, 2 * time.Second, executor.TimedOut}} {
		spec := b.spec("hold", "1", "10s")
		spec.Limits.Timeout = c.first
		var limit func(time.Duration) error
		spec.OnLimit = func(set func(time.Duration) error) { limit = set }
		spec.OnStart = func(time.Time) {
			go func() {
				if err := limit(c.then); err != nil {
					t.Errorf("set the limit: %v", err)
				}
			}()
		}
		if exit, _ := b.run(t, spec); exit.Reason != c.want {
			t.Errorf("%v, then %v: got %+v, want %s", c.first, c.then, exit, c.want)
		}
	}
}

func testDetached(t *testing.T, b bench) {
	exit, _ := b.run(t, b.spec("detach", "@beat"))
	if !exit.OK() || exit.Leftover != 1 {
		t.Errorf("got %+v, want status 0 and one left over", exit)
	}
	b.still(t, "beat")
}

func testHopping(t *testing.T, b bench) {
	exit, _ := b.run(t, b.spec("hop", "@beat", "first"))
	if !exit.OK() {
		t.Errorf("got %+v, want status 0", exit)
	}
	b.still(t, "beat")
}

func testCancel(t *testing.T, b bench) {
	cause := errors.New("the person pressed Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	spec, started := b.spec("polite", "@asked"), make(chan struct{})
	spec.OnStart = func(time.Time) { close(started) }
	go func() {
		<-started // before that, Run ends a command that has just started
		for range 6000 {
			if _, err := os.Stat(b.file("asked.ready")); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		cancel(cause)
	}()
	_, err := b.call(ctx, spec, &bytes.Buffer{})
	if !errors.Is(err, cause) {
		t.Errorf("got %v, want the cause of the cancellation", err)
	}
	if _, err := os.Stat(b.file("asked")); err != nil {
		t.Errorf("SIGTERM did not reach the command: %v", err)
	}
}

func testCancelledBefore(t *testing.T, b bench) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := b.call(ctx, b.spec("write", "@mark"), &bytes.Buffer{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if _, err := os.Stat(b.file("mark")); err == nil {
		t.Error("the command ran")
	}
}

func testMemoryLimit(t *testing.T, b bench) {
	spec := b.spec("hold", "300", "1m")
	spec.Limits.MemoryBytes = 100 << 20
	exit, _ := b.run(t, spec)
	if exit.Reason != executor.OutOfMemory {
		t.Errorf("got %+v, want out_of_memory", exit)
	}
}

func testFileLimit(t *testing.T, b bench) {
	spec := b.spec("write", "@big")
	spec.Limits.FileBytes = 3
	exit, _ := b.run(t, spec)
	if exit.OK() {
		t.Errorf("got %+v, want a failed write", exit)
	}
	if info, err := os.Stat(b.file("big")); err == nil && info.Size() > 3 {
		t.Errorf("the file has %d bytes", info.Size())
	}
}

func testUsage(t *testing.T, b bench) {
	exit, _ := b.run(t, b.spec("spin", "200ms"))
	if exit.CPU < 390*time.Millisecond || exit.CPU > 5*time.Second || exit.Wall < 200*time.Millisecond {
		t.Errorf("two processes that use 0.2 s each: got %+v", exit)
	}
	exit, _ = b.run(t, b.spec("hold", "150", "400ms"))
	if exit.PeakMemoryBytes < 150<<20 || exit.PeakMemoryBytes > 400<<20 {
		t.Errorf("holding 150 MiB: got %+v", exit)
	}
}

func testMounts(t *testing.T, b bench) {
	b.run(t, b.spec("write", "@file"))
	data, err := os.ReadFile(b.file("file"))
	if err != nil || string(data) != "written" {
		t.Errorf("got %q, %v", data, err)
	}
	if !b.Runtime.Isolates {
		return
	}
	spec := b.spec("write", "@other")
	spec.Mounts[0].ReadOnly = true
	if exit, _ := b.run(t, spec); exit.Code != 1 {
		t.Errorf("writing to a read-only folder: got %+v", exit)
	}
}

func testMany(t *testing.T, b bench) {
	errs := make(chan error)
	for i := range 8 {
		go func() {
			var out bytes.Buffer
			exit, err := b.call(t.Context(), b.spec("exit", fmt.Sprint(i)), &out)
			if err == nil && exit.Code != i {
				err = fmt.Errorf("exit %d: got %+v", i, exit)
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
