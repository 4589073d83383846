package machine

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd/containerdtest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// TestMain lets the test program be what doctor starts in a container.
func TestMain(m *testing.M) {
	switch arg := append(os.Args, "")[1]; arg {
	case containerd.LogCommand:
		os.Exit(containerd.Log(os.Args[2:]))
	case containerd.LookCommand:
		os.Exit(containerd.Look(os.Args[2:]))
	}
	if os.Getenv(nestedVariable) != "" {
		os.Exit(nestedDoctor())
	}
	if dir := os.Getenv(sharedVariable); dir != "" {
		os.Exit(sharedDoctor(dir))
	}
	if dir := os.Getenv(refusedVariable); dir != "" {
		os.Exit(refused(dir))
	}
	os.Exit(m.Run())
}

// TestReach sees what doctor says of devices in containers, with descriptions
// that stand for GPUs.
func TestReach(t *testing.T) {
	if f, err := elf.Open("/proc/self/exe"); err != nil || f.Section(".interp") != nil {
		t.Skip("the test program is linked with libraries, which an image of it alone lacks; make test builds it with CGO_ENABLED=0")
	}
	d := containerdtest.Start(t)
	t.Setenv("MLEFLOW_STATE_DIR", d.Dir)
	look := func(description, devices string) Check {
		root := t.TempDir()
		if err := os.MkdirAll(filepath.Join(root, "etc/cdi"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "etc/cdi/gpu.json"), []byte(description), 0o644); err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"CONTAINERD_ADDRESS": d.Options.Socket, sched.DevicesVariable: devices}
		return Machine{Root: root, Env: func(name string) string { return env[name] }}.reach(t.Context())
	}
	const (
		good    = `{"cdiVersion":"0.5.0","kind":"mleflow.test/gpu","devices":[{"name":"0","containerEdits":{"deviceNodes":[{"path":"/dev/fake0","hostPath":"/dev/null","permissions":"rw"}]}}],"containerEdits":{"deviceNodes":[{"path":"/dev/fakectl","hostPath":"/dev/zero","permissions":"rw"}]}}`
		missing = `{"cdiVersion":"0.5.0","kind":"mleflow.test/gpu","devices":[{"name":"0","containerEdits":{"deviceNodes":[{"path":"/dev/fake0","hostPath":"/dev/does-not-exist"}]}}]}`
	)
	for name, tt := range map[string]struct {
		description, devices string
		status               Status
		want                 string
	}{
		"reaches":        {good, "", OK, "mleflow.test/gpu=0 was opened in a container (/dev/fake0, /dev/fakectl)"},
		"no device":      {good, "none", Absent, "no device to lease"},
		"no such device": {missing, "", Warn, "does-not-exist"},
		"not described":  {good, "nvidia.com/gpu=7", Warn, "no description of nvidia.com/gpu=7; there are those of mleflow.test/gpu=0"},
		"wrong variable": {good, "seven", Absent, "not tried"},
	} {
		if c := look(tt.description, tt.devices); c.Status != tt.status || !strings.Contains(c.Detail, tt.want) || c.Status != OK && c.Fix == "" {
			t.Errorf("%s: %+v, want %s %q", name, c, tt.status, tt.want)
		}
	}

	// A containerd of one's own may be in a folder that only root may enter.
	daemon := func() Check {
		env := map[string]string{"CONTAINERD_ADDRESS": d.Options.Socket}
		return Machine{Root: t.TempDir(), Env: func(name string) string { return env[name] }}.containerd(t.Context())
	}
	if c := daemon(); c.Status != OK {
		t.Errorf("open state: %+v", c)
	}
	if err := os.Chmod(d.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(d.Dir, 0o711)
	if c := look(good, ""); c.Status != Warn {
		t.Errorf("a container started although its user cannot get to its bundle: %+v", c)
	}
	if c := daemon(); c.Status != Warn || !strings.Contains(c.Detail, d.Dir+", which is closed to other users") || !strings.Contains(c.Fix, "chmod o+x "+d.Dir) {
		t.Errorf("closed state: %+v", c)
	}
}
