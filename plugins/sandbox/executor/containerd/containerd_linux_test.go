package containerd_test

import (
	"bytes"
	"encoding/json"
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
		os.Exit(owner(os.Args[2:]))
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
		{"Look", testLook},
		{"Try", testTry},
		{"Capability", testCapability},
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
		Runtime: b.e.Runtime(), Program: containerdtest.Program, Image: b.image, UTF8: true, Extra: []string{"HOME"},
	})
}

// bench is a runtime on a daemon of its own, and an image.
type bench struct {
	daemon *containerdtest.Daemon
	e      *containerd.Executor
	image  string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	d := containerdtest.Start(t)
	e := containerd.New(d.Options)
	t.Cleanup(func() { e.Close() })
	return &bench{daemon: d, e: e, image: containerdtest.Image(t)}
}

// spec runs a probe of guest's.
func (b *bench) spec(t testing.TB, args ...string) executor.Spec {
	return executor.Spec{
		ID: t.Name(), Image: b.image, Dir: "/",
		Command: append([]string{containerdtest.Program, executortest.GuestCommand}, args...),
		Env:     map[string]string{"GODEBUG": "netdns=go"},
		Limits:  executor.Limits{Timeout: time.Minute, Grace: 200 * time.Millisecond},
	}
}

// run runs the spec and decodes what it printed.
func (b *bench) run(t testing.TB, spec executor.Spec, out any) executor.Exit {
	t.Helper()
	var logs bytes.Buffer
	exit, err := b.e.Run(t.Context(), spec, &logs)
	if err != nil {
		t.Fatalf("Run: %v\n%s", err, logs.String())
	}
	if out != nil {
		if err := json.Unmarshal(logs.Bytes(), out); err != nil {
			t.Fatalf("%+v, %v:\n%s", exit, err, logs.String())
		}
	}
	return exit
}

// open makes a folder that any user may write to.
func openDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

func testLook(t *testing.T, b *bench) {
	t.Setenv("MLEFLOW_TEST_SECRET", "do not pass this on")
	var got map[string]string
	b.run(t, b.spec(t, "look"), &got)
	want := map[string]string{
		"NoNewPrivs": "1", "Seccomp": "2", "CapEff": "0000000000000000", "CapBnd": "0000000000000000",
		"CapPrm": "0000000000000000", "CapAmb": "0000000000000000", "hostname": "mleflow", "ids": "1000 1000",
		"groups": "[]", "interfaces": "lo ", "hosts": "127.0.0.1 localhost mleflow\n::1 localhost\n",
		"resolv": "# There is no name service here.\n",
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s: got %q, want %q", name, got[name], value)
		}
	}
	if n := len(strings.Fields(got["processes"])); n != 2 {
		t.Errorf("processes %s, want the pause and the command", got["processes"])
	}
	if strings.Contains(got["environ"], "SECRET") || !strings.Contains(got["pause"], "permission denied") {
		t.Errorf("environment %q, that of the pause %q", got["environ"], got["pause"])
	}
	host, _ := os.Hostname()
	if host != "" && host != "localhost" && strings.Contains(got["hosts"]+got["hostname"]+got["environ"], host) {
		t.Errorf("the host's name %q reached the guest", host)
	}
}

func testTry(t *testing.T, b *bench) {
	data := openDir(t)
	spec := b.spec(t, "try")
	spec.Mounts = []executor.Mount{{Host: data, Guest: "/home/data", ReadOnly: true}}
	var got map[string]string
	b.run(t, spec, &got)
	want := map[string]string{"write /tmp/x": "done", "write /home/data/x": "read-only"}
	if len(got) < 30 {
		t.Errorf("only %d attempts", len(got))
	}
	for name, result := range got {
		expected := want[name]
		if expected == "" {
			expected = "refused"
		}
		if result != expected && (expected != "refused" || result != "read-only") {
			t.Errorf("%s: %s, want %s", name, result, expected)
		}
	}
	if entries, _ := os.ReadDir(data); len(entries) > 0 {
		t.Errorf("written to the data: %v", entries)
	}
}

func testCapability(t *testing.T, b *bench) {
	spec := b.spec(t, "look")
	spec.Sandbox.Capabilities = []string{"CAP_NET_RAW"}
	spec.Sandbox.User = "1234:567"
	var got map[string]string
	b.run(t, spec, &got)
	if got["CapEff"] != "0000000000002000" || got["ids"] != "1234 567" {
		t.Errorf("capabilities %s of user %s, want CAP_NET_RAW alone of 1234 567", got["CapEff"], got["ids"])
	}
}

func testLimits(t *testing.T, b *bench) {
	t.Run("processes", func(t *testing.T) {
		spec := b.spec(t, "fork")
		spec.Limits.Processes = 60
		var n int
		if exit := b.run(t, spec, &n); n < 2 || n > 60 || exit.Leftover == 0 {
			t.Errorf("forked %d, %+v", n, exit)
		}
	})
	t.Run("processor", func(t *testing.T) {
		spec := b.spec(t, "cpu")
		var whole, ms int
		b.run(t, spec, &whole)
		spec.Limits.CPUs = 0.25
		// A busy machine has less than a whole processor for a guest.
		if b.run(t, spec, &ms); ms < min(100, whole/10) || ms > 450 {
			t.Errorf("a quarter of a processor gave %d ms in a second, and all that there is %d ms", ms, whole)
		}
	})
	t.Run("what is seen of them", func(t *testing.T) {
		spec := b.spec(t, "stat", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu/online")
		spec.Limits.CPUs, spec.Limits.MemoryBytes = 0.25, 256<<20
		var got map[string]string
		b.run(t, spec, &got)
		if online := strings.TrimSpace(got["/sys/devices/system/cpu/online"]); strings.ContainsAny(online, "-,") || !strings.HasPrefix(got["/proc/meminfo"], "MemTotal:         262144 kB\n") {
			t.Errorf("processors %q, memory %.100q", online, got["/proc/meminfo"])
		}
	})
	t.Run("memory of a child", func(t *testing.T) {
		spec := b.spec(t, "oomchild")
		spec.Limits.MemoryBytes = 100 << 20
		var said string
		exit := b.run(t, spec, &said)
		if said != "signal: killed" || !exit.OK() || exit.OOMKills == 0 || exit.PeakMemoryBytes > 101<<20 || exit.PeakMemoryBytes < 50<<20 {
			t.Errorf("child %q, %+v", said, exit)
		}
	})
	t.Run("disk in memory", func(t *testing.T) {
		spec := b.spec(t, "fill", "/tmp/big")
		spec.Limits.DiskBytes = 8 << 20
		var said string
		if b.run(t, spec, &said); said != "8 full" {
			t.Errorf("filling /tmp: %q", said)
		}
	})
	t.Run("shared memory", func(t *testing.T) {
		spec := b.spec(t, "fill", "/dev/shm/big")
		spec.Sandbox.ShmBytes = 4 << 20
		var said string
		if b.run(t, spec, &said); said != "4 full" {
			t.Errorf("filling /dev/shm: %q", said)
		}
	})
}

func testVolume(t *testing.T, b *bench) {
	dir := filepath.Join(t.TempDir(), "submission")
	v, err := b.e.Volume(t.Context(), executor.VolumeSpec{Dir: dir, Bytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if v.Resumed() {
		t.Error("a new volume was taken over")
	}
	if _, err := b.e.Volume(t.Context(), executor.VolumeSpec{Dir: dir, Bytes: 16 << 20}); err == nil {
		t.Error("two hold one volume")
	}
	spec := b.spec(t, "fill", "/home/submission/big")
	spec.Mounts = []executor.Mount{{Host: dir, Guest: "/home/submission"}}
	var said string
	if b.run(t, spec, &said); !strings.HasSuffix(said, " full") || said < "10" {
		t.Errorf("filling the volume: %q", said)
	}
	if info, err := os.Stat(filepath.Join(dir, "big")); err != nil || info.Size() < 10<<20 || info.Size() > 16<<20 {
		t.Errorf("on the host: %v, %v", info, err)
	}
	if err := v.Keep(); err != nil {
		t.Fatal(err)
	}
	v, err = b.e.Volume(t.Context(), executor.VolumeSpec{Dir: dir, Bytes: 16 << 20})
	if err != nil || !v.Resumed() {
		t.Fatalf("take over what was kept: %v", err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
		t.Errorf("left beside the folder: %v, %v", entries, err)
	}
}

// testKills stops families of deaf processes over and over.
func testKills(t *testing.T, b *bench) {
	for range 20 {
		dir := openDir(t)
		spec := b.spec(t)
		spec.Command = []string{containerdtest.Program, executortest.ProbeCommand, "family", "/home/work", "4"}
		spec.Mounts = []executor.Mount{{Host: dir, Guest: "/home/work"}}
		spec.Limits.Timeout, spec.Limits.Grace = 150*time.Millisecond, 20*time.Millisecond
		if exit := b.run(t, spec, nil); exit.Reason != executor.TimedOut {
			t.Fatalf("got %+v", exit)
		}
		b.empty(t)
	}
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

func testDevices(t *testing.T, b *bench) {
	dir := b.daemon.Options.CDIDirs[0]
	library := t.TempDir()
	if err := os.WriteFile(filepath.Join(library, "libfake.so"), []byte("library"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"cdiVersion":"0.5.0","kind":"mleflow.test/gpu","devices":[
 {"name":"0","containerEdits":{"deviceNodes":[{"path":"/dev/fake0","hostPath":"/dev/null","permissions":"rw"}],"env":["FAKE_0=1"]}},
 {"name":"1","containerEdits":{"deviceNodes":[{"path":"/dev/fake1","hostPath":"/dev/zero","permissions":"rw"}],"env":["FAKE_1=1"]}}],
 "containerEdits":{"env":["FAKE_ALL=1"],"mounts":[{"hostPath":"` + library + `","containerPath":"/usr/lib/fake","options":["ro","nosuid","nodev","bind"]}]}}`
	if err := os.WriteFile(filepath.Join(dir, "fake.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if list, err := device.Open([]string{dir}); err != nil || device.Described(list) != "mleflow.test/gpu=0, mleflow.test/gpu=1" {
		t.Errorf("devices %v, %v", list, err)
	}
	spec := b.spec(t, "devices", "/dev/fake0", "/dev/fake1", "/usr/lib/fake/libfake.so")
	spec.Devices = []string{"mleflow.test/gpu=1"}
	var got map[string]string
	b.run(t, spec, &got)
	if got["/dev/fake1"] != "1:5 <nil>" || got["FAKE_1"] != "1" || got["FAKE_ALL"] != "1" || got["FAKE_0"] != "" ||
		!strings.Contains(got["/dev/fake0"], "no such file") || !strings.Contains(got["/usr/lib/fake/libfake.so"], "denied") {
		t.Errorf("got %v", got)
	}
	if nodes, err := b.e.Reaches(t.Context(), b.image, containerdtest.Program, "mleflow.test/gpu=0"); err != nil || strings.Join(nodes, " ") != "/dev/fake0" {
		t.Errorf("reaches a container: %v, %v", nodes, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "naught.json"), []byte(`{"cdiVersion":"0.5.0","kind":"naught.test/gpu","devices":[{"name":"0","containerEdits":{"env":["A=1"]}}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if nodes, err := b.e.Reaches(t.Context(), b.image, containerdtest.Program, "naught.test/gpu=0"); err == nil || !strings.Contains(err.Error(), "no device file") {
		t.Errorf("a device without files reaches a container: %v, %v", nodes, err)
	}
	spec.Devices = []string{"mleflow.test/gpu=7"}
	if _, err := b.e.Run(t.Context(), spec, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "mleflow.test/gpu=0, mleflow.test/gpu=1") {
		t.Errorf("a device that is not there: %v", err)
	}
}
