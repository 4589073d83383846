package sandbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	switch arg := append(os.Args, "")[1]; arg {
	case sandbox.InitCommand:
		os.Exit(sandbox.Init())
	case executortest.ProbeCommand:
		os.Exit(executortest.Probe(os.Args[2:]))
	case executortest.GuestCommand:
		os.Exit(executortest.Guest(os.Args[2:], nil))
	case sandboxtest.OldKernelCommand:
		os.Exit(sandboxtest.OldKernelMain(os.Args[2:]))
	case executortest.OwnerCommand:
		os.Exit(owner(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// bench is a runtime with a folder of its own, and an image.
type bench struct {
	opts  sandbox.Options
	e     *sandbox.Executor
	image string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	needNamespaces(t)
	opts := sandbox.Options{Dir: t.TempDir(), CDIDirs: []string{t.TempDir()}}
	return &bench{opts: opts, e: sandbox.New(opts), image: containerdtest.Image(t)}
}

// spec runs one of the suite's guests.
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

// empty fails the test when a run left anything.
func (b *bench) empty(t *testing.T) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(b.opts.Dir, "runs", "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), b.opts.Dir) {
		t.Errorf("mounted on the host: %s, %v", mounts, err)
	}
}

func TestConformance(t *testing.T) {
	b := newBench(t)
	t.Run("suite", func(t *testing.T) {
		executortest.Run(t, executortest.Target{Runtime: b.e.Runtime(), Program: containerdtest.Program, Image: b.image, Extra: []string{"HOME"}})
	})
	b.empty(t)
}

func TestLook(t *testing.T) {
	b := newBench(t)
	t.Setenv("MLEFLOW_TEST_SECRET", "do not pass this on")
	var got map[string]string
	b.run(t, b.spec(t, "look"), &got)
	want := map[string]string{
		"NoNewPrivs": "1", "Seccomp": "2", "CapEff": "0000000000000000", "CapBnd": "0000000000000000",
		"CapPrm": "0000000000000000", "CapAmb": "0000000000000000", "CapInh": "0000000000000000", "hostname": "mleflow", "ids": "1000 1000",
		"interfaces": "lo ", "hosts": "127.0.0.1 localhost mleflow\n::1 localhost\n",
		"resolv": "# There is no name service here.\n",
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s: got %q, want %q", name, got[name], value)
		}
	}
	if n := len(strings.Fields(got["processes"])); n != 2 {
		t.Errorf("processes %s, want the first and the command", got["processes"])
	}
	if strings.Contains(got["environ"], "SECRET") || !strings.Contains(got["pause"], "permission denied") {
		t.Errorf("environment %q, that of the first process %q", got["environ"], got["pause"])
	}
	host, _ := os.Hostname()
	if host != "" && host != "localhost" && strings.Contains(got["hosts"]+got["hostname"]+got["environ"], host) {
		t.Errorf("the host's name %q reached the guest", host)
	}
}

func TestTry(t *testing.T) {
	b := newBench(t)
	data := t.TempDir()
	spec := b.spec(t, "try")
	spec.Mounts = []executor.Mount{{Host: data, Guest: "/home/data", ReadOnly: true}}
	var got map[string]string
	exit := b.run(t, spec, &got)
	want := map[string]string{"write /tmp/x": "done", "write /home/data/x": "read-only"}
	if exit.Enforced["landlock"] != "on" { // before Linux 6.12
		want["kill the pause"] = "done"
	}
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

func TestUser(t *testing.T) {
	b := newBench(t)
	spec := b.spec(t, "look")
	spec.Sandbox.Capabilities = []string{"CAP_NET_RAW"}
	spec.Sandbox.User = "1234:567"
	var got map[string]string
	b.run(t, spec, &got)
	if got["CapEff"] != "0000000000002000" || got["ids"] != "1234 567" {
		t.Errorf("capabilities %s of user %s, want CAP_NET_RAW alone of 1234 567", got["CapEff"], got["ids"])
	}
}

func TestLimits(t *testing.T) {
	b := newBench(t)
	t.Run("processes", func(t *testing.T) {
		spec := b.spec(t, "fork")
		spec.Limits.Processes = 60
		var n int
		if exit := b.run(t, spec, &n); n < 2 || n > 60 || exit.Leftover == 0 {
			t.Errorf("forked %d, %+v", n, exit)
		}
	})
	t.Run("memory of a child", func(t *testing.T) {
		spec := b.spec(t, "oomchild")
		spec.Limits.MemoryBytes = 100 << 20
		var said string
		exit := b.run(t, spec, &said)
		if said != "signal: killed" || !exit.OK() || exit.OOMKills == 0 || exit.PeakMemoryBytes < 50<<20 {
			t.Errorf("child %q, %+v", said, exit)
		}
	})
	t.Run("memory in files", func(t *testing.T) {
		spec := b.spec(t, "fill", "/tmp/big")
		spec.Limits.MemoryBytes = 100 << 20
		if exit, err := b.e.Run(t.Context(), spec, &bytes.Buffer{}); err != nil || exit.Reason != executor.OutOfMemory && !exit.OK() {
			t.Errorf("got %+v, %v", exit, err)
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

// TestKills stops families of deaf processes over and over.
func TestKills(t *testing.T) {
	b := newBench(t)
	for i := range 20 {
		spec := b.spec(t)
		spec.ID = fmt.Sprint(t.Name(), i)
		spec.Command = []string{containerdtest.Program, executortest.ProbeCommand, "family", "/home/work", "4"}
		spec.Mounts = []executor.Mount{{Host: t.TempDir(), Guest: "/home/work"}}
		spec.Limits.Timeout, spec.Limits.Grace = 150*time.Millisecond, 20*time.Millisecond
		if exit := b.run(t, spec, nil); exit.Reason != executor.TimedOut {
			t.Fatalf("got %+v", exit)
		}
		b.empty(t)
	}
}

// TestOddFolders runs where names are no UTF-8, have what separates options of mounts,
// or are long, and sees that the guest is told of none that it need not know.
func TestOddFolders(t *testing.T) {
	for name, dir := range map[string]string{
		"not UTF-8": "bad\xff\xfe", "separators": "a,b:c=d e\\f\tg\nh", "quotes": "\"'`$x", "long": strings.Repeat(strings.Repeat("x", 200)+"/", 10),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			host, data := filepath.Join(t.TempDir(), dir), filepath.Join(t.TempDir(), dir)
			for _, d := range []string{host, data} {
				if err := os.MkdirAll(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(data, "file"), []byte("here"), 0o644); err != nil {
				t.Fatal(err)
			}
			b.opts.Dir = filepath.Join(host, "sandbox")
			b.e = sandbox.New(b.opts)
			spec := b.spec(t, "stat", "/home/data/file", "/proc/self/mountinfo", "/proc/1/cmdline")
			spec.Mounts = []executor.Mount{{Host: data, Guest: "/home/data", ReadOnly: true}}
			var got map[string]string
			exit := b.run(t, spec, &got)
			if got["/home/data/file"] != "here" {
				t.Errorf("the data: %q", got["/home/data/file"])
			}
			if exit.Enforced["views"] == "overlay" && strings.Contains(got["/proc/self/mountinfo"], os.TempDir()+"/TestOdd") {
				t.Errorf("the guest sees the host's paths:\n%s", got["/proc/self/mountinfo"])
			}
			if got["/proc/1/cmdline"] != "mleflow\x00"+sandbox.InitCommand+"\x00" {
				t.Errorf("the first process is %q", got["/proc/1/cmdline"])
			}
		})
	}
}

// TestMachine sees that the guest is told of what it may use, and not of the machine.
func TestMachine(t *testing.T) {
	b := newBench(t)
	spec := b.spec(t, "stat", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu/online", "/dev/texts")
	spec.Limits.CPUs, spec.Limits.MemoryBytes = 0.5, 256<<20
	var got map[string]string
	b.run(t, spec, &got)
	if n := strings.Count("\n"+got["/proc/cpuinfo"], "\nprocessor"); n > 1 { // not all machines say it so
		t.Errorf("%d processors are described", n)
	}
	if n := strings.Count(got["/proc/stat"], "cpu"); n != 2 {
		t.Errorf("times of %d processors, want all and one:\n%.300s", n, got["/proc/stat"])
	}
	if !strings.HasPrefix(got["/proc/meminfo"], "MemTotal:         262144 kB\n") {
		t.Errorf("memory: %.300s", got["/proc/meminfo"])
	}
	if online := strings.TrimSpace(got["/sys/devices/system/cpu/online"]); strings.ContainsAny(online, "-,") || online == "" {
		t.Errorf("processors %q, want one", online)
	}
	if !strings.Contains(got["/dev/texts"], "no such file") {
		t.Errorf("the texts are in sight: %s", got["/dev/texts"])
	}
}
