package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
)

// gpus tells what steps can lease, and what the vendors' drivers say.
func (m Machine) gpus(ctx context.Context) Check {
	leased, err := m.leasable()
	if err != nil {
		return Check{Name: "GPUs", Status: Missing, Detail: err.Error(), Fix: "correct the variable " + sched.DevicesVariable}
	}
	return gpuCheck(leased, m.drivers(ctx))
}

// leasable are the devices that steps can lease.
func (m Machine) leasable() ([]string, error) {
	return sched.ChooseDevices(m.Env(sched.DevicesVariable), m.scheduled().GPUs())
}

// reach proves that a device gets into a container: it runs one with the first
// and opens the device's files in it.
func (m Machine) reach(ctx context.Context) Check {
	c := Check{Name: "GPU in container", Status: Absent}
	leased, err := m.leasable()
	address := m.containerdAddress()
	switch {
	case err != nil || len(leased) == 0:
		c.Detail, c.Fix = "not tried: there is no device to lease", "needed only by steps with resources { gpus = … }"
		return c
	case address == "":
		c.Detail, c.Fix = "not tried: there is no containerd", "install containerd and runc"
		return c
	case os.Geteuid() != 0:
		c.Detail, c.Fix = fmt.Sprintf("not tried: containers need root, and this is user %d", os.Geteuid()), "run mleflow doctor as root"
		return c
	}
	nodes, err := m.tryDevice(ctx, address, leased[0])
	if err != nil {
		c.Status, c.Detail = Warn, fmt.Sprintf("%s does not reach a container: %v", leased[0], err)
		c.Fix = "generate the device specification again (for NVIDIA: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml) and check that the driver is loaded (nvidia-smi)"
		return c
	}
	c.Status, c.Detail = OK, fmt.Sprintf("%s was opened in a container (%s)", leased[0], strings.Join(nodes, ", "))
	return c
}

func (m Machine) tryDevice(ctx context.Context, address, device string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	e := containerd.New(containerd.Options{Socket: address, Self: self, CDIDirs: []string{m.path("/etc/cdi"), m.path("/var/run/cdi")}})
	defer e.Close()
	image, err := e.ProgramImage(ctx, self, "mleflow")
	if err != nil {
		return nil, err
	}
	return e.Reaches(ctx, image, "/usr/bin/mleflow", device)
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
	names := m.nvidiaNames(ctx)
	if _, err := os.Stat(m.path("/dev/kfd")); err == nil {
		names = append(names, "AMD devices at /dev/kfd")
	}
	return names
}

// nvidiaNames asks the driver for the devices: "0: NVIDIA H100, 81559 MiB".
func (m Machine) nvidiaNames(ctx context.Context) []string {
	path, err := checkout.Program("nvidia-smi", m.Folder)
	if err != nil {
		return nil
	}
	out, err := exec.CommandContext(ctx, path, "--query-gpu=index,name,memory.total", "--format=csv,noheader").Output()
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
