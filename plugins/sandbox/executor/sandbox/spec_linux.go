package sandbox

import (
	"cmp"
	"context"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/containerd/containerd/v2/contrib/seccomp"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/cap"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
	cdispec "tags.cncf.io/container-device-interface/specs-go"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/device"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/first"
)

// check rejects specs that the runtime cannot run.
func (e *Executor) check(spec executor.Spec) error {
	if err := spec.Check("sandbox"); err != nil {
		return err
	}
	if spec.Sandbox.Handler != "" && e.opts.Containers == nil {
		return fmt.Errorf("run command: the sandbox runtime has no handlers, and %q is asked for", spec.Sandbox.Handler)
	}
	for _, m := range spec.Mounts {
		if first, _, _ := strings.Cut(path.Clean(m.Guest)[1:], "/"); first == "proc" || first == "sys" || first == "dev" {
			return fmt.Errorf("run command: mount %s at %s: the kernel's own files are there", m.Host, m.Guest)
		}
	}
	return nil
}

// plan is the plan for the first process, to which this process still adds.
type plan struct{ first.Plan }

// plan returns the plan for the first process.
func (e *Executor) plan(spec executor.Spec, user first.IDs, img *unpacked, base string) (*plan, error) {
	held, err := numbers(spec.Sandbox.Capabilities)
	if err != nil {
		return nil, err
	}
	rules, err := rulesFor(strings.Join(spec.Sandbox.Capabilities, " "))
	if err != nil {
		return nil, fmt.Errorf("make the list of system calls: %w", err)
	}
	p := &plan{first.Plan{
		Root: first.Text(img.root), Base: first.Text(base), User: user, Hostname: executor.Hostname, HostNetwork: spec.Network.Open, Rules: rules,
		Command: spec.Command, Dir: spec.WorkingDir(img.config.WorkingDir), Capabilities: held,
		Resume: spec.Resume, TellUse: spec.OnUse != nil, Files: texts(spec.Network.Open), Links: map[string]string{}, Services: lists.Of(spec.Services, func(s executor.Service) first.Service { return first.Service{Name: s.Name, Port: s.Port, Env: s.Env} }),
	}}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		p.Devices = append(p.Devices, first.Device{Host: first.Text("/dev/" + name), Guest: "/dev/" + name})
	}
	p.files(spec)
	env := spec.Environment(img.config.Env)
	if err := e.equip(p, env, spec.Devices); err != nil {
		return nil, err
	}
	if err := e.revealed(p.Mounts); err != nil {
		return nil, err
	}
	if img.host {
		p.onHost(e.private())
	}
	for _, v := range executor.Pairs(env) {
		p.Env = append(p.Env, first.Text(v))
	}
	return p, nil
}

// files plans the mounts, and the file systems in memory that no mount replaces.
func (p *plan) files(spec executor.Spec) {
	taken := map[string]bool{}
	for i, m := range spec.Mounts {
		guest := path.Clean(m.Guest)
		hidden := slices.ContainsFunc(spec.Mounts[i+1:], func(later executor.Mount) bool { return path.Clean(later.Guest) == guest })
		if taken[guest] = true; !hidden {
			p.Mounts = append(p.Mounts, first.Mount{Host: first.Text(m.Host), Guest: guest, ReadOnly: m.ReadOnly})
			delete(p.Files, guest)
		}
	}
	for _, t := range []first.Tmpfs{
		{Guest: "/dev/shm", Bytes: cmp.Or(spec.Sandbox.ShmBytes, executor.DefaultShmBytes), NoExec: true},
		{Guest: "/run", Bytes: executor.RunBytes},
		{Guest: "/tmp", Bytes: cmp.Or(spec.Limits.DiskBytes, executor.TmpBytes)},
	} {
		if !taken[t.Guest] {
			p.Tmpfs = append(p.Tmpfs, t)
		}
	}
}

// texts returns the files that name the guest and the hosts that it can reach.
func texts(open bool) map[string]string {
	files := executor.Names()
	if open {
		text, _ := os.ReadFile("/etc/resolv.conf")
		files["/etc/resolv.conf"] = string(text)
	}
	return files
}

// numbers returns the numbers of capabilities.
func numbers(names []string) (list []int, err error) {
	for _, name := range names {
		n := slices.Index(cap.Known(), name)
		if n < 0 {
			return nil, fmt.Errorf("run command: unknown capability %q", name)
		}
		list = append(list, n)
	}
	return list, nil
}

var knownRules sync.Map // capabilities → rules

// rulesFor returns the rules for a command with these capabilities.
func rulesFor(capabilities string) (first.Rules, error) {
	if r, ok := knownRules.Load(capabilities); ok {
		return r.(first.Rules), nil
	}
	s, err := defaultSpec(strings.Fields(capabilities))
	if err != nil {
		return first.Rules{}, err
	}
	r := first.Rules{ReadOnly: s.Linux.ReadonlyPaths}
	// This folder names the files behind loop devices, which are in folders of the
	// host.
	for _, at := range append(s.Linux.MaskedPaths, "/sys/devices/virtual/block") {
		r.Masked = append(r.Masked, first.Text(at))
	}
	if r.Seccomp, err = compile(seccomp.DefaultProfile(s)); err != nil {
		return first.Rules{}, err
	}
	if r.Unknown, err = unknownCalls(); err != nil {
		return first.Rules{}, err
	}
	knownRules.Store(capabilities, r)
	return r, nil
}

// defaultSpec returns containerd's default container for a command with these capabilities.
func defaultSpec(capabilities []string) (*oci.Spec, error) {
	ctx := namespaces.WithNamespace(context.Background(), "mleflow")
	s, err := oci.GenerateSpec(ctx, nil, &containers.Container{ID: "sandbox"})
	if err == nil {
		s.Process.Capabilities = &specs.LinuxCapabilities{Bounding: capabilities}
	}
	return s, err
}

// equip adds what the descriptions of devices require to a plan and an environment. Their
// hooks are programs that run as root and change a container's files. equip itself does the
// work of the hooks for GPUs, which link libraries under the names that programs load.
func (e *Executor) equip(p *plan, env map[string]string, devices []string) error {
	if len(devices) == 0 {
		return nil
	}
	cache, err := device.Open(e.opts.CDIDirs)
	if err != nil {
		return err
	}
	own := len(p.Mounts)
	for _, name := range devices {
		edits, err := device.Edits(cache, name)
		if err != nil {
			return fmt.Errorf("give device: %w (nvidia-ctk cdi generate writes descriptions of GPUs)", err)
		}
		for _, edit := range edits {
			maps.Copy(env, executor.Variables(edit.Env))
			if err := p.add(edit); err != nil {
				return fmt.Errorf("give device %s: %w", name, err)
			}
		}
	}
	if folders := folders(p.Mounts[own:]); folders != "" && env["LD_LIBRARY_PATH"] == "" {
		env["LD_LIBRARY_PATH"] = folders
	}
	return nil
}

// add adds what a description of a device requires, but for its variables.
func (p *plan) add(edit cdispec.ContainerEdits) error {
	for _, n := range edit.DeviceNodes {
		host := cmp.Or(n.HostPath, n.Path)
		if err := unix.Access(host, unix.R_OK|unix.W_OK); err != nil {
			return fmt.Errorf("open %s: %w; the sandbox gives what this user may open itself", host, err)
		}
		if node := (first.Device{Host: first.Text(host), Guest: n.Path}); !slices.Contains(p.Devices, node) {
			p.Devices = append(p.Devices, node)
		}
	}
	for _, m := range edit.Mounts {
		mount := first.Mount{Host: first.Text(m.HostPath), Guest: path.Clean(m.ContainerPath), ReadOnly: !slices.Contains(m.Options, "rw")}
		if slices.Contains(p.Mounts, mount) {
			continue
		}
		p.Mounts = append(p.Mounts, mount)
		if soname := sonameOf(m.HostPath); soname != "" && soname != path.Base(mount.Guest) {
			p.Links[path.Join(path.Dir(mount.Guest), soname)] = path.Base(mount.Guest)
		}
	}
	for _, hook := range edit.Hooks {
		maps.Copy(p.Links, linksOf(hook.Args))
	}
	return nil
}

// sonameOf returns the name under which programs load a library, or "" if the file is
// not a library.
func sonameOf(file string) string {
	if !strings.Contains(path.Base(file), ".so") {
		return ""
	}
	f, err := elf.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	names, err := f.DynString(elf.DT_SONAME)
	if err != nil || len(names) != 1 || strings.Contains(names[0], "/") {
		return ""
	}
	return names[0]
}

// linksOf returns the links that a hook would create, from the arguments "--link
// TARGET::LINK" or "--link=TARGET::LINK".
func linksOf(args []string) map[string]string {
	links := map[string]string{}
	for i, arg := range args {
		value, joined := strings.CutPrefix(arg, "--link=")
		if arg == "--link" && i+1 < len(args) {
			value, joined = args[i+1], true
		}
		if target, link, ok := strings.Cut(value, "::"); joined && ok && path.IsAbs(link) {
			links[path.Clean(link)] = target
		}
	}
	return links
}

// folders returns the folders of the mounted libraries, for the loader.
func folders(mounts []first.Mount) string {
	var list []string
	for _, m := range mounts {
		dir := path.Dir(m.Guest)
		if strings.Contains(path.Base(m.Guest), ".so") && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return strings.Join(list, ":")
}
