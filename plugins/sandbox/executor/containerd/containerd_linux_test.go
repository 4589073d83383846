package containerd_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/device"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
)

func TestMain(m *testing.M) {
	switch arg := append(os.Args, "")[1]; arg {
	case containerd.LogCommand:
		os.Exit(containerd.Log(os.Args[2:]))
	case containerd.LookCommand:
		os.Exit(containerd.Look(os.Args[2:]))
	case executortest.ProbeCommand:
		os.Exit(executortest.Probe(os.Args[2:]))
	case executortest.GuestCommand:
		os.Exit(executortest.Guest(os.Args[2:], map[string]func([]string) any{"takes": guestTakes, "spill": guestSpill}))
	case executortest.OwnerCommand:
		os.Exit(executortest.Owner(os.Args[2:], func(o containerd.Options) executor.Runtime { return containerd.New(o).Runtime() }))
	}
	os.Exit(m.Run())
}

// TestContainerd runs everything on one daemon, since starting one and
// importing an image takes longer than most of it.
func TestContainerd(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		name string
		test func(*testing.T, *bench)
	}{
		{"Conformance", testConformance},
		{"Look", func(t *testing.T, b *bench) { b.Look(t, map[string]string{"groups": "[]"}) }},
		{"Try", func(t *testing.T, b *bench) { b.Try(t, func(executor.Exit) map[string]string { return nil }) }},
		{"Capability", func(t *testing.T, b *bench) { b.User(t) }},
		{"Umask", func(t *testing.T, b *bench) { b.Umask(t) }},
		{"Limits", testLimits},
		{"Volume", testVolume},
		{"Kills", testKills},
		{"Devices", testDevices},
		{"Users", testUsers},
		{"Hooks", testHooks},
		{"DevLink", testDevLink},
		{"Resume", testResume},
		{"KilledOwners", testKilledOwners},
		{"KilledCopyUp", testKilledCopyUp},
		{"Sweep", testSweep},
		{"SweepSlowShim", testSweepSlowShim},
		{"Images", testImages},
		{"Build", testBuild},
		{"DaemonRestarted", testRestart},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && slices.Contains(apart, tt.name) {
				t.Skip("in other processes, which the race detector does not see")
			}
			tt.test(t, b)
		})
	}
}

// apart are the tests of what other processes do.
var apart = []string{"Capability", "Users", "KilledOwners", "KilledCopyUp", "SweepSlowShim", "Images", "Build", "DaemonRestarted"}

func testConformance(t *testing.T, b *bench) {
	executortest.Run(t, executortest.Target{
		Runtime: b.Runtime, Program: b.Program, Image: b.Image, UTF8: true, Extra: []string{"HOME"},
	})
}

// bench is a runtime on a daemon of its own, and an image.
type bench struct {
	executortest.Bench
	daemon *containerdtest.Daemon
	e      *containerd.Executor
}

func newBench(t testing.TB) *bench {
	t.Helper()
	d := containerdtest.Start(t)
	e := containerd.New(d.Options)
	t.Cleanup(func() { e.Close() })
	b := &bench{daemon: d, e: e}
	b.Bench = executortest.Bench{
		Runtime: e.Runtime(), Image: containerdtest.Image(t), Program: containerdtest.Program,
		Options: d.Options, Dir: d.Options.StateDir, Sweep: e.Sweep, Ended: b.ended,
	}
	return b
}

func testLimits(t *testing.T, b *bench) {
	b.Limits(t, 101<<20)
	t.Run("processor", func(t *testing.T) {
		spec := b.Spec(t, "cpu")
		var whole, ms int
		b.Run(t, spec, &whole)
		spec.Limits.CPUs = 0.25
		// A busy machine has less than a whole processor for a guest.
		if b.Run(t, spec, &ms); ms < min(100, whole/10) || ms > 450 {
			t.Errorf("a quarter of a processor gave %d ms in a second, and all that there is %d ms", ms, whole)
		}
	})
	t.Run("what is seen of them", func(t *testing.T) {
		spec := b.Spec(t, "stat", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu/online")
		spec.Limits.CPUs, spec.Limits.MemoryBytes = 0.25, 256<<20
		var got map[string]string
		b.Run(t, spec, &got)
		if online := strings.TrimSpace(got["/sys/devices/system/cpu/online"]); strings.ContainsAny(online, "-,") || !strings.HasPrefix(got["/proc/meminfo"], "MemTotal:         262144 kB\n") {
			t.Errorf("processors %q, memory %.100q", online, got["/proc/meminfo"])
		}
	})
}

func testVolume(t *testing.T, b *bench) {
	dir := filepath.Join(t.TempDir(), "submission")
	v, err := b.e.Volume(t.Context(), executor.VolumeSpec{Dir: dir, Bytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("in a new volume: %v, %v", entries, err)
	}
	if _, err := b.e.Volume(t.Context(), executor.VolumeSpec{Dir: dir, Bytes: 16 << 20}); err == nil {
		t.Error("two hold one volume")
	}
	spec := b.Spec(t, "fill", "/home/submission/big")
	spec.Mounts = []executor.Mount{{Host: dir, Guest: "/home/submission"}}
	var said string
	if b.Run(t, spec, &said); !strings.HasSuffix(said, " full") || said < "10" {
		t.Errorf("filling the volume: %q", said)
	}
	if info, err := os.Stat(filepath.Join(dir, "big")); err != nil || info.Size() < 10<<20 || info.Size() > 16<<20 {
		t.Errorf("on the host: %v, %v", info, err)
	}
	if err := v.Keep(); err != nil {
		t.Fatal(err)
	}
	v, err = b.e.Volume(t.Context(), executor.VolumeSpec{Dir: dir, Bytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "big")); err != nil {
		t.Errorf("take over what was kept: %v", err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
		t.Errorf("left beside the folder: %v, %v", entries, err)
	}
}

func testKills(t *testing.T, b *bench) {
	b.Kills(t, b.empty)
	if alive := programs(b); len(alive) > 0 {
		t.Errorf("alive: %v", alive)
	}
}

// empty fails the test when anything is left a minute from now.
func (b *bench) empty(t *testing.T) {
	t.Helper()
	b.leaves(t, "nothing", func(left containerdtest.Inventory) bool { return !left.Running() })
}

// leaves waits until what the runtime has on the machine is what was wanted: the
// kernel frees the loop device of an unmounted volume a moment later.
func (b *bench) leaves(t *testing.T, want string, is func(containerdtest.Inventory) bool) {
	t.Helper()
	left, err := b.daemon.Inventory(t.Context())
	for until := time.Now().Add(time.Minute); err == nil && !is(left) && time.Now().Before(until); {
		time.Sleep(20 * time.Millisecond)
		left, err = b.daemon.Inventory(t.Context())
	}
	if err != nil || !is(left) {
		t.Fatalf("want %s left: %+v, %v", want, left, err)
	}
}

// programs lists the processes in the bench's containers.
func programs(b *bench) (list []string) {
	names, _ := filepath.Glob("/proc/[0-9]*/cgroup")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(text), "/"+b.daemon.Options.Namespace+"/") {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
			list = append(list, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return list
}

// ended waits until no process of a container runs.
func (b *bench) ended(t *testing.T) {
	for range 1200 {
		if len(programs(b)) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("alive long after the time limit: %v", programs(b))
}

func testDevices(t *testing.T, b *bench) {
	dir := b.daemon.Options.CDIDirs[0]
	if got := b.Devices(t, dir, ""); !strings.Contains(got["/usr/lib/fake/libfake.so"], "denied") {
		t.Errorf("got %v", got)
	}
	if list, err := device.Open([]string{dir}); err != nil || device.Described(list) != "fake.test/gpu=0, fake.test/gpu=1" {
		t.Errorf("devices %v, %v", list, err)
	}
	if nodes, err := b.e.Reaches(t.Context(), b.Image, b.Program, "fake.test/gpu=0"); err != nil || strings.Join(nodes, " ") != "/dev/fake0" {
		t.Errorf("reaches a container: %v, %v", nodes, err)
	}
	executortest.Describe(t, dir, "naught", `"devices":[{"name":"0","containerEdits":{"env":["A=1"]}}]`)
	if nodes, err := b.e.Reaches(t.Context(), b.Image, b.Program, "naught.test/gpu=0"); err == nil || !strings.Contains(err.Error(), "no device file") {
		t.Errorf("a device without files reaches a container: %v, %v", nodes, err)
	}
}
