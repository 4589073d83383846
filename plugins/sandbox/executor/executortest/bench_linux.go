package executortest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// Bench runs guests in an image, to see what surrounds them there. Program is the path of
// the test program in the image.
type Bench struct {
	Runtime        executor.Runtime
	Image, Program string
	// Options open the same runtime in another process, and Dir is its folder, that no
	// other bench has.
	Options any
	Dir     string
	Sweep   func(context.Context) error
	// Ended, unless it is nil, waits for the end of what the runtime leaves beside a
	// command that ends without an owner.
	Ended func(*testing.T)
}

// Spec runs one of the guests.
func (b *Bench) Spec(t testing.TB, args ...string) executor.Spec {
	return executor.Spec{
		ID: t.Name(), Image: b.Image, Dir: "/",
		Command: append([]string{b.Program, GuestCommand}, args...),
		Env:     map[string]string{"GODEBUG": "netdns=go"},
		Limits:  executor.Limits{Timeout: time.Minute, Grace: 200 * time.Millisecond},
	}
}

// Run runs the spec and decodes what it printed.
func (b *Bench) Run(t testing.TB, spec executor.Spec, out any) executor.Exit {
	t.Helper()
	var logs bytes.Buffer
	exit, err := b.Runtime.Executor.Run(t.Context(), spec, &logs)
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

// OpenDir makes a folder that any user may write to.
func OpenDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Look sees what a guest sees, and more of it than every runtime shows.
func (b *Bench) Look(t *testing.T, more map[string]string) {
	t.Setenv("MLEFLOW_TEST_SECRET", "do not pass this on")
	var got map[string]string
	b.Run(t, b.Spec(t, "look"), &got)
	want := map[string]string{
		"NoNewPrivs": "1", "Seccomp": "2", "CapEff": "0000000000000000", "CapBnd": "0000000000000000",
		"CapPrm": "0000000000000000", "CapAmb": "0000000000000000", "CapInh": "0000000000000000", "hostname": "mleflow", "ids": "1000 1000",
		"interfaces": "lo ", "hosts": "127.0.0.1 localhost mleflow\n::1 localhost\n",
		"resolv": "# There is no name service here.\n",
	}
	maps.Copy(want, more)
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

// Try tries what a guest may not do. Allowed are the attempts that the runtime does not
// refuse after such a run.
func (b *Bench) Try(t *testing.T, allowed func(executor.Exit) map[string]string) {
	data := OpenDir(t)
	spec := b.Spec(t, "try")
	spec.Mounts = []executor.Mount{{Host: data, Guest: "/home/data", ReadOnly: true}}
	var got map[string]string
	exit := b.Run(t, spec, &got)
	want := map[string]string{"write /tmp/x": "done", "write /home/data/x": "read-only"}
	maps.Copy(want, allowed(exit))
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

// User runs as another user with a capability.
func (b *Bench) User(t *testing.T) {
	spec := b.Spec(t, "look")
	spec.Sandbox.Capabilities = []string{"CAP_NET_RAW"}
	spec.Sandbox.User = "1234:567"
	var got map[string]string
	b.Run(t, spec, &got)
	if got["CapEff"] != "0000000000002000" || got["ids"] != "1234 567" {
		t.Errorf("capabilities %s of user %s, want CAP_NET_RAW alone of 1234 567", got["CapEff"], got["ids"])
	}
}

// Umask runs with a umask that closes new files: the guest's user enters the folders around
// its mounts all the same.
func (b *Bench) Umask(t *testing.T) {
	file := filepath.Join(OpenDir(t), "file")
	if err := os.WriteFile(file, []byte("some text"), 0o644); err != nil {
		t.Fatal(err)
	}
	defer syscall.Umask(syscall.Umask(0o077))
	spec := b.Spec(t, "stat", "/run/file", "/opt/deep/file", "/etc/passwd")
	for _, guest := range spec.Command[3:5] {
		spec.Mounts = append(spec.Mounts, executor.Mount{Host: file, Guest: guest, ReadOnly: true})
	}
	var got map[string]string
	if exit := b.Run(t, spec, &got); !exit.OK() || len(got) != 3 || strings.Contains(fmt.Sprint(got), "denied") {
		t.Errorf("%+v: %q", exit, got)
	}
}

// Limits reaches the limits. Most is the memory that one that may use 100 MiB uses.
func (b *Bench) Limits(t *testing.T, most int64) {
	t.Run("processes", func(t *testing.T) {
		spec := b.Spec(t, "fork")
		spec.Limits.Processes = 60
		var n int
		if exit := b.Run(t, spec, &n); n < 2 || n > 60 || exit.Leftover == 0 {
			t.Errorf("forked %d, %+v", n, exit)
		}
	})
	t.Run("memory of a child", func(t *testing.T) {
		spec := b.Spec(t, "oomchild")
		spec.Limits.MemoryBytes = 100 << 20
		var said string
		exit := b.Run(t, spec, &said)
		if said != "signal: killed" || !exit.OK() || exit.OOMKills == 0 || exit.PeakMemoryBytes > most || exit.PeakMemoryBytes < 50<<20 {
			t.Errorf("child %q, %+v", said, exit)
		}
	})
	t.Run("memory in files", func(t *testing.T) {
		spec := b.Spec(t, "fill", "/tmp/big")
		spec.Limits.MemoryBytes = 100 << 20
		if exit, err := b.Runtime.Executor.Run(t.Context(), spec, io.Discard); err != nil || exit.Reason != executor.OutOfMemory && !exit.OK() {
			t.Errorf("got %+v, %v", exit, err)
		}
	})
	t.Run("disk in memory", func(t *testing.T) {
		spec := b.Spec(t, "fill", "/tmp/big")
		spec.Limits.DiskBytes = 8 << 20
		var said string
		if b.Run(t, spec, &said); said != "8 full" {
			t.Errorf("filling /tmp: %q", said)
		}
	})
	t.Run("shared memory", func(t *testing.T) {
		spec := b.Spec(t, "fill", "/dev/shm/big")
		spec.Sandbox.ShmBytes = 4 << 20
		var said string
		if b.Run(t, spec, &said); said != "4 full" {
			t.Errorf("filling /dev/shm: %q", said)
		}
	})
}

// Kills stops families of deaf processes over and over, each of which leaves nothing.
func (b *Bench) Kills(t *testing.T, empty func(*testing.T)) {
	for i := range 20 {
		spec := b.Spec(t)
		spec.ID = fmt.Sprint(t.Name(), i)
		spec.Command = []string{b.Program, ProbeCommand, "family", "/home/work", "4"}
		spec.Mounts = []executor.Mount{{Host: OpenDir(t), Guest: "/home/work"}}
		spec.Limits.Timeout, spec.Limits.Grace = 150*time.Millisecond, 20*time.Millisecond
		if exit := b.Run(t, spec, nil); exit.Reason != executor.TimedOut {
			t.Fatalf("got %+v", exit)
		}
		empty(t)
	}
}

// Devices describes devices in a folder, with more edits of the container, and gives a
// guest one of them, which tells what it has.
func (b *Bench) Devices(t *testing.T, dir, more string) (got map[string]string) {
	library := t.TempDir()
	if err := os.WriteFile(filepath.Join(library, "libfake.so"), []byte("library"), 0o644); err != nil {
		t.Fatal(err)
	}
	Describe(t, dir, "fake", `"devices":[
 {"name":"0","containerEdits":{"deviceNodes":[{"path":"/dev/fake0","hostPath":"/dev/null","permissions":"rw"}],"env":["FAKE_0=1"]}},
 {"name":"1","containerEdits":{"deviceNodes":[{"path":"/dev/fake1","hostPath":"/dev/zero","permissions":"rw"}],"env":["FAKE_1=1"]}}],
 "containerEdits":{"env":["FAKE_ALL=1"],"mounts":[{"hostPath":"`+library+`","containerPath":"/usr/lib/fake","options":["ro","nosuid","nodev","bind"]}]`+more+`}`)
	spec := b.Spec(t, "devices", "/dev/fake0", "/dev/fake1", "/usr/lib/fake/libfake.so")
	spec.Devices = []string{"fake.test/gpu=1"}
	b.Run(t, spec, &got)
	if got["/dev/fake1"] != "1:5 <nil>" || got["FAKE_1"] != "1" || got["FAKE_ALL"] != "1" || got["FAKE_0"] != "" ||
		!strings.Contains(got["/dev/fake0"], "no such file") || strings.Contains(got["/usr/lib/fake/libfake.so"], "no such file") {
		t.Errorf("got %v", got)
	}
	spec.Devices = []string{"fake.test/gpu=7"}
	if _, err := b.Runtime.Executor.Run(t.Context(), spec, io.Discard); err == nil || !strings.Contains(err.Error(), "fake.test/gpu=0, fake.test/gpu=1") {
		t.Errorf("a device that is not there: %v", err)
	}
	return got
}

// Describe writes the description of a vendor's devices, of the kind vendor.test/gpu.
func Describe(t *testing.T, dir, vendor, body string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, vendor+".json"), []byte(`{"cdiVersion":"0.5.0","kind":"`+vendor+`.test/gpu",`+body+`}`), 0o644); err != nil {
		t.Fatal(err)
	}
}
