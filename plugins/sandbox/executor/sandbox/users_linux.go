package sandbox

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mleflow/mleflow/plugins/sandbox/executor"
)

// ids are a user and a group.
type ids struct{ UID, GID int }

// users says whose a run's processes are. A user has one of the host's ids, the own,
// and so the guest has that; root gives each guest one that nobody else has.
type users struct {
	// guest is the command's, inside and on the host; first that of the first
	// process.
	guest, guestHost ids
	first, firstHost ids
}

// The host's ids that root gives to guests: above those that distributions,
// systemd and the containerd runtime hand out.
const (
	firstUser = 0x6000_0000
	userMask  = 0x0fff_ffff
)

// usersOf chooses them for a run in that folder.
func usersOf(dir string, guest ids) users {
	own := ids{os.Geteuid(), os.Getegid()}
	u := users{guest: guest, guestHost: own, first: guest, firstHost: own}
	if own.UID != 0 {
		return u
	}
	sum := sha256.Sum256([]byte(dir))
	id := firstUser + int(binary.LittleEndian.Uint32(sum[:])&userMask)
	u.guestHost, u.first = ids{id, id}, ids{other(guest.UID), other(guest.GID)}
	return u
}

// other is root's id inside, unless the guest has that.
func other(guest int) int {
	if guest == 0 {
		return 65535
	}
	return 0
}

// map puts the mapping of the ids into the attributes of the first process.
func (u users) mapInto(a *syscall.SysProcAttr) {
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: u.first.UID, HostID: u.firstHost.UID, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: u.first.GID, HostID: u.firstHost.GID, Size: 1}}
	if u.first != u.guest {
		a.UidMappings = append(a.UidMappings, syscall.SysProcIDMap{ContainerID: u.guest.UID, HostID: u.guestHost.UID, Size: 1})
		a.GidMappings = append(a.GidMappings, syscall.SysProcIDMap{ContainerID: u.guest.GID, HostID: u.guestHost.GID, Size: 1})
		a.GidMappingsEnableSetgroups = true
	}
}

// give makes the guest the owner of what it may write to, where it is another than
// the caller. Files with several names belong to others, too, and stay theirs.
func (u users) give(mounts []executor.Mount) error {
	if u.first == u.guest {
		return nil
	}
	for _, m := range mounts {
		if m.ReadOnly {
			continue
		}
		err := filepath.WalkDir(m.Host, func(path string, d fs.DirEntry, err error) error {
			var st unix.Stat_t
			if err == nil {
				err = unix.Lstat(path, &st)
			}
			if err != nil || !d.IsDir() && st.Nlink > 1 {
				return err
			}
			return os.Lchown(path, u.guestHost.UID, u.guestHost.GID)
		})
		if err != nil {
			return fmt.Errorf("give the command %s: %w", m.Guest, err)
		}
	}
	return nil
}

// become makes this thread the guest's user, where the first process is another. It
// keeps its capabilities.
func become(guest ids) error {
	if os.Getuid() == guest.UID && os.Getgid() == guest.GID {
		return nil
	}
	for fd := range 3 { // the guest may open its streams by name
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
			_ = unix.Fchown(fd, guest.UID, guest.GID)
		}
	}
	if err := unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0); err != nil {
		return err
	}
	uid, gid := uintptr(guest.UID), uintptr(guest.GID)
	// Not by Go's functions, which change all threads.
	for _, call := range [][4]uintptr{{unix.SYS_SETGROUPS, 0, 0, 0}, {unix.SYS_SETRESGID, gid, gid, gid}, {unix.SYS_SETRESUID, uid, uid, uid}} {
		if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
			return errno
		}
	}
	return nil
}
