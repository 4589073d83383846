package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	return Machine{Root: root, Home: filepath.Join(root, "home"), CacheDir: filepath.Join(root, "cache"), Env: func(name string) string { return env[name] }}
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
	m := made(t, map[string]string{"home/.kaggle/kaggle.json": "{}"}, nil)
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
	if c := find(t, checks, "cache folder"); c.Status != Missing || Fit(checks) {
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
