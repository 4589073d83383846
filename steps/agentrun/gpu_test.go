package agentrun

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestGPUUse(t *testing.T) {
	for text, want := range map[string][3]int64{
		"37, 1024\n":            {37, 1 << 30, 1},
		"100, 10\n50, 6\n":      {75, 16 << 20, 1},
		"[N/A], [N/A]\n":        {},
		"":                      {},
		"101, 1\n":              {},
		"No devices were found": {},
		"5, 99999999999999999":  {},
	} {
		percent, bytes, ok := gpuUse(text)
		if percent != want[0] || bytes != want[1] || ok != (want[2] == 1) {
			t.Errorf("%q: %d, %d, %v", text, percent, bytes, ok)
		}
	}
}

// TestGPUs asks a driver's program, for whole GPUs only.
func TestGPUs(t *testing.T) {
	dir := t.TempDir()
	program := "#!/bin/sh\necho \"$@\" > " + dir + "/asked\necho '40, 2048'\n"
	if err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	g := gpusOf([]string{"nvidia.com/gpu=0", "nvidia.com/gpu=1:0", "amd.com/gpu=0", "nvidia.com/gpu=2"})
	if !slices.Equal(g.ids, []string{"0", "2"}) {
		t.Errorf("GPUs are %q", g.ids)
	}
	told := make(chan [2]int64, 1)
	g.measure(func(percent, bytes int64) { told <- [2]int64{percent, bytes} })
	if got := <-told; got != [2]int64{40, 2 << 30} {
		t.Errorf("told %v", got)
	}
	if asked, _ := os.ReadFile(dir + "/asked"); string(asked) != "--query-gpu=utilization.gpu,memory.used --format=csv,noheader,nounits --id=0,2\n" {
		t.Errorf("asked %s", asked)
	}
	g.measure(func(int64, int64) { t.Error("the driver is asked again at once") })
	gpusOf(nil).measure(func(int64, int64) { t.Error("a GPU that is not leased is measured") })
}
