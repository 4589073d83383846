package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/containerd"
)

// containerdSockets are the places where containerd listens, the common first.
var containerdSockets = []string{"/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock", "/var/run/docker/containerd/containerd.sock"}

// runtimes checks what agents can be run by. The process runtime needs
// nothing; containerd isolates.
func (m Machine) runtimes(ctx context.Context) []Check {
	return []Check{
		{Name: "process runtime", Status: OK, Detail: "built in; it does not isolate agents from the machine"},
		m.containerd(ctx), m.tool(ctx, "runc", "runc", "--version"),
	}
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
		c.Detail += fmt.Sprintf(", but its state lies in %s, which is closed to other users, so no container can start", closed)
		c.Fix = "containers run as users of their own, who must be able to enter that folder: chmod o+x " + closed
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

// tool checks that a program is on the path and asks for its version.
func (m Machine) tool(ctx context.Context, name, program string, args ...string) Check {
	if _, err := exec.LookPath(program); err != nil {
		return Check{Name: name, Status: Absent, Detail: "not on the path", Fix: "needed for agents in containers: apt-get install " + program}
	}
	return Check{Name: name, Status: OK, Detail: firstLine(ctx, program, args...)}
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
