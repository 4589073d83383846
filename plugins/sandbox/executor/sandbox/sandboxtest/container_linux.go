package sandboxtest

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/contrib/seccomp"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// Container holds the settings of a container. The zero value is the default of Docker,
// and of a Kubernetes pod with seccompProfile: RuntimeDefault: root with fourteen
// capabilities, the default list of system calls, and parts of /proc and /sys masked.
type Container struct {
	// User is the program's user. Any user but root has no capabilities and cannot gain
	// any: drop: [ALL] and allowPrivilegeEscalation: false.
	User int
	// UserNamespace is hostUsers: false. The container's users are mapped to other
	// users of the host.
	UserNamespace bool
	// Unmasked is procMount: Unmasked, or --security-opt systempaths=unconfined.
	Unmasked bool
	// Seccomp is a profile; Unconfined means that there is none.
	Seccomp    []byte
	Unconfined bool
	// Privileged is --privileged, or privileged: true.
	Privileged bool
	// Env is the program's environment.
	Env []string
}

// hostID is the first of the host's users for a container with UserNamespace.
const hostID = 200_000

// Need skips the test if no container can be created. If CI is set, the test fails
// instead, because CI installs runc.
func Need(t testing.TB) {
	t.Helper()
	_, err := exec.LookPath("runc")
	switch {
	case os.Geteuid() != 0:
		t.Skip("making a container takes root")
	case err != nil && os.Getenv("CI") != "":
		t.Fatal(err)
	case err != nil:
		t.Skip(err)
	}
}

// Run runs a static program with arguments in a container and returns its output. The
// container's root has only the program and an empty /tmp.
func (c Container) Run(t testing.TB, program string, args ...string) (output string, err error) {
	t.Helper()
	Need(t)
	dir, err := os.MkdirTemp("", "runc")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := c.bundle(dir, program, args); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "runc", "--root", filepath.Join(dir, "state"), "run", "--bundle", dir, filepath.Base(dir))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// bundle creates the folder from which runc starts a container.
func (c Container) bundle(dir, program string, args []string) error {
	root := filepath.Join(dir, "rootfs")
	for _, folder := range []string{"", "proc", "sys", "dev", "tmp", "etc", "run"} {
		if err := os.Mkdir(filepath.Join(root, folder), 0o755); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "program"), text, 0o755); err != nil {
		return err
	}
	for folder, mode := range map[string]fs.FileMode{dir: 0o711, filepath.Join(root, "tmp"): 0o777 | fs.ModeSticky} {
		if err := os.Chmod(folder, mode); err != nil {
			return err
		}
	}
	if c.UserNamespace {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, _ error) error { return os.Lchown(path, hostID, hostID) })
		if err != nil {
			return err
		}
	}
	s, err := c.spec(filepath.Base(dir), args)
	if err != nil {
		return err
	}
	if text, err = json.Marshal(s); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "config.json"), text, 0o600)
}

// spec returns the specification that Docker, or Kubernetes with containerd, would
// generate from such settings.
func (c Container) spec(id string, args []string) (*specs.Spec, error) {
	ctx := namespaces.WithNamespace(context.Background(), "mleflow")
	options := []oci.SpecOpts{
		oci.WithRootFSPath("rootfs"), oci.WithProcessArgs(append([]string{"/program"}, args...)...), oci.WithProcessCwd("/"),
		oci.WithEnv(append([]string{"PATH=/", "HOME=/tmp"}, c.Env...)), oci.WithMounts([]specs.Mount{{
			Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"ro", "nosuid", "noexec", "nodev", "relatime"},
		}}),
	}
	if c.Privileged {
		options = append(options, oci.WithAllCurrentCapabilities, oci.WithMaskedPaths(nil), oci.WithReadonlyPaths(nil), oci.WithWriteableSysfs, oci.WithWriteableCgroupfs)
	}
	if c.User != 0 {
		options = append(options, oci.WithNoNewPrivileges, oci.WithCapabilities(nil))
	} else {
		options = append(options, oci.WithNewPrivileges)
	}
	if c.Unmasked {
		options = append(options, oci.WithMaskedPaths(nil), oci.WithReadonlyPaths(nil))
	}
	if c.UserNamespace {
		ids := []specs.LinuxIDMapping{{HostID: hostID, Size: 65536}}
		options = append(options, oci.WithUserNamespace(ids, ids))
	}
	s, err := oci.GenerateSpec(ctx, nil, &containers.Container{ID: id}, options...)
	if err != nil {
		return nil, err
	}
	s.Process.User = specs.User{UID: uint32(c.User), GID: uint32(c.User)}
	s.Linux.CgroupsPath = "/mleflow-" + id
	switch {
	case c.Privileged || c.Unconfined:
	case c.Seccomp != nil:
		s.Linux.Seccomp = &specs.LinuxSeccomp{}
		err = json.Unmarshal(c.Seccomp, s.Linux.Seccomp)
	default:
		s.Linux.Seccomp = seccomp.DefaultProfile(s)
	}
	return s, err
}
