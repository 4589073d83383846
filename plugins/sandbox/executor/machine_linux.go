package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/mleflow/mleflow/plugins/sandbox/executor/guest"
	"golang.org/x/sys/unix"
)

// MachineOf returns the machine that is shown to a command with these limits. Its processors are the
// first ones of this process.
func MachineOf(l Limits) guest.Machine {
	m := guest.Machine{MemoryBytes: l.MemoryBytes}
	if l.CPUs > 0 {
		m.CPUs = Processors(l.CPUs)
	}
	return m
}

// Processors returns as many of this process's processors as the limit allows, rounded
// up.
func Processors(limit float64) (list []int) {
	var allowed unix.CPUSet
	if unix.SchedGetaffinity(0, &allowed) != nil {
		return nil
	}
	for n := 0; n < len(allowed)*64 && len(list) < int(math.Ceil(limit)); n++ {
		if allowed.IsSet(n) {
			list = append(list, n)
		}
	}
	return list
}

// ControlGroup returns the cgroup of version 2 of a process, "self" or a number, or "".
func ControlGroup(process string) string {
	text, _ := os.ReadFile(filepath.Join("/proc", process, "cgroup"))
	for line := range strings.Lines(string(text)) {
		if group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return group
		}
	}
	return ""
}

// SocketPair returns both ends of a socket of a kind, such as unix.SOCK_STREAM: ours, and the
// one for a process that is to be started.
func SocketPair(kind int) (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	own := os.NewFile(uintptr(fds[0]), "socket")
	defer own.Close()
	theirs = os.NewFile(uintptr(fds[1]), "socket")
	c, err := net.FileConn(own)
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return c.(*net.UnixConn), theirs, nil
}

// Give makes the user uid:gid the owner of the files in the mounts that the command may
// write to. Files with several names stay unchanged, because they belong to others too.
func Give(mounts []Mount, uid, gid int) error {
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
			return os.Lchown(path, uid, gid)
		})
		if err != nil {
			return fmt.Errorf("give the command %s: %w", m.Guest, err)
		}
	}
	return nil
}
