package machine

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

var errTried = errors.New("fork/exec: operation not permitted")

// refusing is a machine of user 1000 on which the sandbox was tried and did not
// start.
func refusing(t *testing.T, files, env map[string]string) Machine {
	m := made(t, files, env)
	m.UID = 1000
	m.Sandbox = func() executor.Availability { return executor.Availability{Because: errTried.Error()} }
	return m
}

func TestSandboxObstacles(t *testing.T) {
	const masked = "22 27 0:21 / /proc rw - proc proc rw\n30 22 0:6 /null /proc/kcore rw - tmpfs tmpfs rw\n"
	calls := []string{"clone", "mount"}
	for name, tt := range map[string]struct {
		files, env map[string]string
		what, fix  []string
		// refused are the calls that a filter refuses.
		refused []string
	}{
		"nothing known": {nil, nil, []string{errTried.Error()}, []string{"unshare --user", "administrator"}, nil},
		"switched off by Debian": {map[string]string{"proc/sys/kernel/unprivileged_userns_clone": "0\n"}, nil,
			[]string{"kernel.unprivileged_userns_clone = 0", errTried.Error()}, []string{"sysctl -w kernel.unprivileged_userns_clone=1", "/etc/sysctl.d"}, nil},
		"none allowed": {map[string]string{"proc/sys/user/max_user_namespaces": "0\n"}, nil,
			[]string{"user.max_user_namespaces = 0"}, []string{"sysctl -w user.max_user_namespaces="}, nil},
		"no network namespaces": {map[string]string{"proc/sys/user/max_user_namespaces": "96365\n", "proc/sys/user/max_net_namespaces": "0\n"}, nil,
			[]string{"user.max_net_namespaces = 0"}, []string{"sysctl -w user.max_net_namespaces="}, nil},
		"AppArmor of Ubuntu": {map[string]string{"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"}, nil,
			[]string{"AppArmor", "Ubuntu 24.04"}, []string{"userns,", "apparmor_parser -r", "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"}, nil},
		"AppArmor switched off": {map[string]string{"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "0\n"}, nil,
			[]string{errTried.Error()}, []string{"administrator"}, nil},
		"kernel without": {map[string]string{"proc/self/ns/net": ""}, nil,
			[]string{"the kernel has no user namespaces"}, []string{"CONFIG_USER_NS"}, nil},
		"Docker": {map[string]string{".dockerenv": "", "proc/self/mountinfo": masked}, nil,
			[]string{"a seccomp profile refuses clone, mount, as that of Docker does", "parts of /proc are masked"}, []string{"docker run --security-opt seccomp=mleflow.json", "--print seccomp", "systempaths=unconfined"}, calls},
		"Docker without a filter": {map[string]string{".dockerenv": ""}, nil,
			[]string{errTried.Error()}, []string{"administrator"}, nil},
		"Docker with AppArmor": {map[string]string{".dockerenv": "", "proc/self/attr/current": "docker-default (enforce)\n"}, nil,
			[]string{"the AppArmor profile docker-default"}, []string{"docker run --security-opt apparmor=unconfined"}, nil},
		"AppArmor outside":       {map[string]string{"proc/self/attr/current": "some (enforce)\n"}, nil, []string{errTried.Error()}, []string{"administrator"}, nil},
		"a service of systemd's": {nil, nil, []string{"RestrictNamespaces"}, []string{"RestrictNamespaces=no"}, calls},
		"some container":         {map[string]string{"proc/self/mountinfo": masked}, nil, []string{"masked, as in a container"}, []string{"without masked", "start the container with that profile"}, calls},
		"Podman": {map[string]string{"run/.containerenv": "", "proc/self/mountinfo": masked}, nil,
			[]string{"as that of Podman does"}, []string{"podman run --security-opt seccomp=mleflow.json", "unmask=ALL"}, calls},
		"pod": {map[string]string{"proc/self/mountinfo": masked}, map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"},
			[]string{"as that of a Kubernetes pod does"}, []string{"hostUsers: false", "Localhost seccomp profile", "procMount: Unmasked", "--print pod"}, calls},
		"two at once": {map[string]string{"proc/sys/user/max_user_namespaces": "0\n", "proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"}, nil,
			[]string{"user.max_user_namespaces = 0", ", and AppArmor", errTried.Error()}, []string{"sysctl -w user.max_user_namespaces", "; and as root"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := refusing(t, tt.files, tt.env)
			m.Refused = func() []string { return tt.refused }
			c := m.sandbox()[0]
			if c.Status != Absent {
				t.Errorf("status %s", c.Status)
			}
			for _, want := range tt.what {
				if !strings.Contains(c.Detail, want) {
					t.Errorf("%q lacks %q", c.Detail, want)
				}
			}
			for _, want := range tt.fix {
				if !strings.Contains(c.Fix, want) {
					t.Errorf("%q lacks %q", c.Fix, want)
				}
			}
		})
	}
}

// TestSandboxWorks: what was tried counts, whatever the settings say.
func TestSandboxWorks(t *testing.T) {
	m := refusing(t, map[string]string{"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"}, nil)
	m.Sandbox = func() executor.Availability { return executor.Availability{OK: true, Because: "it ran"} }
	if c := m.sandbox()[0]; c.Status != OK || c.Fix != "" {
		t.Errorf("%+v", c)
	}
}

func TestSandboxParts(t *testing.T) {
	const overlay = "nodev\tproc\nnodev\toverlay\n\text4\n"
	const own = "sys/fs/cgroup/user.slice/x.scope/"
	group := map[string]string{"sys/fs/cgroup/cgroup.controllers": "cpu memory pids\n", "proc/self/cgroup": "0::/user.slice/x.scope\n"}
	with := func(files ...map[string]string) map[string]string {
		all := map[string]string{}
		for _, f := range files {
			maps.Copy(all, f)
		}
		return all
	}
	for _, tt := range []struct {
		name, check string
		files       map[string]string
		status      Status
		detail, fix string
	}{
		{"overlay", "overlay", map[string]string{"proc/filesystems": overlay, "proc/sys/kernel/osrelease": "6.8.0-31-generic\n"}, OK, "images are not copied", ""},
		{"no overlay", "overlay", map[string]string{"proc/filesystems": "nodev\tproc\n"}, Warn, "copies each image", "modprobe overlay"},
		{"overlay of an old kernel", "overlay", map[string]string{"proc/filesystems": overlay, "proc/sys/kernel/osrelease": "5.4.0-150\n"}, Warn, "kernel 5.4.0-150", "5.11"},
		{"sub-IDs are not needed", "subordinate IDs", nil, OK, "none are needed", ""},
		{"sub-IDs that are there", "subordinate IDs", map[string]string{"etc/subuid": "1000:100000:65536\n"}, OK, "none are needed", ""},
		{"version 1", "cgroups", map[string]string{"proc/self/cgroup": "3:memory:/x\n"}, Warn, "version 2 is not mounted", "systemd.unified_cgroup_hierarchy=1"},
		{"not given on", "cgroups", with(group, map[string]string{own + "cgroup.subtree_control": "cpu\n", own + "cgroup.procs": ""}), Warn, "no group of this user's, from /sys/fs/cgroup/user.slice/x.scope upwards", "systemd-run --user --scope"},
		{"not this user's", "cgroups", with(group, map[string]string{own + "cgroup.subtree_control": "cpu memory pids\n"}), Warn, "memory is sampled", "systemd-run --user --scope"},
		{"delegated", "cgroups", with(group, map[string]string{own + "cgroup.subtree_control": "cpu memory pids\n", own + "cgroup.procs": ""}), OK, "x.scope is delegated: the kernel keeps the limits", ""},
		{"delegated above", "cgroups", with(group, map[string]string{own + "cgroup.subtree_control": "\n", "sys/fs/cgroup/user.slice/cgroup.subtree_control": "memory pids\n", "sys/fs/cgroup/user.slice/cgroup.procs": ""}), OK, "/sys/fs/cgroup/user.slice is delegated", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := find(t, refusing(t, tt.files, nil).sandbox(), tt.check)
			if c.Status != tt.status || !strings.Contains(c.Detail, tt.detail) || !strings.Contains(c.Fix, tt.fix) || tt.fix == "" && c.Fix != "" {
				t.Errorf("%+v", c)
			}
		})
	}
}

// TestAuto: what doctor says of "auto" follows from what it says of the runtimes.
func TestAuto(t *testing.T) {
	m := refusing(t, nil, nil)
	if c := m.auto(); c.Status != Warn || !strings.Contains(c.Detail, "NOT isolated") || !strings.Contains(c.Fix, "required_isolation") {
		t.Errorf("%+v", c)
	}
	m.Sandbox = func() executor.Availability { return executor.Availability{OK: true} }
	if c := m.auto(); c.Status != OK || !strings.HasPrefix(c.Detail, "sandbox;") {
		t.Errorf("%+v", c)
	}
}

func TestContainerdHere(t *testing.T) {
	m := made(t, nil, nil)
	if here := m.ContainerdHere(); here.OK || here.Because != "no socket" || here.Fix == "" {
		t.Errorf("%+v", here)
	}
	m.UID = 1000
	if here := m.ContainerdHere(); here.OK || here.Because != "it needs root, and this is user 1000" {
		t.Errorf("%+v", here)
	}
}
