package sandbox

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/containerd/containerd/v2/contrib/seccomp"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// neededCalls are the system calls that a sandbox needs and that the default profiles
// of Docker and Kubernetes refuse. clone3 starts a process in a cgroup.
var neededCalls = []string{"clone", "clone3", "mount", "mount_setattr", "pivot_root", "sethostname", "umount2"}

// SeccompProfile returns a profile for a container in which the sandbox is to run. It
// is JSON in the form that Docker (--security-opt seccomp=FILE) and Kubernetes (a
// Localhost profile) read: containerd's default profile for this processor, plus the
// few calls that a sandbox needs. In the container, these calls have the same effect as
// for an unprivileged user on a host.
func SeccompProfile() ([]byte, error) {
	ctx := namespaces.WithNamespace(context.Background(), "mleflow")
	s, err := oci.GenerateSpec(ctx, nil, &containers.Container{ID: "sandbox"})
	if err != nil {
		return nil, err
	}
	s.Process.Capabilities = &specs.LinuxCapabilities{}
	profile := seccomp.DefaultProfile(s)
	allowed := []specs.LinuxSyscall{{Names: neededCalls, Action: specs.ActAllow}}
	for _, rule := range profile.Syscalls {
		rule.Names = slices.DeleteFunc(slices.Clone(rule.Names), func(name string) bool { return slices.Contains(neededCalls, name) })
		if len(rule.Names) > 0 {
			allowed = append(allowed, rule)
		}
	}
	profile.Syscalls = allowed
	text, err := json.MarshalIndent(profile, "", "  ")
	return append(text, '\n'), err
}

// RefusedCalls returns the system calls that a sandbox needs and that a filter around
// this process refuses. It makes each call in a way that changes nothing, because the
// kernel itself would reject the arguments. It does not examine pivot_root and
// sethostname: for most users, the kernel refuses them before it examines the
// arguments.
func RefusedCalls() (names []string) {
	none := ^uintptr(0) // no descriptor, no flags, no address
	for _, call := range []struct {
		name                  string
		number, a, b, c, d, e uintptr
	}{
		{"clone", unix.SYS_CLONE, unix.CLONE_NEWUSER | unix.CLONE_FS, 0, 0, 0, 0},
		{"clone3", unix.SYS_CLONE3, 0, 0, 0, 0, 0},
		{"mount", unix.SYS_MOUNT, none, none, none, 0, none},
		{"mount_setattr", unix.SYS_MOUNT_SETATTR, none, none, none, none, 0},
		{"umount2", unix.SYS_UMOUNT2, none, none, 0, 0, 0},
	} {
		_, _, errno := unix.RawSyscall6(call.number, call.a, call.b, call.c, call.d, call.e, 0)
		if errno == unix.EPERM || errno == unix.ENOSYS && call.name == "clone3" {
			names = append(names, call.name)
		}
	}
	return names
}
