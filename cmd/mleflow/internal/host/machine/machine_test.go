package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/view"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// made returns a machine whose files are the given ones.
func made(t *testing.T, files map[string]string, env map[string]string) Machine {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Machine{
		Root: root, Home: filepath.Join(root, "home"), CacheDir: filepath.Join(root, "cache"), Env: func(name string) string { return env[name] },
		Sandbox: func() executor.Availability { return executor.Availability{Because: "not tried"} }, Refused: func() []string { return nil },
	}
}

func find(t *testing.T, checks []Check, name string) Check {
	t.Helper()
	for _, c := range checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q", name)
	return Check{}
}

func TestExamine(t *testing.T) {
	bare := made(t, nil, nil)
	rich := made(t, map[string]string{
		"proc/meminfo":             "MemTotal:       33554432 kB\nMemAvailable:   16777216 kB\n",
		"sys/fs/cgroup/memory.max": "1073741824\n",
		"sys/fs/cgroup/cpu.max":    "50000 100000\n",
		"proc/self/cgroup":         "0::/\n",
		"etc/cdi/nvidia.yaml":      "cdiVersion: 0.6.0\n",
		"home/.kaggle/kaggle.json": `{"username":"somebody","key":"hunter2"}`,
		"dev/kfd":                  "",
	}, nil)
	tests := []struct {
		name, check string
		machine     Machine
		status      Status
		detail      string
	}{
		{"bare memory", "memory", bare, Warn, "cannot be read"},
		{"memory in a small control group", "memory", rich, Warn, "limited to 1.0 GiB"},
		{"processors in a control group", "processors", rich, OK, "limited to 0.5"},
		{"a cache folder not made yet", "cache folder", bare, OK, "not created yet"},
		{"no credentials", "Kaggle", bare, Absent, "no credentials"},
		{"credentials in a file", "Kaggle", rich, OK, "kaggle.json"},
		{"no devices for containers", "CDI", bare, Absent, "/etc/cdi"},
		{"devices for containers", "CDI", rich, OK, "/etc/cdi/nvidia.yaml"},
		{"no socket", "containerd", bare, Absent, "no socket"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := find(t, tt.machine.Examine(t.Context()), tt.check)
			if c.Status != tt.status || !strings.Contains(c.Detail, tt.detail) {
				t.Errorf("got %s %q, want %s with %q", c.Status, c.Detail, tt.status, tt.detail)
			}
			if c.Status != OK && c.Fix == "" {
				t.Errorf("%s has no hint", tt.check)
			}
			if strings.Contains(c.Detail+c.Fix, "hunter2") || strings.Contains(c.Detail+c.Fix, "somebody") {
				t.Error("a secret is shown")
			}
		})
	}
}

func TestReadableCredentials(t *testing.T) {
	m := made(t, map[string]string{"home/.kaggle/kaggle.json": `{"username":"somebody","key":"hunter2"}`}, nil)
	if err := os.Chmod(filepath.Join(m.Home, ".kaggle", "kaggle.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	if c := m.kaggle(); c.Status != Warn || !strings.Contains(c.Fix, "chmod 600") {
		t.Errorf("got %+v", c)
	}
}

func TestCacheFolderBelowAFile(t *testing.T) {
	m := made(t, map[string]string{"cache": "a file"}, nil)
	m.CacheDir = filepath.Join(m.CacheDir, "deeper")
	checks := m.Examine(t.Context())
	_, ready := Verdict(checks)
	if c := find(t, checks, "cache folder"); c.Status != Missing || ready {
		t.Errorf("got %+v", c)
	}
}

func TestExamineLeavesNothing(t *testing.T) {
	m := made(t, map[string]string{"cache/x": ""}, nil)
	m.Examine(t.Context())
	entries, err := os.ReadDir(m.CacheDir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the cache folder holds %v, %v", entries, err)
	}
}

// TestAgreesWithScheduler sees that doctor shows what the scheduler leases,
// in the places where it is easy to look elsewhere: limits of nested groups,
// of both versions, and devices that only a specification names.
func TestAgreesWithScheduler(t *testing.T) {
	const meminfo = "MemTotal:       33554432 kB\nMemAvailable:   16777216 kB\n"
	for name, files := range map[string]map[string]string{
		"nested group": {
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/memory.max": "6442450944\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/b/cpu.max": "25000 100000\n",
		},
		"version 1": {
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/x\n3:cpu,cpuacct:/x\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "5368709120\n",
			"sys/fs/cgroup/cpu/x/cpu.cfs_quota_us":         "75000\n", "sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n",
		},
		"devices": {
			"etc/cdi/amd.yaml": "cdiVersion: 0.6.0\nkind: amd.com/gpu\ndevices:\n- name: \"0\"\n- name: \"1\"\n- name: all\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := made(t, files, nil)
			checks, capacity := m.Examine(t.Context()), sched.NewProbe(m.Root).Capacity()
			if capacity.CPUs >= 1 && len(capacity.Devices) == 0 {
				t.Fatalf("the machine has nothing to agree on: %+v", capacity)
			}
			if c := find(t, checks, "processors"); capacity.CPUs < 1 && !strings.Contains(c.Detail, fmt.Sprintf("limited to %g ", capacity.CPUs)) {
				t.Errorf("%+v, the scheduler has %g", c, capacity.CPUs)
			}
			if c := find(t, checks, "memory"); capacity.MemoryBytes > 0 && !strings.Contains(c.Detail, "limited to "+view.Bytes(capacity.MemoryBytes)) {
				t.Errorf("%+v, the scheduler has %d", c, capacity.MemoryBytes)
			}
			if c := find(t, checks, "GPUs"); len(capacity.Devices) > 0 && (c.Status != OK || !strings.HasPrefix(c.Detail, strings.Join(capacity.Devices, ", "))) {
				t.Errorf("%+v, the scheduler has %q", c, capacity.Devices)
			}
		})
	}
}

func TestGPUs(t *testing.T) {
	tests := []struct {
		name            string
		leased, drivers []string
		status          Status
		detail          string
	}{
		{"none", nil, nil, Absent, "none found"},
		{"driver only", nil, []string{"0: H100"}, Warn, "none to lease, but there is 0: H100"},
		{"both", []string{"nvidia.com/gpu=0"}, []string{"0: H100"}, OK, "nvidia.com/gpu=0 (0: H100)"},
		{"NVIDIA without its tool", []string{"nvidia.com/gpu=0"}, nil, Warn, "nvidia.com/gpu=0, but nvidia-smi does not answer"},
		{"another vendor", []string{"amd.com/gpu=0", "amd.com/gpu=1"}, nil, OK, "amd.com/gpu=0, amd.com/gpu=1"},
	}
	for _, tt := range tests {
		c := gpuCheck(tt.leased, tt.drivers)
		if c.Status != tt.status || c.Detail != tt.detail || (c.Fix == "") != (tt.status == OK) {
			t.Errorf("%s: got %+v", tt.name, c)
		}
	}
}
