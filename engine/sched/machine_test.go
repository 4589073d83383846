package sched

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes a folder with the given files and returns its path.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// cdiYAML has the shape of what NVIDIA's generator of specifications writes
// (nvidia-ctk 1.16): the name of a device after or before its edits, other
// names of the same devices, and names of other things.
const cdiYAML = `---
cdiVersion: 0.5.0
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
  - name: "7"
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia10
    - name: "8"
  name: "10"
- name: "2"
  containerEdits:
    env:
    - A=B
- name: '1:0'
- name: GPU-8d5a7a4c-0000-0000-0000-000000000000
- name: all
kind: nvidia.com/gpu
`

func TestProbe(t *testing.T) {
	const meminfo = "MemTotal:       16384 kB\nMemFree: 12 kB\n"
	tests := []struct {
		name  string
		files map[string]string
		want  Capacity
	}{
		{"nothing to read", nil, Capacity{CPUs: 8}},
		{"no limits", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/user.slice\n",
			"sys/fs/cgroup/user.slice/cpu.max": "max 100000\n", "sys/fs/cgroup/user.slice/memory.max": "max\n",
		}, Capacity{CPUs: 8, MemoryBytes: 16 << 20}},
		{"version 2, limit of the parent", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/cpu.max": "150000 100000\n", "sys/fs/cgroup/a/b/cpu.max": "300000 100000\n",
			"sys/fs/cgroup/a/b/memory.max": "1048576\n",
		}, Capacity{CPUs: 1.5, MemoryBytes: 1 << 20}},
		{"version 2 in a container, which sees its group as the root", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/docker/0123\n",
			"sys/fs/cgroup/cpu.max": "200000 100000\n", "sys/fs/cgroup/memory.max": "2097152\n",
		}, Capacity{CPUs: 2, MemoryBytes: 2 << 20}},
		{"version 1", map[string]string{
			"proc/meminfo":                           meminfo,
			"proc/self/cgroup":                       "5:cpu,cpuacct:/job\n4:memory:/job/x\n3:pids:/\n",
			"sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "50000\n", "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n",
			"sys/fs/cgroup/memory/job/x/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes":   "4194304\n",
		}, Capacity{CPUs: 0.5, MemoryBytes: 4 << 20}},
		{"version 1 without limits", map[string]string{
			"proc/self/cgroup": "5:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
		}, Capacity{CPUs: 8}},
		{"damaged files", map[string]string{
			"proc/meminfo": "MemTotal: lots\n", "proc/self/cgroup": "nonsense\n\n0::/\n", "sys/fs/cgroup/cpu.max": "a b c\n",
			"etc/cdi/x.json": "{", "etc/cdi/y.yaml": ":\n-\n",
		}, Capacity{CPUs: 8}},
		{"device files", map[string]string{
			"dev/nvidia0": "", "dev/nvidia10": "", "dev/nvidia2": "", "dev/nvidiactl": "", "dev/nvidia-uvm": "", "dev/nvidia0x": "",
		}, Capacity{CPUs: 8, Devices: []string{"nvidia.com/gpu=0", "nvidia.com/gpu=2", "nvidia.com/gpu=10"}}},
		{"specification in JSON, twice", map[string]string{
			"dev/nvidia0":            "",
			"etc/cdi/a.json":         `{"cdiVersion":"0.6.0","kind":"vendor.com/gpu","devices":[{"name":"1"},{"name":"0"},{"name":"all"}]}`,
			"var/run/cdi/a.json":     `{"kind":"vendor.com/gpu","devices":[{"name":"0"}]}`,
			"var/run/cdi/net.json":   `{"kind":"vendor.com/nic","devices":[{"name":"5"}]}`,
			"var/run/cdi/readme.txt": "kind: vendor.com/gpu",
		}, Capacity{CPUs: 8, Devices: []string{"vendor.com/gpu=0", "vendor.com/gpu=1"}}},
		{"specification in YAML", map[string]string{"var/run/cdi/nvidia.yaml": cdiYAML},
			Capacity{CPUs: 8, Devices: []string{"nvidia.com/gpu=1:0", "nvidia.com/gpu=2", "nvidia.com/gpu=10"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Probe{Root: tree(t, tt.files), CPUs: 8}.Capacity()
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestModels reads the files of NVIDIA's driver.
func TestModels(t *testing.T) {
	info := func(model, minor string) string {
		return "Model: \t\t " + model + "\nIRQ:   \t\t 1\nGPU UUID: \t GPU-0\nDevice Minor: \t " + minor + "\n"
	}
	p := Probe{Root: tree(t, map[string]string{
		"proc/driver/nvidia/gpus/0000:3d:00.0/information": info("NVIDIA H100 80GB HBM3", "0"),
		"proc/driver/nvidia/gpus/0000:3e:00.0/information": info("NVIDIA H100 80GB HBM3", "1"),
		"proc/driver/nvidia/gpus/0000:3f:00.0/information": info("Tesla T4, (x=1)", "10"),
		"proc/driver/nvidia/gpus/0000:40:00.0/information": "nonsense",
	})}
	for devices, want := range map[string]string{
		"":                                   "",
		"nvidia.com/gpu=0":                   "nvidia-h100-80gb-hbm3",
		"nvidia.com/gpu=0 nvidia.com/gpu=1":  "nvidia-h100-80gb-hbm3",
		"nvidia.com/gpu=0 nvidia.com/gpu=10": "nvidia-h100-80gb-hbm3+tesla-t4-x-1",
		"nvidia.com/gpu=1:0":                 "nvidia-h100-80gb-hbm3-slice",
		"nvidia.com/gpu=2 amd.com/gpu=0":     "unknown",
	} {
		if got := p.Models(strings.Fields(devices)); got != want {
			t.Errorf("models of %s: %q, want %q", devices, got, want)
		}
	}
}

func TestMachine(t *testing.T) {
	c := Machine()
	if c.CPUs <= 0 || c.MemoryBytes <= 0 {
		t.Errorf("Machine() = %+v", c)
	}
}

func TestOOMKills(t *testing.T) {
	for want, files := range map[int64]map[string]string{
		0: {"proc/self/cgroup": "0::/a\n"},
		5: {"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.events": "oom 9\noom_kill 2\n", "sys/fs/cgroup/a/memory.events": "oom_kill 3\n"},
		7: {"proc/self/cgroup": "4:memory:/x\n", "sys/fs/cgroup/memory/x/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"},
	} {
		if got := (Probe{Root: tree(t, files)}).OOMKills(); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
}

func TestFewInodes(t *testing.T) {
	for want, s := range map[int64]Space{
		1 << 30: {FreeBytes: 1 << 30, Bytes: 1 << 40}, 1 << 31: {FreeBytes: 1 << 31, FreeFiles: fewFiles, Files: 1 << 20},
		0: {FreeBytes: 1 << 30, Files: 1 << 20}, 300 * block: {FreeBytes: 1 << 30, FreeFiles: 300, Files: 1 << 20}, 5: {FreeBytes: 5, FreeFiles: 300, Files: 1 << 20},
	} {
		if got := s.free(); got != want {
			t.Errorf("%+v: %d, want %d", s, got, want)
		}
	}
}

func TestDiskSpace(t *testing.T) {
	dir := t.TempDir()
	here, err := DiskSpace(dir)
	if err != nil || here.FreeBytes <= 0 || here.Bytes < here.FreeBytes {
		t.Fatalf("DiskSpace = %+v, %v", here, err)
	}
	if _, err := DiskSpace(filepath.Join(dir, "not", "yet")); err != nil {
		t.Errorf("a folder to be made: %v", err)
	}
	if _, err := DiskSpace("a\x00b"); err == nil {
		t.Error("an impossible name has space")
	}
}
