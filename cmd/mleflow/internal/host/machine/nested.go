package machine

import (
	_ "embed"
	"fmt"
	"os"
	"strings"
)

// container is what mleflow itself runs in.
type container string

const (
	noContainer container = ""
	docker      container = "Docker"
	podman      container = "Podman"
	pod         container = "a Kubernetes pod"
	anything    container = "a container"
)

// PodSettings are the lines of a pod's specification with which the runtime sandbox
// works in it: no others work with less.
//
//go:embed pod.yaml
var PodSettings string

// container says what mleflow itself runs in, as far as can be seen.
func (m Machine) container() container {
	has := func(path string) bool { _, err := os.Stat(m.path(path)); return err == nil }
	groups := m.read("/proc/1/cgroup")
	switch {
	case m.Env("KUBERNETES_SERVICE_HOST") != "" || strings.Contains(groups, "kubepods") || has("/var/run/secrets/kubernetes.io"):
		return pod
	case has("/run/.containerenv"):
		return podman
	case has("/.dockerenv") || strings.Contains(groups, "/docker"):
		return docker
	case m.maskedProc():
		return anything
	}
	return noContainer
}

// InContainer reports whether mleflow itself runs in a pod or another container.
func (m Machine) InContainer() bool { return m.container() != noContainer }

// nested are the obstacles of a container around mleflow, or of a service's settings.
func (m Machine) nested() (list []obstacle) {
	in := m.container()
	if refused := m.refused(); len(refused) > 0 {
		list = append(list, obstacle{fmt.Sprintf("a seccomp profile refuses %s, as that of %s does", strings.Join(refused, ", "), profileOf(in)), seccompFix(in)})
	}
	if m.maskedProc() {
		list = append(list, obstacle{fmt.Sprintf("parts of /proc are masked, as in %s, so no new /proc can be mounted", in), procFix(in)})
	}
	if profile := m.confined(); profile != "" && in != noContainer {
		list = append(list, obstacle{fmt.Sprintf("the AppArmor profile %s of %s may refuse mounts", profile, in), apparmorFix(in)})
	}
	return list
}

func (m Machine) refused() []string {
	if m.Refused == nil {
		return nil
	}
	return m.Refused()
}

func profileOf(in container) string {
	if in == noContainer {
		return "a service with RestrictNamespaces or SystemCallFilter"
	}
	return string(in)
}

// podFix is the fix of everything in a pod: the settings depend on each other.
const podFix = "give the container the settings hostUsers: false, procMount: Unmasked and a Localhost seccomp profile: " +
	"mleflow doctor --print pod prints them as YAML, mleflow doctor --print seccomp the profile"

func seccompFix(in container) string {
	const profile = "mleflow doctor --print seccomp >mleflow.json, and "
	switch in {
	case pod:
		return podFix
	case noContainer:
		return "let the service that starts mleflow make namespaces and mounts (in systemd: RestrictNamespaces=no and SystemCallFilter with @mount)"
	case anything:
		return profile + "start the container with that profile"
	}
	return profile + strings.ToLower(string(in)) + " run --security-opt seccomp=mleflow.json"
}

func procFix(in container) string {
	switch in {
	case pod:
		return podFix
	case podman:
		return "podman run --security-opt unmask=ALL"
	case anything:
		return "start the container without masked and read-only paths"
	}
	return "docker run --security-opt systempaths=unconfined"
}

func apparmorFix(in container) string {
	switch in {
	case pod:
		return "give the container appArmorProfile: {type: Unconfined}"
	case anything:
		return "start the container without an AppArmor profile"
	}
	return strings.ToLower(string(in)) + " run --security-opt apparmor=unconfined"
}

// maskedProc reports whether something is mounted over parts of /proc, as
// container runtimes do. The kernel then refuses another /proc in a user namespace.
func (m Machine) maskedProc() bool {
	for line := range strings.Lines(m.read("/proc/self/mountinfo")) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], "/proc/") && fields[4] != "/proc/sys/fs/binfmt_misc" {
			return true
		}
	}
	return false
}

// confined is the AppArmor profile that is enforced on this process, "" for none.
func (m Machine) confined() string {
	for _, file := range []string{"/proc/self/attr/apparmor/current", "/proc/self/attr/current"} {
		if profile, enforced := strings.CutSuffix(m.read(file), " (enforce)"); enforced {
			return profile
		}
	}
	return ""
}
