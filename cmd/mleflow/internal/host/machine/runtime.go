package machine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
)

// containerdSockets are the places where containerd listens, the common first.
var containerdSockets = []string{"/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock", "/var/run/docker/containerd/containerd.sock"}

// runtimes checks what agents can be run by, the strongest first, and says which
// of them "auto" is.
func (m Machine) runtimes(ctx context.Context) []Check {
	list := []Check{m.containerd(ctx), m.tool(ctx, "runc", "runc", "--version"), m.tool(ctx, "mkfs.ext4", "mkfs.ext4")}
	if m.Sandbox != nil {
		list = append(list, m.sandbox()...)
	}
	list = append(list, Check{Name: "process runtime", Status: OK, Detail: "built in; it does not isolate agents from the machine"})
	return append(list, m.auto())
}

// auto says what runs agents where a pipeline leaves it to the machine.
func (m Machine) auto() Check {
	c := Check{Name: "runtime auto", Status: OK}
	switch container, sandbox := m.ContainerdHere(), m.SandboxHere(); {
	case container.OK:
		c.Detail = "containerd; agents are isolated in containers"
	case sandbox.OK:
		c.Detail = "sandbox; agents are isolated in namespaces of this user"
	default:
		c.Status, c.Detail = Warn, "process: agents are NOT isolated and can read whatever you can, the answers included"
		c.Fix = "fix containerd or sandbox as described above; results are marked untrusted until then, and required_isolation refuses them"
	}
	return c
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
	c := Check{Name: "containerd", Status: Absent, Detail: "no socket", Fix: "needed for agents in containers: apt-get install containerd, then start it as a service"}
	address := m.containerdAddress()
	if address == "" {
		return c
	}
	daemon, err := containerd.Probe(ctx, address)
	if err != nil {
		c.Status, c.Detail = Warn, fmt.Sprintf("%s: %v", address, err)
		c.Fix = "start containerd, or give this user access to its socket"
		return c
	}
	c = Check{Name: c.Name, Status: OK, Detail: fmt.Sprintf("version %s at %s", daemon.Version, address)}
	if closed := closedState(address); closed != "" {
		c.Status = Warn
		c.Detail += fmt.Sprintf(", but its state is in %s, which is closed to other users, so no container can start", closed)
		c.Fix = "containers run as users of their own, who must be able to enter that folder: chmod o+x " + closed
		return c
	}
	if m.Env("CONTAINERD_ADDRESS") == "" && address != m.path(containerdSockets[0]) {
		c.Status, c.Fix = Warn, "set CONTAINERD_ADDRESS="+address+" to use it, or start one of its own for mleflow"
		c.Detail += ", which is that of other software"
		return c
	}
	if m.UID != 0 {
		c.Status, c.Fix = Warn, "run mleflow as root, or use the runtime sandbox"
		c.Detail += fmt.Sprintf(", but the runtime needs root, and this is user %d", m.UID)
	}
	return c
}

// containerdAddress is the daemon's socket, "" if there is none.
func (m Machine) containerdAddress() string {
	if address := strings.TrimPrefix(m.Env("CONTAINERD_ADDRESS"), "unix://"); address != "" {
		return address
	}
	return m.firstSocket()
}

func (m Machine) firstSocket() string {
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
