package machine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/engine/sched"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
)

// containerdSockets are the places where containerd listens, the common first.
var containerdSockets = []string{"/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock", "/var/run/docker/containerd/containerd.sock"}

// runtimes checks what agents can be run by, the strongest first, and says which
// of them "auto" is.
func (m Machine) runtimes(ctx context.Context) []Check {
	list := []Check{m.containerd(ctx), m.tool(ctx, "runc", "runc", "--version"), m.tool(ctx, "mkfs.ext4", "mkfs.ext4")}
	list = append(list, m.sandbox()...)
	list = append(list, m.docker(ctx))
	list = append(list, Check{Name: "process runtime", Status: OK, Detail: "built in; it does not isolate agents from the machine"})
	return append(list, m.auto())
}

// auto says what runs agents where a pipeline leaves it to the machine.
func (m Machine) auto() Check {
	c := Check{Name: "runtime auto"}
	switch container, sandbox := m.ContainerdHere(), m.SandboxHere(); {
	case container.OK:
		return c.but(OK, "containerd; agents are isolated in containers", "")
	case sandbox.OK:
		return c.but(OK, "sandbox; agents are isolated in namespaces of this user", "")
	case m.DockerHere().OK:
		return c.but(OK, "docker, for agents with an image; they are isolated in containers", "")
	}
	return c.but(Warn, "process: agents are NOT isolated and can read whatever you can, the answers included",
		"fix containerd, sandbox or docker as described above; results are marked untrusted until then, and required_isolation refuses them")
}

// ContainerdHere says whether the runtime containerd can be used.
func (m Machine) ContainerdHere() executor.Availability {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if m.UID != 0 {
		return executor.Availability{Because: fmt.Sprintf("it needs root, and this is user %d", m.UID), Fix: "run mleflow as root"}
	}
	if c := m.containerd(ctx); c.Status != OK {
		return executor.Availability{Because: c.Detail, Fix: c.Fix}
	}
	if _, err := os.Stat(m.path("/dev/loop-control")); err != nil {
		return executor.Availability{Because: "there are no loop devices, which limit what an agent stores", Fix: "as root: modprobe loop; in a container, give it /dev/loop-control and the loop devices"}
	}
	for _, program := range []string{"runc", "mkfs.ext4"} {
		if c := m.tool(ctx, program, program); c.Status != OK {
			return executor.Availability{Because: program + " is " + c.Detail, Fix: c.Fix}
		}
	}
	return executor.Availability{OK: true, Because: "containerd runs here and this is root"}
}

func (m Machine) containerd(ctx context.Context) Check {
	c := Check{Name: "containerd"}
	address := m.containerdAddress()
	if address == "" {
		return c.but(Absent, "no socket", "needed for agents in containers: apt-get install containerd, then start it as a service")
	}
	daemon, err := containerd.Probe(ctx, address)
	if err != nil {
		return c.but(Warn, fmt.Sprintf("%s: %v", address, err), "start containerd, or give this user access to its socket")
	}
	c = c.but(OK, fmt.Sprintf("version %s at %s", daemon.Version, address), "")
	switch closed := closedState(address); {
	case closed != "":
		return c.but(Warn, fmt.Sprintf(", but its state is in %s, which is closed to other users, so no container can start", closed),
			"containers run as users of their own, who must be able to enter that folder: chmod o+x "+closed)
	case m.Env("CONTAINERD_ADDRESS") == "" && address != m.path(containerdSockets[0]):
		return c.but(Warn, ", which is that of other software", "set CONTAINERD_ADDRESS="+address+" to use it, or start one of its own for mleflow")
	case m.UID != 0:
		return c.but(Warn, fmt.Sprintf(", but the runtime needs root, and this is user %d", m.UID), "run mleflow as root, or use the runtime sandbox")
	}
	return c
}

// containerdAddress is the daemon's socket, "" if there is none.
func (m Machine) containerdAddress() string {
	if address := strings.TrimPrefix(m.Env("CONTAINERD_ADDRESS"), "unix://"); address != "" {
		return address
	}
	for _, socket := range containerdSockets {
		if _, err := os.Stat(m.path(socket)); err == nil {
			return m.path(socket)
		}
	}
	return ""
}

// packages are Debian's packages of programs whose names differ.
var packages = map[string]string{"mkfs.ext4": "e2fsprogs"}

// tool checks that a program is on the path and, with arguments, asks for its
// version.
func (m Machine) tool(ctx context.Context, name, program string, args ...string) Check {
	path, err := checkout.Program(program, m.Folder)
	if err != nil {
		return Check{Name: name, Status: Absent, Detail: "not in PATH", Fix: "needed for agents in containers: apt-get install " + cmp.Or(packages[program], program)}
	}
	c := Check{Name: name, Status: OK, Detail: "in PATH"}
	if len(args) > 0 {
		c.Detail = cmp.Or(firstLine(ctx, path, args...), c.Detail)
	}
	return c
}

// firstLine runs a program for at most two seconds and returns the first line
// it prints, "" if it fails.
func firstLine(ctx context.Context, program string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line)
}

// taskFolder is where containerd keeps the bundles of running containers, below
// its state folder.
const taskFolder = "io.containerd.runtime.v2.task"

// closedState returns the folder that keeps other users out of containerd's
// state, "" if there is none or the state is not found. The users that
// containers run as are leased and belong to nobody, so runc must get to a
// bundle as one of the others.
func closedState(socket string) string {
	dir := filepath.Dir(socket)
	for _, state := range []string{dir, filepath.Join(dir, "state")} {
		tasks := filepath.Join(state, taskFolder)
		if _, err := os.Stat(tasks); err == nil {
			return closedFolder(tasks)
		}
	}
	return ""
}

// closedFolder returns the topmost folder on the path that other users may not
// enter, "" if there is none.
func closedFolder(path string) string {
	if parent := filepath.Dir(path); parent != path {
		if closed := closedFolder(parent); closed != "" {
			return closed
		}
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o001 == 0 {
		return path
	}
	return ""
}

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
	c := Check{Name: "GPU in container"}
	leased, err := m.leasable()
	address := m.containerdAddress()
	switch {
	case err != nil || len(leased) == 0:
		return c.but(Absent, "not tried: there is no device to lease", "needed only by steps with resources { gpus = … }")
	case address == "":
		return c.but(Absent, "not tried: there is no containerd", "install containerd and runc")
	case os.Geteuid() != 0:
		return c.but(Absent, fmt.Sprintf("not tried: containers need root, and this is user %d", os.Geteuid()), "run mleflow doctor as root")
	}
	nodes, err := m.tryDevice(ctx, address, leased[0])
	if err != nil {
		return c.but(Warn, fmt.Sprintf("%s does not reach a container: %v", leased[0], err),
			"generate the device specification again (for NVIDIA: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml) and check that the driver is loaded (nvidia-smi)")
	}
	return c.but(OK, fmt.Sprintf("%s was opened in a container (%s)", leased[0], strings.Join(nodes, ", ")), "")
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
		return c.but(Absent, "none found", "needed only by steps with resources { gpus = … }: install the vendor's driver")
	case len(leased) == 0:
		return c.but(Warn, "none to lease, but there is "+strings.Join(drivers, "; "),
			"steps with resources { gpus = … } need a device specification: for NVIDIA, nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml")
	case len(drivers) > 0:
		return c.but(OK, " ("+strings.Join(drivers, "; ")+")", "")
	case slices.ContainsFunc(leased, isNVIDIA):
		return c.but(Warn, ", but nvidia-smi does not answer", "install nvidia-smi of the driver's version")
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
