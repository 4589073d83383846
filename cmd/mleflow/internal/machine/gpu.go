package machine

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// gpus tells what steps can lease, and what the vendors' drivers say.
func (m Machine) gpus(ctx context.Context) Check {
	return gpuCheck(m.scheduled().GPUs(), m.drivers(ctx))
}

func gpuCheck(leased, drivers []string) Check {
	c := Check{Name: "GPUs", Status: OK, Detail: strings.Join(leased, ", ")}
	isNVIDIA := func(name string) bool { return strings.HasPrefix(name, "nvidia.com/") }
	switch {
	case len(leased) == 0 && len(drivers) == 0:
		c.Status, c.Detail, c.Fix = Absent, "none found", "needed only by steps with resources { gpus = … }: install the vendor's driver"
	case len(leased) == 0:
		c.Status, c.Detail = Warn, "none to lease, but there is "+strings.Join(drivers, "; ")
		c.Fix = "steps with resources { gpus = … } need a device specification: for NVIDIA, nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
	case len(drivers) > 0:
		c.Detail += " (" + strings.Join(drivers, "; ") + ")"
	case slices.ContainsFunc(leased, isNVIDIA):
		c.Status, c.Fix = Warn, "install nvidia-smi of the driver's version"
		c.Detail += ", but nvidia-smi does not answer"
	}
	return c
}

// drivers names the devices that the vendors' drivers show.
func (m Machine) drivers(ctx context.Context) []string {
	names := nvidiaNames(ctx)
	if _, err := os.Stat(m.path("/dev/kfd")); err == nil {
		names = append(names, "AMD devices at /dev/kfd")
	}
	return names
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
