package containerd

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	continuity "github.com/containerd/continuity/fs"

	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/pkg/oci"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// The range of the host's users for guests, above those that distributions and systemd
// assign. A run leases some of them while it exists. On the host, its guest therefore
// acts as a user that belongs to nobody else, not even another guest.
const (
	firstUser = 0x7000_0000
	lastUser  = 0x7fff_0000
	// usersEach is the number of ids per run, as users and as groups.
	usersEach = 4
	userSlots = (lastUser - firstUser) / usersEach
)

// users are the ids of one run on the host, which serve as users and as groups.
type users struct{ base uint32 }

// leaseUsers leases users for the run with that name, always the same ones. The run's
// folder must exist and be claimed. A lease is a symbolic link with the name as its
// target.
func (e *Executor) leaseUsers(name string) (users, error) {
	dir := filepath.Join(e.opts.StateDir, "users")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return users{}, err
	}
	sum := sha256.Sum256([]byte(e.opts.StateDir + "\n" + name))
	slot := binary.LittleEndian.Uint32(sum[:])
	for range 1000 {
		slot = (slot + 1) % userSlots
		path := filepath.Join(dir, strconv.Itoa(int(slot)))
		err := os.Symlink(name, path)
		if errors.Is(err, fs.ErrExist) {
			if owner, _ := os.Readlink(path); owner != name {
				continue
			}
			err = nil
		}
		return users{firstUser + usersEach*slot}, err
	}
	return users{}, errors.New("find users for the container: a thousand are taken")
}

// freeUsers ends the leases of runs whose folders are gone.
func (e *Executor) freeUsers() error {
	links, err := filepath.Glob(filepath.Join(e.opts.StateDir, "users", "*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, link := range links {
		name, err := os.Readlink(link)
		if err != nil {
			continue
		}
		if _, err := os.Lstat(e.runDir(name)); errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, ignoreMissing(os.Remove(link)))
		}
	}
	return errors.Join(errs...)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// runcFamily are the handlers that support user namespaces as runc does.
var runcFamily = []string{"", "runc", "crun", "youki", "nvidia"}

// mapUsers gives the guest a user namespace. In it the command, the pause and root are
// the run's own users of the host, and all other users are nobody. Without a user
// namespace, the command runs as its user of the host. That is so with other handlers,
// and with devices whose descriptions have hooks, which change the image's files as
// root.
func (b *blueprint) mapUsers(_ context.Context, _ oci.Client, _ *containers.Container, s *specs.Spec) error {
	user := s.Process.User
	switch {
	case b.users == users{}:
		return nil
	case s.Hooks != nil || !slices.Contains(runcFamily, b.spec.Sandbox.Handler):
		s.Process.User.UID, s.Process.User.GID = uint32(b.users.of(user.UID)), uint32(b.users.of(user.GID))
		return b.checkCapabilities(s.Hooks != nil)
	}
	s.Linux.Namespaces = append(s.Linux.Namespaces, specs.LinuxNamespace{Type: specs.UserNamespace})
	s.Linux.UIDMappings, s.Linux.GIDMappings = b.users.mapping(user.UID), b.users.mapping(user.GID)
	for _, id := range user.AdditionalGids { // the groups that share a device
		if !slices.ContainsFunc(s.Linux.GIDMappings, func(m specs.LinuxIDMapping) bool { return m.ContainerID == id }) {
			s.Linux.GIDMappings = append(s.Linux.GIDMappings, specs.LinuxIDMapping{ContainerID: id, HostID: id, Size: 1})
		}
	}
	if err := b.makeNodes(s); err != nil {
		return err
	}
	for i := range s.Mounts {
		m := &s.Mounts[i]
		switch {
		case m.Type == "devpts": // in the user namespace, the group is nobody
			m.Options = slices.DeleteFunc(m.Options, func(o string) bool { return strings.HasPrefix(o, "gid=") })
		case m.Type == "sysfs" && b.spec.Network.Open: // the namespace does not own the host's network
			*m = specs.Mount{Type: "bind", Source: "/sys", Destination: m.Destination, Options: []string{"rbind", "ro", "nosuid", "noexec", "nodev"}}
		}
	}
	return nil
}

// hostCapabilities are the capabilities that a command may have without a user namespace,
// where they hold for the host: none of them opens a file, changes a user or mounts.
var hostCapabilities = []string{"CAP_IPC_LOCK", "CAP_NET_BIND_SERVICE", "CAP_SYS_NICE", "CAP_SYS_PTRACE"}

// checkCapabilities refuses the capabilities that reach the host's files, as
// CAP_DAC_READ_SEARCH does, in a container without a user namespace. gVisor's are its
// own.
func (b *blueprint) checkCapabilities(hooks bool) error {
	for _, name := range b.spec.Sandbox.Capabilities {
		if slices.Contains(hostCapabilities, name) || b.spec.Sandbox.Handler == "runsc" {
			continue
		}
		why := fmt.Sprintf("the handler %q has no user namespace", b.spec.Sandbox.Handler)
		if hooks {
			why = "a device's description has hooks, so there is no user namespace"
		}
		return fmt.Errorf("capability %s would hold for the whole host: %s. Only %s are possible; or use the runtime sandbox, or no such device",
			name, why, strings.Join(hostCapabilities, ", "))
	}
	return nil
}

// makeNodes creates the nodes of leased devices on the host and mounts them, because
// nobody can create nodes within a user namespace.
func (b *blueprint) makeNodes(s *specs.Spec) error {
	kinds := map[string]uint32{"c": unix.S_IFCHR, "u": unix.S_IFCHR, "b": unix.S_IFBLK, "p": unix.S_IFIFO}
	for i, d := range s.Linux.Devices {
		node, mode := b.claim.Path(fmt.Sprintf("device-%d", i)), uint32(0o666)
		if d.FileMode != nil {
			mode = uint32(d.FileMode.Perm())
		}
		if err := ignoreMissing(os.Remove(node)); err != nil {
			return err
		}
		err := unix.Mknod(node, kinds[d.Type], int(unix.Mkdev(uint32(d.Major), uint32(d.Minor))))
		if err == nil {
			err = os.Chmod(node, os.FileMode(mode)) // not affected by the umask
		}
		if err == nil && d.UID != nil && d.GID != nil {
			err = os.Chown(node, int(*d.UID), int(*d.GID))
		}
		if err != nil {
			return fmt.Errorf("make device %s: %w", d.Path, err)
		}
		s.Mounts = append(s.Mounts, specs.Mount{Type: "bind", Source: node, Destination: d.Path, Options: []string{"bind", "rw", "nosuid", "noexec"}})
	}
	s.Linux.Devices = nil
	return nil
}

// mapping maps root, the pause's user or group, and the command's.
func (u users) mapping(id uint32) []specs.LinuxIDMapping {
	guests := []uint32{0, pauseUser}
	if !slices.Contains(guests, id) {
		guests = append(guests, id)
	}
	return lists.Of(guests, func(guest uint32) specs.LinuxIDMapping {
		return specs.LinuxIDMapping{ContainerID: guest, HostID: uint32(u.of(guest)), Size: 1}
	})
}

// of returns the host's id for an id of the guest. Without users they are equal.
func (u users) of(id uint32) int {
	switch {
	case u == users{}:
		return int(id)
	case id == 0:
		return int(u.base)
	case id == pauseUser:
		return int(u.base + 2)
	}
	return int(u.base + 1)
}

// owner returns the command's user of the host, who owns the files that it may write to.
func (r *run) owner() (uid, gid int, err error) {
	user, err := parseUser(r.spec.Sandbox.User)
	return r.users.of(user.UID), r.users.of(user.GID), err
}

// makeMountPoints creates the mount points in the container's own layer. The guest's
// root cannot create them, because the image belongs to the host's root.
func (r *run) makeMountPoints(ctx context.Context, root string) error {
	if r.users == (users{}) {
		return nil
	}
	spec, err := r.container.Spec(ctx)
	if err != nil {
		return err
	}
	for i, m := range spec.Mounts {
		below := slices.ContainsFunc(spec.Mounts[:i], func(above specs.Mount) bool {
			return strings.HasPrefix(m.Destination, above.Destination+"/")
		})
		if below {
			continue
		}
		if err := makeMountPoint(root, m); err != nil {
			return fmt.Errorf("make the place of %s: %w", m.Destination, err)
		}
	}
	return nil
}

func makeMountPoint(root string, m specs.Mount) error {
	path, err := continuity.RootPath(root, m.Destination)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	folder := true
	if m.Type == "bind" {
		info, err := os.Stat(m.Source)
		if err != nil {
			return err
		}
		folder = info.IsDir()
	}
	if folder {
		return executor.MakeFolder(path)
	}
	if err := executor.MakeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o644)
}
