package machine

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mleflow/mleflow/cache/disk"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/image"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox"
)

// obstacle is one thing that keeps the runtime sandbox from working, and how to
// remove it.
type obstacle struct{ what, fix string }

// SandboxHere tries the runtime sandbox. If it does not work, the machine is
// searched for what is in the way.
func (m Machine) SandboxHere() executor.Availability {
	tried := m.Sandbox()
	if tried.OK {
		return tried
	}
	found := m.obstacles()
	if len(found) == 0 {
		return executor.Availability{Because: tried.Because, Fix: cmp.Or(tried.Fix, "the kernel does not say why; ask the administrator whether users may have user namespaces (unshare --user --map-root-user true)")}
	}
	var whats, ways []string
	for _, o := range found {
		whats = append(whats, o.what)
		if !slices.Contains(ways, o.fix) {
			ways = append(ways, o.fix)
		}
	}
	return executor.Availability{Because: strings.Join(whats, ", and "), Fix: strings.Join(ways, "; and ")}
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

// obstacles are what the cache's file system lacks, and the settings of the machine that
// refuse user namespaces, or what the sandbox does in one.
func (m Machine) obstacles() (list []obstacle) {
	found, _ := disk.Abilities(m.existing())
	for _, a := range found {
		if a.Fatal() {
			list = append(list, obstacle{fmt.Sprintf("the file system of the cache lacks %s (%v)", a.Name, a.Err), a.Fix})
		}
	}
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
	c := Check{Name: "overlay"}
	release := m.read("/proc/sys/kernel/osrelease")
	switch {
	case !strings.Contains("\n"+m.read("/proc/filesystems")+"\n", "\toverlay\n"):
		return c.but(Warn, "the kernel has no overlay: the sandbox copies each image for each attempt", "as root: modprobe overlay")
	case release != "" && !since(release, 5, 11):
		return c.but(Warn, "kernel "+release+" has no overlay in user namespaces: the sandbox copies each image for each attempt", "use Linux 5.11 or later")
	}
	return c.but(OK, "the kernel has it in user namespaces: images are not copied", "")
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

// container is what mleflow itself runs in.
type container string

const (
	noContainer container = ""
	inDocker    container = "Docker"
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
		return inDocker
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
	if refused := m.Refused(); len(refused) > 0 {
		by := cmp.Or(string(in), "a service with RestrictNamespaces or SystemCallFilter")
		list = append(list, obstacle{fmt.Sprintf("a seccomp profile refuses %s, as that of %s does", strings.Join(refused, ", "), by), fixes[in].seccomp})
	}
	if m.maskedProc() {
		list = append(list, obstacle{fmt.Sprintf("parts of /proc are masked, as in %s, so no new /proc can be mounted", in), fixes[in].proc})
	}
	if profile := m.confined(); profile != "" && in != noContainer {
		list = append(list, obstacle{fmt.Sprintf("the AppArmor profile %s of %s may refuse mounts", profile, in), fixes[in].apparmor})
	}
	return list
}

const (
	// podFix is the fix of nearly everything in a pod: the settings depend on each other.
	podFix = "give the container the settings hostUsers: false, procMount: Unmasked and a Localhost seccomp profile: " +
		"mleflow doctor --print pod prints them as YAML, mleflow doctor --print seccomp the profile"
	profileFix = "mleflow doctor --print seccomp >mleflow.json, and "
)

// fixes remove the obstacles of a container. Outside of one there is only the first.
var fixes = map[container]struct{ seccomp, proc, apparmor string }{
	noContainer: {seccomp: "let the service that starts mleflow make namespaces and mounts (in systemd: RestrictNamespaces=no and SystemCallFilter with @mount)"},
	inDocker: {
		profileFix + "docker run --security-opt seccomp=mleflow.json", "docker run --security-opt systempaths=unconfined",
		"docker run --security-opt apparmor=unconfined",
	},
	podman: {
		profileFix + "podman run --security-opt seccomp=mleflow.json", "podman run --security-opt unmask=ALL",
		"podman run --security-opt apparmor=unconfined",
	},
	pod: {podFix, podFix, "give the container appArmorProfile: {type: Unconfined}"},
	anything: {
		profileFix + "start the container with that profile", "start the container without masked and read-only paths",
		"start the container without an AppArmor profile",
	},
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

// tryTimeout bounds a trial, of which the most is waiting for a busy machine.
const tryTimeout = 20 * time.Second

// TrySandbox runs a program that does nothing in the runtime sandbox, in a folder
// below dir, which is where images are unpacked, since its file system matters, too.
// self is this program. The folder is removed.
func TrySandbox(self, dir string) executor.Availability {
	started := time.Now()
	if err := trySandbox(self, dir); err != nil {
		return executor.Availability{Because: err.Error()}
	}
	return executor.Availability{OK: true, Because: fmt.Sprintf("a program was run in it (%v with an image made for it)", time.Since(started).Round(time.Millisecond))}
}

func trySandbox(self, dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), tryTimeout)
	defer cancel()
	work, err := tryFolder(dir)
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	program := filepath.Join(work, "true")
	text, err := trueProgram(runtime.GOARCH)
	if err != nil {
		return err
	}
	if err := os.WriteFile(program, text, 0o700); err != nil {
		return err
	}
	made, err := (&image.Builder{Dir: filepath.Join(work, "image")}).Build(ctx, image.Static(program, "true"), io.Discard)
	if err != nil {
		return err
	}
	e := sandbox.New(sandbox.Options{Self: self, Dir: filepath.Join(work, "sandbox")})
	var printed bytes.Buffer
	exit, err := e.Run(ctx, executor.Spec{ID: "try", Image: made.Path, Command: []string{"/usr/bin/true"}, Dir: "/"}, &printed)
	if err == nil && !exit.OK() {
		err = fmt.Errorf("true ended with status %d: %s", exit.Code, bytes.TrimSpace(printed.Bytes()))
	}
	return err
}

// tryFolder makes a folder below dir, or below the nearest folder above it that there
// is; if that cannot be written to, where temporary files are.
func tryFolder(dir string) (string, error) {
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		if work, err := os.MkdirTemp(dir, ".mleflow-try-"); err == nil {
			return work, nil
		}
		break
	}
	return os.MkdirTemp("", "mleflow-try-")
}

// trueProgram is /bin/true as a static executable file: the machine may have
// none, and an image for one that is linked needs its libraries.
func trueProgram(arch string) ([]byte, error) {
	code := map[string]struct {
		machine elf.Machine
		text    []byte
	}{
		"amd64": {elf.EM_X86_64, []byte{0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 0x05}},                // exit(0)
		"arm64": {elf.EM_AARCH64, []byte{0xa8, 0x0b, 0x80, 0xd2, 0, 0, 0x80, 0xd2, 1, 0, 0, 0xd4}}, // exit(0)
	}[arch]
	if code.text == nil {
		return nil, fmt.Errorf("there is no trial for %s", arch)
	}
	return image.Program(code.machine, code.text)
}
