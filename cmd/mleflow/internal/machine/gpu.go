package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func (m Machine) gpus(ctx context.Context) Check {
	c := Check{Name: "GPUs", Status: Absent, Detail: "none found", Fix: "needed only by steps with resources { gpus = … }: install the vendor's driver"}
	if names := nvidiaNames(ctx); len(names) > 0 {
		return Check{Name: "GPUs", Status: OK, Detail: strings.Join(names, "; ")}
	}
	if nodes, _ := filepath.Glob(m.path("/dev/nvidia[0-9]*")); len(nodes) > 0 {
		return Check{Name: "GPUs", Status: Warn, Detail: fmt.Sprintf("%d device nodes, but nvidia-smi does not answer", len(nodes)), Fix: "install nvidia-smi of the driver's version"}
	}
	if _, err := os.Stat(m.path("/dev/kfd")); err == nil {
		return Check{Name: "GPUs", Status: OK, Detail: "AMD devices at /dev/kfd"}
	}
	return c
}

// nvidiaNames asks the driver for the devices: "0: NVIDIA H100, 81559 MiB".
func nvidiaNames(ctx context.Context) []string {
	if _, err := exec.LookPath("nvidia-smi"); err != nil {
		return nil
	}
	out, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=index,name,memory.total", "--format=csv,noheader").Output()
	if err != nil {
		return nil
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if index, rest, ok := strings.Cut(strings.TrimSpace(line), ", "); ok {
			names = append(names, index+": "+rest)
		}
	}
	return names
}

// cdi looks for device specifications that hand GPUs to containers.
func (m Machine) cdi() Check {
	var found []string
	for _, dir := range []string{"/etc/cdi", "/var/run/cdi"} {
		for _, pattern := range []string{"*.yaml", "*.yml", "*.json"} {
			files, _ := filepath.Glob(filepath.Join(m.path(dir), pattern))
			for _, f := range files {
				found = append(found, filepath.Join(dir, filepath.Base(f)))
			}
		}
	}
	if len(found) == 0 {
		return Check{Name: "CDI", Status: Absent, Detail: "no device specification in /etc/cdi or /var/run/cdi", Fix: "needed for GPUs in containers: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"}
	}
	return Check{Name: "CDI", Status: OK, Detail: strings.Join(found, ", ")}
}
