package sandbox

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/moby/sys/user"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/cache/leaf/checkout"
	"github.com/mleflow/mleflow/cache/leaf/lists"
	"github.com/mleflow/mleflow/cache/nolink"
	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/sandbox/first"
)

// hostImage is the image of a Spec whose guest sees the programs of this machine: the
// content of hostFolders and hostSettings, read-only, and nothing else of it.
const hostImage = "host:"

// hostFolders contain programs and libraries. Links among them stay links.
var hostFolders = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// hostSettings are the entries of /etc that programs need: no accounts, keys or
// configurations of services. Users and names are texts of our own.
var hostSettings = []string{
	"alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "fonts", "OpenCL",
	"ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "pki/ca-trust/extracted", "crypto-policies", "python3", "R", "julia",
}

// hostRoot creates, below dir, the root for a guest that sees this machine's programs:
// the folders to mount over, and the links.
func hostRoot(dir string) (*unpacked, error) {
	lock, err := os.Open(os.DevNull) // others share nothing of it
	if err != nil {
		return nil, err
	}
	u := &unpacked{root: filepath.Join(dir, rootName), lock: lock, host: true}
	u.config = ocispec.ImageConfig{Env: []string{"PATH=" + executor.DefaultPath}}
	errs := []error{os.RemoveAll(u.root)}
	for _, name := range []string{"proc", "sys", "dev", "run", "tmp", "home", "etc", "var"} {
		errs = append(errs, executor.MakeFolder(filepath.Join(u.root, name)))
	}
	errs = append(errs, os.Symlink("/tmp", filepath.Join(u.root, "var/tmp")), os.Symlink("/run", filepath.Join(u.root, "var/run")))
	for _, name := range hostFolders {
		if target, err := os.Readlink(name); err == nil {
			errs = append(errs, os.Symlink(target, filepath.Join(u.root, name)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return u, nil
}

// hostMounts returns the parts of this machine that such a guest sees, and the private
// folders in them that it does not see.
func hostMounts(private []string) (mounts []first.Mount, masked []first.Text) {
	for _, name := range hostFolders {
		if info, err := os.Lstat(name); err == nil && info.IsDir() {
			mounts = append(mounts, first.Mount{Host: first.Text(name), Guest: name, ReadOnly: true})
		}
	}
	for _, name := range hostSettings {
		name = filepath.Join("/etc", name)
		if target, err := filepath.EvalSymlinks(name); err == nil && (inside(target, "/etc") || visible(target)) {
			mounts = append(mounts, first.Mount{Host: first.Text(target), Guest: name, ReadOnly: true})
		}
	}
	for _, dir := range private {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if visible(dir) {
			masked = append(masked, first.Text(dir))
		}
	}
	return mounts, masked
}

// visible reports whether a path without links is in a folder that the guest sees.
func visible(path string) bool {
	return slices.ContainsFunc(hostFolders, func(name string) bool { return inside(path, name) })
}

func inside(path, dir string) bool { return strings.HasPrefix(path, dir+"/") }

// private returns the folders that no guest without an image may see, and this program,
// which contains the thresholds of competitions.
func (e *Executor) private() []string {
	list := e.folders()
	if self, err := os.Executable(); err == nil {
		list = append(list, self)
	}
	return list
}

// folders returns this user's folders that no guest may see, wherever they are.
func (e *Executor) folders() (list []string) {
	for _, dir := range append([]string{os.Getenv("HOME"), os.TempDir(), filepath.Dir(e.opts.Dir)}, e.opts.Private...) {
		if filepath.IsAbs(dir) && filepath.Clean(dir) != "/" {
			list = append(list, filepath.Clean(dir))
		}
	}
	if dir, err := os.Getwd(); err == nil && dir != "/" {
		list = append(list, dir)
	}
	return list
}

// revealed refuses mounts that would show a private folder to the guest, whoever named
// them: it is mounted, or is in what is mounted.
func (e *Executor) revealed(mounts []first.Mount) error {
	for _, dir := range e.folders() {
		dir := nolink.Folder(dir)
		for _, m := range mounts {
			if checkout.Below(dir, nolink.Folder(string(m.Host))) {
				return fmt.Errorf("run command: mount %s at %s: the guest must not see %s, which is in it", m.Host, m.Guest, dir)
			}
		}
	}
	return nil
}

// accounts returns the files that name the guest's user.
func accounts(user first.IDs) map[string]string {
	return map[string]string{
		"/etc/passwd":        fmt.Sprintf("root:x:0:0::/:/bin/sh\nagent:x:%d:%d::/home/agent:/bin/sh\n", user.UID, user.GID),
		"/etc/group":         fmt.Sprintf("root:x:0:\nagent:x:%d:\n", user.GID),
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
	}
}

// onHost adds the guest's view of this machine to the plan.
func (p *plan) onHost(private []string) {
	mounts, masked := hostMounts(private)
	p.Mounts, p.Masked = append(mounts, p.Mounts...), append(masked, p.Masked...)
	maps.Copy(p.Files, accounts(p.User))
}

// HostProgram returns the reason why a guest without an image does not see a program
// that the caller would find by its name. It returns nil if the guest sees it, or if
// there is no such program.
func HostProgram(name string) error {
	path, err := guest.LookPath(name, os.Environ(), "/")
	if err != nil {
		return nil //nolint:nilerr // the guest will not find it either, and report that
	}
	// The guest needs the folder of the program and the target of a link.
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || visible(real) && (visible(folder+"/") || !strings.Contains(name, "/")) {
		return nil //nolint:nilerr // as above
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(folder), "pyvenv.cfg")); err == nil {
		return fmt.Errorf("%s belongs to a virtual environment, which a sandbox shows only if the agent block names it: python { venv = %q }; the command then starts with \"python\"", path, filepath.Dir(folder))
	}
	return fmt.Errorf("without an image, a sandbox shows only programs in /usr, not %s; give the agent an image or, for packages of Python, a python block", path)
}

// users are the users of a run's processes. An ordinary user has only one of the host's
// ids, so the guest gets that one. Root gives each guest an id that belongs to nobody
// else.
type users struct {
	// guest is the command's user and guestHost its user on the host. first and
	// firstHost are those of the first process.
	guest, guestHost first.IDs
	first, firstHost first.IDs
	// doorkeepers own closed folders above what the first process opens. Its permission
	// to enter any folder is good only for those whose owners its namespace knows. No
	// process has these first.IDs.
	doorkeepers []first.IDs
}

// doorkeeperID is the first id, inside, of doorkeepers.
const doorkeeperID = 0x7000_0000

// admit adds the owners of the closed folders above the paths, for root, which enters
// them outside.
func (u *users) admit(paths []string) {
	if u.first == u.guest {
		return
	}
	has := func(list []idRange, id int) bool {
		return slices.ContainsFunc(list, func(r idRange) bool { return id >= r.first && id-r.first < r.size })
	}
	uids, gids := mapped("/proc/self/uid_map"), mapped("/proc/self/gid_map")
	for _, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		for dir := filepath.Dir(path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			var st unix.Stat_t
			if unix.Stat(dir, &st) != nil || st.Mode&0o001 != 0 {
				continue
			}
			owner := first.IDs{UID: int(st.Uid), GID: int(st.Gid)}
			if owner.UID != u.firstHost.UID && has(uids, owner.UID) && has(gids, owner.GID) && !slices.Contains(u.doorkeepers, owner) {
				u.doorkeepers = append(u.doorkeepers, owner)
			}
		}
	}
}

// hostIDs are the host's ids that root gives to guests. They are above those that
// distributions, systemd and the containerd runtime assign.
var hostIDs = idRange{0x6000_0000, 1 << 28}

// idRange is a range of first.IDs.
type idRange struct{ first, size int }

// usersOf chooses the users of a run. dir is the runtime's folder. While the returned
// lock is open, no other run gets the guest's id.
func usersOf(dir string, guest first.IDs) (u users, lock *os.File, err error) {
	own := first.IDs{UID: os.Geteuid(), GID: os.Getegid()}
	u = users{guest: guest, guestHost: own, first: guest, firstHost: own}
	if own.UID != 0 {
		return u, nil, nil
	}
	free := freeIDs()
	if free.size == 0 { // root of a user namespace with few ids is treated as an ordinary user
		return u, nil, nil
	}
	id, lock, err := free.take(dir)
	if err != nil {
		return u, nil, fmt.Errorf("find a user for the command: %w", err)
	}
	u.guestHost, u.first = first.IDs{UID: id, GID: id}, first.IDs{UID: other(guest.UID), GID: other(guest.GID)}
	return u, lock, nil
}

// freeIDs returns the ids of this process's user namespace that root gives to guests.
// In a container that has only a part of the host's first.IDs, it is the upper half of them.
func freeIDs() idRange {
	uids, gids := mapped("/proc/self/uid_map"), mapped("/proc/self/gid_map")
	for _, r := range uids {
		switch {
		case !slices.Contains(gids, r):
		case r.first <= hostIDs.first && r.first+r.size >= hostIDs.first+hostIDs.size:
			return hostIDs
		case r.size >= 1<<15:
			return idRange{r.first + r.size/2, r.size / 2}
		}
	}
	return idRange{}
}

// mapped returns the ids of a user namespace that are mapped to users outside.
func mapped(file string) (list []idRange) {
	maps, _ := user.ParseIDMapFile(file)
	return lists.Of(maps, func(m user.IDMap) idRange { return idRange{int(m.ID), int(m.Count)} })
}

// take takes the first id that no other run in the folder has. The search starts at a
// different id for each folder.
func (r idRange) take(dir string) (id int, lock *os.File, err error) {
	locks := filepath.Join(dir, "users")
	if err := nolink.MkdirAll(locks, 0o700); err != nil {
		return 0, nil, err
	}
	sum := sha256.Sum256([]byte(dir))
	start := int(binary.LittleEndian.Uint32(sum[:]))
	for n := range r.size {
		id = r.first + (start+n)%r.size
		if lock, err = claim.Lock(filepath.Join(locks, strconv.Itoa(id)), 0o600); !errors.Is(err, claim.ErrHeld) {
			return id, lock, err
		}
	}
	return 0, nil, fmt.Errorf("all %d are taken", r.size)
}

// other returns the id of root inside, or another one if the guest has that.
func other(guest int) int {
	if guest == 0 {
		return 65535
	}
	return 0
}

// mapInto adds the mappings of the ids to the launch of the first process.
func (u users) mapInto(l *first.Launch) {
	pairs := [][2]first.IDs{{u.first, u.firstHost}}
	if u.first != u.guest {
		pairs = append(pairs, [2]first.IDs{u.guest, u.guestHost})
		l.Setgroups = true
	}
	for i, d := range u.doorkeepers {
		pairs = append(pairs, [2]first.IDs{{UID: doorkeeperID + i, GID: doorkeeperID + i}, d})
	}
	for _, p := range pairs {
		l.UIDs = also(l.UIDs, p[0].UID, p[1].UID)
		l.GIDs = also(l.GIDs, p[0].GID, p[1].GID)
	}
}

// also maps an id, unless it is mapped already.
func also(list []syscall.SysProcIDMap, inside, host int) []syscall.SysProcIDMap {
	if slices.ContainsFunc(list, func(m syscall.SysProcIDMap) bool { return m.HostID == host }) {
		return list
	}
	return append(list, syscall.SysProcIDMap{ContainerID: inside, HostID: host, Size: 1})
}
