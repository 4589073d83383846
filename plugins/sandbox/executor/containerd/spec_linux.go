package containerd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/containerd/cgroups/v3"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/contrib/seccomp"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"

	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/device"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
)

// cpuPeriod is the kernel's accounting period for processor time, in microseconds.
const cpuPeriod = 100_000

// check rejects specs that the runtime cannot run.
func check(spec executor.Spec) error {
	if err := spec.Check("containerd"); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Env)) {
		if !utf8.ValidString(name + spec.Env[name]) {
			return fmt.Errorf("run command: variable %q is not valid UTF-8, which containers need", name)
		}
	}
	for _, m := range spec.Mounts {
		if !utf8.ValidString(m.Host) {
			return fmt.Errorf("run command: mount %q: its path is not valid UTF-8, which containers need: choose another folder for the cache (MLEFLOW_CACHE_DIR), or the runtime sandbox", m.Host)
		}
	}
	return nil
}

// parseUser parses "UID:GID".
func parseUser(text string) (specs.User, error) {
	uid, gid, err := executor.ParseUser(text)
	if err != nil {
		return specs.User{}, fmt.Errorf("run command: %w", err)
	}
	return specs.User{UID: uint32(uid), GID: uint32(gid), AdditionalGids: []uint32{}}, nil
}

// blueprint is the plan of a container.
type blueprint struct {
	*run
	image client.Image
	// etc is the folder of files that are mounted over the image's files in /etc.
	etc string
	// pause is the executable of the first process.
	pause string
	// cdi has the descriptions of the machine's devices.
	cdi *cdi.Cache
	// views are mounted in place of the folders that are only read.
	views map[string]string
}

// options returns the steps that build the container's specification, in order.
func (b *blueprint) options() []oci.SpecOpts {
	return []oci.SpecOpts{
		b.argv, b.capabilities, b.fileSystem, b.namespaces, b.resources, b.devices, b.mapUsers,
		seccomp.WithDefaultProfile(), // it depends on the capabilities
		b.split,                      // it takes the process that the others have built
	}
}

// argv builds the process of the command.
func (b *blueprint) argv(ctx context.Context, _ oci.Client, _ *containers.Container, s *specs.Spec) error {
	config, err := b.image.Spec(ctx)
	if err != nil {
		return fmt.Errorf("read image's configuration: %w", err)
	}
	user, err := parseUser(b.spec.Sandbox.User)
	if err != nil {
		return err
	}
	s.Process = &specs.Process{
		Args: b.spec.Command, Cwd: b.spec.WorkingDir(config.Config.WorkingDir), Env: executor.Pairs(b.spec.Environment(config.Config.Env)), User: user,
		NoNewPrivileges: true, Rlimits: rlimits(b.spec.Limits),
	}
	return nil
}

func rlimits(l executor.Limits) []specs.POSIXRlimit {
	files := guest.OpenFileLimit()
	list := []specs.POSIXRlimit{
		{Type: "RLIMIT_NOFILE", Soft: files, Hard: files},
		{Type: "RLIMIT_CORE"},
	}
	if l.FileBytes > 0 {
		list = append(list, specs.POSIXRlimit{Type: "RLIMIT_FSIZE", Soft: uint64(l.FileBytes), Hard: uint64(l.FileBytes)})
	}
	return list
}

func (b *blueprint) capabilities(_ context.Context, _ oci.Client, _ *containers.Container, s *specs.Spec) error {
	caps := slices.Clone(b.spec.Sandbox.Capabilities)
	s.Process.Capabilities = &specs.LinuxCapabilities{Bounding: caps, Effective: caps, Permitted: caps, Inheritable: caps, Ambient: caps}
	return nil
}

// fileSystem sets up the guest's files: the read-only image, the Spec's mounts, and
// small file systems in memory. Nothing shows the host's names.
func (b *blueprint) fileSystem(_ context.Context, _ oci.Client, _ *containers.Container, s *specs.Spec) error {
	s.Root.Readonly = !b.build
	// This folder names the files behind loop devices, which are in folders of the
	// host.
	s.Linux.MaskedPaths = append(s.Linux.MaskedPaths, "/sys/devices/virtual/block")
	shm := cmp.Or(b.spec.Sandbox.ShmBytes, executor.DefaultShmBytes)
	s.Mounts = slices.DeleteFunc(s.Mounts, func(m specs.Mount) bool {
		return m.Destination == "/dev/shm" || m.Destination == "/run"
	})
	s.Mounts = append(s.Mounts,
		tmpfs("/dev/shm", "1777", shm, "noexec"),
		specs.Mount{Type: "bind", Source: b.pause, Destination: pausePath, Options: bindOptions(true)},
	)
	if !b.build {
		tmp := cmp.Or(b.spec.Limits.DiskBytes, executor.TmpBytes)
		s.Mounts = append(s.Mounts, tmpfs("/run", "1777", executor.RunBytes), tmpfs("/tmp", "1777", tmp))
	}
	texts, err := b.texts()
	if err != nil {
		return fmt.Errorf("show what the command may use: %w", err)
	}
	s.Mounts = append(s.Mounts, texts...)
	for _, m := range b.spec.Mounts {
		guest := path.Clean(m.Guest)
		s.Mounts = slices.DeleteFunc(s.Mounts, func(old specs.Mount) bool { return old.Destination == guest })
		s.Mounts = append(s.Mounts, specs.Mount{Type: "bind", Source: cmp.Or(b.views[m.Host], m.Host), Destination: guest, Options: bindOptions(m.ReadOnly)})
	}
	return nil
}

func bindOptions(readOnly bool) []string {
	if readOnly {
		return []string{"rbind", "ro", "nosuid", "nodev"}
	}
	return []string{"rbind", "rw", "nosuid", "nodev"}
}

func tmpfs(at, mode string, size int64, options ...string) specs.Mount {
	options = append(options, "nosuid", "nodev", "mode="+mode, "size="+strconv.FormatInt(size, 10))
	return specs.Mount{Type: "tmpfs", Source: "tmpfs", Destination: at, Options: options}
}

// texts returns mounts of the files that name the guest and the hosts that it can reach,
// and of those that describe its share of the machine. They are not updated, so the times
// in /proc/stat stay the machine's. A handler other than runc has its own kernel or machine.
func (b *blueprint) texts() (list []specs.Mount, err error) {
	texts := executor.Names()
	if b.spec.Network.Open {
		delete(texts, resolvFile)
		if _, err := os.Stat(resolvFile); err == nil {
			list = append(list, specs.Mount{Type: "bind", Source: resolvFile, Destination: resolvFile, Options: bindOptions(true)})
		}
	}
	for _, file := range guest.MachineFiles {
		text, err := os.ReadFile(file)
		if err == nil && file != "/proc/stat" && b.spec.Sandbox.Handler == "" && !b.build {
			texts[file] = string(executor.MachineOf(b.spec.Limits).Show(file, text, 0))
		}
	}
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		source := filepath.Join(b.etc, path.Base(file))
		err = errors.Join(err, nolink.WriteFile(source, []byte(texts[file]), 0o644, false))
		list = append(list, specs.Mount{Type: "bind", Source: source, Destination: file, Options: bindOptions(true)})
	}
	return list, err
}

// resolvFile names the name servers.
const resolvFile = "/etc/resolv.conf"

func (b *blueprint) namespaces(_ context.Context, _ oci.Client, _ *containers.Container, s *specs.Spec) error {
	s.Hostname = executor.Hostname
	s.Linux.Namespaces = nil
	for _, ns := range []specs.LinuxNamespaceType{
		specs.PIDNamespace, specs.IPCNamespace, specs.UTSNamespace, specs.MountNamespace, specs.CgroupNamespace, specs.NetworkNamespace,
	} {
		if ns != specs.NetworkNamespace || !b.spec.Network.Open {
			s.Linux.Namespaces = append(s.Linux.Namespaces, specs.LinuxNamespace{Type: ns})
		}
	}
	return nil
}

func (b *blueprint) resources(_ context.Context, _ oci.Client, _ *containers.Container, s *specs.Spec) error {
	if s.Linux.Resources == nil {
		s.Linux.Resources = &specs.LinuxResources{}
	}
	r, l := s.Linux.Resources, b.spec.Limits
	if l.MemoryBytes > 0 {
		r.Memory = &specs.LinuxMemory{Limit: &l.MemoryBytes}
		if swapCounted() {
			r.Memory.Swap = &l.MemoryBytes
		}
	}
	if l.CPUs > 0 {
		quota, period := max(int64(l.CPUs*cpuPeriod), 1000), uint64(cpuPeriod)
		r.CPU = &specs.LinuxCPU{Quota: &quota, Period: &period}
	}
	if l.Processes > 0 {
		pids := int64(l.Processes) + 1 // the pause
		r.Pids = &specs.LinuxPids{Limit: &pids}
	}
	return nil
}

// swapCounted reports whether the kernel can limit memory and swap together. If it
// cannot, setting such a limit would be an error.
func swapCounted() bool {
	if cgroups.Mode() == cgroups.Unified {
		return true
	}
	_, err := os.Stat("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes")
	return err == nil
}

// devices adds the leased accelerators.
func (b *blueprint) devices(_ context.Context, _ oci.Client, _ *containers.Container, s *specs.Spec) error {
	if len(b.spec.Devices) == 0 {
		return nil
	}
	if _, err := b.cdi.InjectDevices(s, b.spec.Devices...); err != nil {
		return fmt.Errorf("give devices %s: %w (the machine describes %s; nvidia-ctk cdi generate writes descriptions of GPUs)",
			strings.Join(b.spec.Devices, ", "), err, device.Described(b.cdi))
	}
	return nil
}

// split stores the command for later and makes the pause the container's own process.
// The command's environment therefore never reaches the daemon or the disk.
func (b *blueprint) split(_ context.Context, _ oci.Client, _ *containers.Container, s *specs.Spec) error {
	b.command = s.Process
	s.Process = &specs.Process{
		Args: []string{pausePath}, Cwd: "/", Env: []string{}, NoNewPrivileges: true,
		User:         specs.User{UID: pauseUser, GID: pauseUser},
		Capabilities: &specs.LinuxCapabilities{},
		Rlimits:      rlimits(executor.Limits{}),
	}
	return nil
}

// reachTimeout limits the examination of a device in a container.
const reachTimeout = time.Minute

// Reaches runs a container with the device. In it, as the user of agents, it opens
// every device file that the device's description names. It returns their paths. The
// image contains the program, which runs Look as its sub-command LookCommand.
func (e *Executor) Reaches(ctx context.Context, image, program, name string) ([]string, error) {
	nodes, err := e.nodes(name)
	if err != nil {
		return nil, err
	}
	var out, logs bytes.Buffer
	exit, err := e.Run(ctx, executor.Spec{
		ID: "look at " + name, Image: image, Command: append([]string{program, LookCommand}, nodes...), Devices: []string{name},
		Stdout: &out, Limits: executor.Limits{Timeout: reachTimeout, Setup: reachTimeout, MemoryBytes: 256 << 20, Processes: 256, LogBytes: 1 << 20},
	}, &logs)
	if err != nil {
		return nil, err
	}
	if !exit.OK() {
		return nil, fmt.Errorf("look at %s: exit status %d: %s", name, exit.Code, bytes.TrimSpace(logs.Bytes()))
	}
	var all []looked
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		return nil, fmt.Errorf("look at %s: %w", name, err)
	}
	var bad error
	for _, l := range all {
		if l.Error != "" {
			bad = errors.Join(bad, fmt.Errorf("%s in the container: %s", l.Path, l.Error))
		}
	}
	return nodes, bad
}

// nodes returns the paths in the container of a device's files.
func (e *Executor) nodes(name string) (nodes []string, err error) {
	cache, err := device.Open(e.opts.CDIDirs)
	if err != nil {
		return nil, err
	}
	edits, err := device.Edits(cache, name)
	if err != nil {
		return nil, err
	}
	for _, edit := range edits {
		for _, n := range edit.DeviceNodes {
			nodes = append(nodes, n.Path)
		}
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("the description of %s names no device file", name)
	}
	return nodes, nil
}
