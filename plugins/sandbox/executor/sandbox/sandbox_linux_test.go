package sandbox_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/executortest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/first"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	switch arg := append(os.Args, "")[1]; arg {
	case executortest.ProbeCommand:
		os.Exit(executortest.Probe(os.Args[2:]))
	case executortest.GuestCommand:
		os.Exit(executortest.Guest(os.Args[2:], nil))
	case sandboxtest.OldKernelCommand:
		os.Exit(sandboxtest.OldKernelMain(os.Args[2:]))
	case executortest.OwnerCommand:
		os.Exit(executortest.Owner(os.Args[2:], func(o sandbox.Options) executor.Runtime { return sandbox.New(o).Runtime() }))
	}
	os.Exit(m.Run())
}

// bench is a runtime with a folder of its own, and an image.
type bench struct {
	executortest.Bench
	opts sandbox.Options
	e    *sandbox.Executor
}

func newBench(t testing.TB) *bench {
	t.Helper()
	needNamespaces(t)
	opts := sandbox.Options{Dir: t.TempDir(), CDIDirs: []string{t.TempDir()}, Small: "/proc/self/exe"}
	e := sandbox.New(opts)
	return &bench{executortest.Bench{
		Runtime: e.Runtime(), Image: containerdtest.Image(t), Program: containerdtest.Program,
		Options: opts, Dir: opts.Dir, Sweep: e.Sweep,
	}, opts, e}
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
		executortest.Run(t, executortest.Target{Runtime: b.Runtime, Program: b.Program, Image: b.Image, Extra: []string{"HOME"}})
	})
	b.empty(t)
}

// TestUnlaunched starts first processes as a program does that was built without a small
// one.
func TestUnlaunched(t *testing.T) {
	b := newBench(t)
	for _, refused := range []string{"", "/dev/null"} {
		b.opts.Small = refused
		e := sandbox.New(b.opts)
		t.Run("program "+refused, func(t *testing.T) {
			executortest.Run(t, executortest.Target{Runtime: e.Runtime(), Program: b.Program, Image: b.Image, Extra: []string{"HOME"}})
		})
	}
	b.empty(t)
}

func TestLook(t *testing.T) { newBench(t).Look(t, nil) }

func TestTry(t *testing.T) {
	newBench(t).Try(t, func(exit executor.Exit) map[string]string {
		if exit.Enforced["landlock"] != "on" { // before Linux 6.12
			return map[string]string{"kill the pause": "done"}
		}
		return nil
	})
}

func TestUser(t *testing.T) { newBench(t).User(t) }

func TestUmask(t *testing.T) { newBench(t).Umask(t) }

func TestLimits(t *testing.T) { newBench(t).Limits(t, math.MaxInt64) }

func TestKills(t *testing.T) {
	b := newBench(t)
	b.Kills(t, b.empty)
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
			b.Runtime = b.e.Runtime()
			spec := b.Spec(t, "stat", "/home/data/file", "/proc/self/mountinfo", "/proc/1/cmdline")
			spec.Mounts = []executor.Mount{{Host: data, Guest: "/home/data", ReadOnly: true}}
			var got map[string]string
			exit := b.Run(t, spec, &got)
			if got["/home/data/file"] != "here" {
				t.Errorf("the data: %q", got["/home/data/file"])
			}
			if exit.Enforced["views"] == "overlay" && strings.Contains(got["/proc/self/mountinfo"], os.TempDir()+"/TestOdd") {
				t.Errorf("the guest sees the host's paths:\n%s", got["/proc/self/mountinfo"])
			}
			if got["/proc/1/cmdline"] != "mleflow\x00"+first.Command+"\x00" {
				t.Errorf("the first process is %q", got["/proc/1/cmdline"])
			}
		})
	}
}

// TestMachine sees that the guest is told of what it may use, and not of the machine.
func TestMachine(t *testing.T) {
	b := newBench(t)
	spec := b.Spec(t, "stat", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu/online", "/dev/texts")
	spec.Limits.CPUs, spec.Limits.MemoryBytes = 0.5, 256<<20
	var got map[string]string
	b.Run(t, spec, &got)
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
