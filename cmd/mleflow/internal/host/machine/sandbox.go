package machine

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// obstacle is one thing that keeps the runtime sandbox from working, and how to
// remove it.
type obstacle struct{ what, fix string }

// SandboxHere tries the runtime sandbox. If it does not work, the machine is
// searched for what is in the way.
func (m Machine) SandboxHere() executor.Availability {
	if m.Sandbox == nil {
		return executor.Availability{Because: "this program has no runtime sandbox"}
	}
	tried := m.Sandbox()
	if tried.OK {
		return tried
	}
	found := m.obstacles()
	if len(found) == 0 {
		return executor.Availability{Because: tried.Because, Fix: cmp.Or(tried.Fix, "the kernel does not say why; ask the administrator whether users may have user namespaces (unshare --user --map-root-user true)")}
	}
	var whats, fixes []string
	for _, o := range found {
		whats = append(whats, o.what)
		if !slices.Contains(fixes, o.fix) {
			fixes = append(fixes, o.fix)
		}
	}
	return executor.Availability{Because: strings.Join(whats, ", and "), Fix: strings.Join(fixes, "; and ")}
}

// sandbox says whether the runtime works and how much of it the machine has.
func (m Machine) sandbox() []Check {
	c := Check{Name: "sandbox", Status: OK}
	here := m.SandboxHere()
	if c.Detail = here.Because; !here.OK {
		c.Status, c.Fix = Absent, here.Fix
		if tried := m.Sandbox(); tried.Because != c.Detail {
			c.Detail += " (" + tried.Because + ")"
		}
		if m.container() == pod {
			c.Example = PodSettings
		}
	}
	return []Check{c, m.subIDs(), m.overlay(), m.cgroups()}
}

// obstacles are the settings of the machine that refuse user namespaces, or what
// the sandbox does in one.
func (m Machine) obstacles() (list []obstacle) {
	if _, err := os.Stat(m.path("/proc/self/ns")); err == nil {
		if _, err := os.Lstat(m.path("/proc/self/ns/user")); err != nil {
			return []obstacle{{"the kernel has no user namespaces", "use a kernel with CONFIG_USER_NS, or the runtime containerd as root"}}
		}
	}
	if m.read("/proc/sys/kernel/unprivileged_userns_clone") == "0" && m.UID != 0 {
		list = append(list, obstacle{"only root may make user namespaces (kernel.unprivileged_userns_clone = 0)", keepSysctl("kernel.unprivileged_userns_clone", "1")})
	}
	for _, kind := range []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} {
		if setting := "user.max_" + kind + "_namespaces"; m.read("/proc/sys/user/max_"+kind+"_namespaces") == "0" {
			list = append(list, obstacle{setting + " = 0 allows none", keepSysctl(setting, "15000")})
		}
	}
	if m.read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" && m.UID != 0 {
		list = append(list, m.apparmor())
	}
	return append(list, m.nested()...)
}

// keepSysctl is how to set a kernel setting now and permanently.
func keepSysctl(name, value string) string {
	return fmt.Sprintf("as root: sysctl -w %s=%s, and put %s=%s into /etc/sysctl.d/90-mleflow.conf", name, value, name, value)
}

// apparmor is the restriction of Ubuntu since 23.10: a program without a profile
// gets user namespaces in which it may do nothing.
func (m Machine) apparmor() obstacle {
	self, err := os.Executable()
	if err != nil {
		self = "/usr/local/bin/mleflow"
	}
	return obstacle{
		"AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns = 1, as in Ubuntu 24.04)",
		fmt.Sprintf("as root, allow this program alone: write \"abi <abi/4.0>, include <tunables/global> profile mleflow %s flags=(unconfined) { userns, }\" to /etc/apparmor.d/mleflow and run apparmor_parser -r /etc/apparmor.d/mleflow; "+
			"or allow all programs: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0", self),
	}
}

// subIDs says what subordinate IDs are for: nothing here.
func (m Machine) subIDs() Check {
	c := Check{Name: "subordinate IDs", Status: OK, Detail: "none for this user, and none are needed"}
	user := []string{m.Env("USER"), strconv.Itoa(m.UID)}
	for line := range strings.Lines(m.read("/etc/subuid")) {
		if name, _, ok := strings.Cut(line, ":"); ok && name != "" && slices.Contains(user, name) {
			c.Detail = "there are some, but none are needed"
		}
	}
	return c
}

// overlay says whether the writable layer over an image costs a copy.
func (m Machine) overlay() Check {
	c := Check{Name: "overlay", Status: OK, Detail: "the kernel has it in user namespaces: images are not copied"}
	release := m.read("/proc/sys/kernel/osrelease")
	switch {
	case !strings.Contains("\n"+m.read("/proc/filesystems")+"\n", "\toverlay\n"):
		c.Status, c.Detail, c.Fix = Warn, "the kernel has no overlay: the sandbox copies each image for each attempt", "as root: modprobe overlay"
	case release != "" && !since(release, 5, 11):
		c.Status, c.Detail = Warn, "kernel "+release+" has no overlay in user namespaces: the sandbox copies each image for each attempt"
		c.Fix = "use Linux 5.11 or later"
	}
	return c
}

// since reports whether a kernel's release is at least major.minor.
func since(release string, major, minor int) bool {
	var a, b int
	if _, err := fmt.Sscanf(release, "%d.%d", &a, &b); err != nil {
		return true // an unknown name is no reason to warn
	}
	return a > major || a == major && b >= minor
}

// without is what the limits of a sandbox are without a control group.
const without = ": in a sandbox memory is sampled, CPUs are bound where enough are free, and processes are limited by rlimit"

// cgroups says whether the limits of a sandbox are kept by the kernel: whether
// this user may make groups with a limit of memory, in the group of this process or one
// above it, as the runtime looks for it.
func (m Machine) cgroups() Check {
	own, found := m.ownGroup()
	if !found {
		return Check{Name: "cgroups", Status: Warn, Detail: "version 2 is not mounted" + without,
			Fix: "boot with systemd.unified_cgroup_hierarchy=1, or use containerd for exact limits"}
	}
	const root = "/sys/fs/cgroup"
	for dir := filepath.Join(root, own); strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
		given := strings.Fields(m.read(filepath.Join(dir, "cgroup.subtree_control")))
		if slices.Contains(given, "memory") && m.writable(filepath.Join(dir, "cgroup.procs")) {
			return Check{Name: "cgroups", Status: OK, Detail: fmt.Sprintf("%s is delegated: the kernel keeps the limits of a sandbox (%s)", dir, strings.Join(given, ", "))}
		}
	}
	return Check{Name: "cgroups", Status: Warn, Detail: "no group of this user's, from " + filepath.Join(root, own) + " upwards, has limits of memory for others below it" + without,
		Fix: "start mleflow in the user's systemd session: systemd-run --user --scope mleflow …; in Slurm use cgroup/v2 with task/cgroup"}
}

// ownGroup is the group of version 2 that mleflow is in.
func (m Machine) ownGroup() (string, bool) {
	if _, err := os.Stat(m.path("/sys/fs/cgroup/cgroup.controllers")); err != nil {
		return "", false
	}
	for line := range strings.Lines(m.read("/proc/self/cgroup")) {
		if group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return group, true
		}
	}
	return "", false
}

// writable reports whether this user may write to a file.
func (m Machine) writable(path string) bool {
	f, err := os.OpenFile(m.path(path), os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

// read returns a file of the machine without surrounding space; empty if it
// cannot be read.
func (m Machine) read(path string) string {
	text, err := os.ReadFile(m.path(path))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
