package sandbox

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
	"github.com/mleflow/mleflow/plugins/sandbox/executor/claim"
)

// ids are a user and a group.
type ids struct{ UID, GID int }

// users are the users of a run's processes. An ordinary user has only one of the host's
// ids, so the guest gets that one. Root gives each guest an id that belongs to nobody
// else.
type users struct {
	// guest is the command's user and guestHost its user on the host. first and
	// firstHost are those of the first process.
	guest, guestHost ids
	first, firstHost ids
	// doorkeepers own closed folders above what the first process opens. Its permission
	// to enter any folder is good only for those whose owners its namespace knows. No
	// process has these ids.
	doorkeepers []ids
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
			owner := ids{int(st.Uid), int(st.Gid)}
			if owner.UID != u.firstHost.UID && has(uids, owner.UID) && has(gids, owner.GID) && !slices.Contains(u.doorkeepers, owner) {
				u.doorkeepers = append(u.doorkeepers, owner)
			}
		}
	}
}

// hostIDs are the host's ids that root gives to guests. They are above those that
// distributions, systemd and the containerd runtime assign.
var hostIDs = idRange{0x6000_0000, 1 << 28}

// idRange is a range of ids.
type idRange struct{ first, size int }

// usersOf chooses the users of a run. dir is the runtime's folder. While the returned
// lock is open, no other run gets the guest's id.
func usersOf(dir string, guest ids) (u users, lock *os.File, err error) {
	own := ids{os.Geteuid(), os.Getegid()}
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
	u.guestHost, u.first = ids{id, id}, ids{other(guest.UID), other(guest.GID)}
	return u, lock, nil
}

// freeIDs returns the ids of this process's user namespace that root gives to guests.
// In a container that has only a part of the host's ids, it is the upper half of them.
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
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		var r idRange
		var outside int
		if _, err := fmt.Sscan(line, &r.first, &outside, &r.size); err == nil {
			list = append(list, r)
		}
	}
	return list
}

// take takes the first id that no other run in the folder has. The search starts at a
// different id for each folder.
func (r idRange) take(dir string) (id int, lock *os.File, err error) {
	locks := filepath.Join(dir, "users")
	if err := os.MkdirAll(locks, 0o700); err != nil {
		return 0, nil, err
	}
	sum := sha256.Sum256([]byte(dir))
	start := int(binary.LittleEndian.Uint32(sum[:]))
	for n := range r.size {
		id = r.first + (start+n)%r.size
		if lock, err = claim.Lock(filepath.Join(locks, strconv.Itoa(id))); !errors.Is(err, claim.ErrHeld) {
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

// mapInto adds the mappings of the ids to the attributes of the first process.
func (u users) mapInto(a *syscall.SysProcAttr) {
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: u.first.UID, HostID: u.firstHost.UID, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: u.first.GID, HostID: u.firstHost.GID, Size: 1}}
	if u.first != u.guest {
		a.UidMappings = append(a.UidMappings, syscall.SysProcIDMap{ContainerID: u.guest.UID, HostID: u.guestHost.UID, Size: 1})
		a.GidMappings = append(a.GidMappings, syscall.SysProcIDMap{ContainerID: u.guest.GID, HostID: u.guestHost.GID, Size: 1})
		a.GidMappingsEnableSetgroups = true
	}
	for i, d := range u.doorkeepers {
		a.UidMappings = also(a.UidMappings, doorkeeperID+i, d.UID)
		a.GidMappings = also(a.GidMappings, doorkeeperID+i, d.GID)
	}
}

// also maps an id, unless it is mapped already.
func also(list []syscall.SysProcIDMap, inside, host int) []syscall.SysProcIDMap {
	if slices.ContainsFunc(list, func(m syscall.SysProcIDMap) bool { return m.HostID == host }) {
		return list
	}
	return append(list, syscall.SysProcIDMap{ContainerID: inside, HostID: host, Size: 1})
}

// give makes the guest the owner of the files that it may write to, if it is not the
// caller.
func (u users) give(mounts []executor.Mount) error {
	if u.first == u.guest {
		return nil
	}
	return executor.Give(mounts, u.guestHost.UID, u.guestHost.GID)
}

// become changes this thread's user to the guest's, if the first process has another.
// The thread keeps its capabilities.
func become(guest ids) error {
	if os.Getuid() == guest.UID && os.Getgid() == guest.GID {
		return nil
	}
	for fd := range 3 { // so that the guest can open its streams by name
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
			_ = unix.Fchown(fd, guest.UID, guest.GID)
		}
	}
	if err := unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0); err != nil {
		return err
	}
	uid, gid := uintptr(guest.UID), uintptr(guest.GID)
	// Go's own functions would change all threads.
	for _, call := range [][4]uintptr{{unix.SYS_SETGROUPS, 0, 0, 0}, {unix.SYS_SETRESGID, gid, gid, gid}, {unix.SYS_SETRESUID, uid, uid, uid}} {
		if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
			return errno
		}
	}
	return nil
}
