package process_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/process"
)

// Root cannot write to what it may only read, where it may mount; nobody else sees
// anything of that.
func TestReadOnlyMounts(t *testing.T) {
	probe := exec.Command("/bin/true")
	probe.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 || probe.Run() != nil {
		t.Skip("this user may not mount")
	}
	dir := t.TempDir()
	for _, name := range []string{"data/deep", "own"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "data", "file")
	if err := os.WriteFile(file, []byte("text"), 0o444); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var logs bytes.Buffer
	exit, err := process.New("").Run(t.Context(), executor.Spec{
		Command: []string{"/bin/sh", "-c", `(echo x > data/file; echo x > data/deep/new; chmod 777 data/file; rm -r data) 2>/dev/null
			cat data/file; echo x > own/file; (sleep 0.1; echo x > data/late) 2>/dev/null; ls data data/deep`},
		Env: map[string]string{"PATH": "/usr/bin:/bin"}, Dir: dir,
		Mounts: []executor.Mount{{Host: filepath.Join(dir, "data"), Guest: "/data", ReadOnly: true}, {Host: filepath.Join(dir, "own"), Guest: "/own"}},
	}, &logs)
	if err != nil || !exit.OK() || logs.String() != "textdata:\ndeep\nfile\n\ndata/deep:\n" {
		t.Errorf("%+v, %v: %q", exit, err, logs.String())
	}
	if data, err := os.ReadFile(filepath.Join(dir, "own", "file")); err != nil || string(data) != "x\n" {
		t.Errorf("its own folder holds %q, %v", data, err)
	}
	after, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Count(string(after), dir) != strings.Count(string(before), dir) {
		t.Errorf("the mounts are seen outside: %v\n%s", err, after)
	}
	if err := os.WriteFile(filepath.Join(dir, "data", "outside"), nil, 0o600); err != nil {
		t.Error(err)
	}
	spec := executor.Spec{Command: []string{"/bin/true"}, Dir: dir, Mounts: []executor.Mount{{Host: filepath.Join(dir, "none"), ReadOnly: true}}}
	if _, err := process.New("").Run(t.Context(), spec, &logs); err == nil {
		t.Error("a folder that is not there was mounted")
	}
}
