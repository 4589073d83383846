package sandbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// check rejects specs that the runtime cannot run.
func check(spec executor.Spec) error {
	if os.Getenv(initVariable) != "" {
		return errors.New("run command: this program was started as the first process of a sandbox and does not serve it; call sandbox.Init in main")
	}
	if err := spec.Check("sandbox"); err != nil {
		return err
	}
	if spec.Sandbox.Handler != "" {
		return fmt.Errorf("run command: the sandbox runtime has no handlers, and %q is asked for", spec.Sandbox.Handler)
	}
	for _, m := range spec.Mounts {
		if first, _, _ := strings.Cut(path.Clean(m.Guest)[1:], "/"); first == "proc" || first == "sys" || first == "dev" {
			return fmt.Errorf("run command: mount %s at %s: the kernel's own files are there", m.Host, m.Guest)
		}
	}
	return nil
}

// parseUser parses "UID:GID".
func parseUser(text string) (ids, error) {
	uid, gid, err := executor.ParseUser(text)
	if err != nil {
		return ids{}, fmt.Errorf("run command: %w", err)
	}
	return ids{uid, gid}, nil
}

// plan returns the plan for the first process.
func (e *Executor) plan(spec executor.Spec, user ids, img *unpacked, base string) (*plan, error) {
	held, err := numbers(spec.Sandbox.Capabilities)
	if err != nil {
		return nil, err
	}
	rules, err := rulesFor(strings.Join(spec.Sandbox.Capabilities, " "))
	if err != nil {
		return nil, fmt.Errorf("make the list of system calls: %w", err)
	}
	p := &plan{
		Root: hostText(img.root), Base: hostText(base), User: user, Hostname: executor.Hostname, HostNetwork: spec.Network.Open,
		Masked: rules.masked, ReadOnly: rules.readOnly, Seccomp: rules.allowed, Unknown: rules.unknown,
		Command: spec.Command, Dir: spec.WorkingDir(img.config.WorkingDir), Capabilities: held,
		Resume: spec.Resume, TellUse: spec.OnUse != nil, Limits: limitsOf(spec.Limits), Files: texts(spec.Network.Open),
	}
	for _, s := range spec.Services {
		p.Services = append(p.Services, servicePlan{s.Name, s.Port, s.Env})
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		p.Devices = append(p.Devices, devicePlan{hostText("/dev/" + name), "/dev/" + name})
	}
	equipped, err := e.equip(spec.Devices)
	if err != nil {
		return nil, err
	}
	p.Devices, p.Links = append(p.Devices, equipped.nodes...), equipped.links
	p.files(spec)
	if err := e.revealed(append(slices.Clone(p.Mounts), equipped.mounts...)); err != nil {
		return nil, err
	}
	if img.host {
		p.onHost(e.private())
	}
	p.Mounts = append(p.Mounts, equipped.mounts...)
	p.environment(spec, img.config.Env, equipped)
	return p, nil
}

// environment sets the command's environment.
func (p *plan) environment(spec executor.Spec, declared []string, equipped equipment) {
	env := spec.Environment(declared)
	maps.Copy(env, equipped.env)
	if folders := equipped.folders(); folders != "" && env["LD_LIBRARY_PATH"] == "" {
		env["LD_LIBRARY_PATH"] = folders
	}
	for _, v := range executor.Pairs(env) {
		p.Env = append(p.Env, hostText(v))
	}
}

// files plans the mounts, and the file systems in memory that no mount replaces.
func (p *plan) files(spec executor.Spec) {
	taken := map[string]bool{}
	for i, m := range spec.Mounts {
		guest := path.Clean(m.Guest)
		hidden := slices.ContainsFunc(spec.Mounts[i+1:], func(later executor.Mount) bool { return path.Clean(later.Guest) == guest })
		if taken[guest] = true; !hidden {
			p.Mounts = append(p.Mounts, mountPlan{hostText(m.Host), guest, m.ReadOnly})
			delete(p.Files, guest)
		}
	}
	for _, t := range []tmpfsPlan{
		{"/dev/shm", cmp.Or(spec.Sandbox.ShmBytes, executor.DefaultShmBytes), "mode=1777", true},
		{"/run", executor.RunBytes, "mode=1777", false},
		{"/tmp", cmp.Or(spec.Limits.DiskBytes, executor.TmpBytes), "mode=1777", false},
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

func limitsOf(l executor.Limits) limitPlan {
	return limitPlan{
		Timeout: l.Timeout, Grace: cmp.Or(l.Grace, executor.DefaultGrace), MemoryBytes: l.MemoryBytes,
		FileBytes: l.FileBytes, Processes: l.Processes, LogBytes: l.LogBytes,
	}
}

// numbers returns the numbers of capabilities.
func numbers(names []string) (list []int, err error) {
	for _, name := range names {
		n := 0
		for n <= unix.CAP_LAST_CAP && cap.FromNumber(n) != name {
			n++
		}
		if n > unix.CAP_LAST_CAP {
			return nil, fmt.Errorf("run command: unknown capability %q", name)
		}
		list = append(list, n)
	}
	return list, nil
}

// rules are the paths that containerd's default container hides, and its filter.
type rules struct {
	masked           []hostText
	readOnly         []string
	allowed, unknown []instruction
}

var knownRules sync.Map // capabilities → rules

// rulesFor returns the rules for a command with these capabilities.
func rulesFor(capabilities string) (rules, error) {
	if r, ok := knownRules.Load(capabilities); ok {
		return r.(rules), nil
	}
	ctx := namespaces.WithNamespace(context.Background(), "mleflow")
	s, err := oci.GenerateSpec(ctx, nil, &containers.Container{ID: "sandbox"})
	if err != nil {
		return rules{}, err
	}
	s.Process.Capabilities = &specs.LinuxCapabilities{Bounding: strings.Fields(capabilities)}
	r := rules{readOnly: s.Linux.ReadonlyPaths}
	// This folder names the files behind loop devices, which are in folders of the
	// host.
	for _, at := range append(s.Linux.MaskedPaths, "/sys/devices/virtual/block") {
		r.masked = append(r.masked, hostText(at))
	}
	if r.allowed, err = compile(seccomp.DefaultProfile(s)); err != nil {
		return rules{}, err
	}
	if r.unknown, err = unknownCalls(); err != nil {
		return rules{}, err
	}
	knownRules.Store(capabilities, r)
	return r, nil
}

func encodePlan(p *plan) ([]byte, error) { return json.Marshal(p) }
