package sandbox

import (
	"cmp"
	"debug/elf"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	cdispec "tags.cncf.io/container-device-interface/specs-go"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/device"
)

// equipment is everything that descriptions of devices require.
type equipment struct {
	nodes  []devicePlan
	mounts []mountPlan
	env    map[string]string
	// links are the links in the guest, by path.
	links map[string]string
}

// equip reads the descriptions of devices. Their hooks are programs that run as root
// and change a container's files. equip itself does the work of the hooks for GPUs,
// which link libraries under the names that programs load.
func (e *Executor) equip(devices []string) (equipment, error) {
	q := equipment{env: map[string]string{}, links: map[string]string{}}
	if len(devices) == 0 {
		return q, nil
	}
	cache, err := device.Open(e.opts.CDIDirs)
	if err != nil {
		return q, err
	}
	for _, name := range devices {
		edits, err := device.Edits(cache, name)
		if err != nil {
			return q, fmt.Errorf("give device: %w (nvidia-ctk cdi generate writes descriptions of GPUs)", err)
		}
		for _, edit := range edits {
			if err := q.add(edit); err != nil {
				return q, fmt.Errorf("give device %s: %w", name, err)
			}
		}
	}
	return q, nil
}

func (q *equipment) add(edit cdispec.ContainerEdits) error {
	for _, v := range edit.Env {
		name, value, _ := strings.Cut(v, "=")
		q.env[name] = value
	}
	for _, n := range edit.DeviceNodes {
		host := cmp.Or(n.HostPath, n.Path)
		if err := unix.Access(host, unix.R_OK|unix.W_OK); err != nil {
			return fmt.Errorf("open %s: %w; the sandbox gives what this user may open itself", host, err)
		}
		if node := (devicePlan{hostText(host), n.Path}); !slices.Contains(q.nodes, node) {
			q.nodes = append(q.nodes, node)
		}
	}
	for _, m := range edit.Mounts {
		mount := mountPlan{hostText(m.HostPath), path.Clean(m.ContainerPath), !slices.Contains(m.Options, "rw")}
		if slices.Contains(q.mounts, mount) {
			continue
		}
		q.mounts = append(q.mounts, mount)
		if soname := sonameOf(m.HostPath); soname != "" && soname != path.Base(mount.Guest) {
			q.links[path.Join(path.Dir(mount.Guest), soname)] = path.Base(mount.Guest)
		}
	}
	for _, hook := range edit.Hooks {
		maps.Copy(q.links, linksOf(hook.Args))
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
func (q equipment) folders() string {
	var list []string
	for _, m := range q.mounts {
		dir := path.Dir(m.Guest)
		if strings.Contains(path.Base(m.Guest), ".so") && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return strings.Join(list, ":")
}
